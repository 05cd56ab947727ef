/** Authorization server metadata: the document of RFC 8414 and of OpenID Connect Discovery, read by the client. */
import { endpointUrl, type Reading, readDocument, strings } from './document.ts';
import { flag, object, text } from './shape.ts';

/** The members that this protocol uses; names are those of the wire. @see RFC 8414 §2 */
export interface AuthorizationServerMetadata {
  readonly issuer: string;
  readonly authorization_endpoint?: string;
  readonly token_endpoint?: string;
  readonly registration_endpoint?: string;
  readonly revocation_endpoint?: string;
  readonly introspection_endpoint?: string;
  readonly device_authorization_endpoint?: string;
  readonly jwks_uri?: string;
  readonly scopes_supported?: readonly string[];
  readonly response_types_supported?: readonly string[];
  readonly response_modes_supported?: readonly string[];
  readonly grant_types_supported?: readonly string[];
  readonly token_endpoint_auth_methods_supported?: readonly string[];
  readonly token_endpoint_auth_signing_alg_values_supported?: readonly string[];
  readonly revocation_endpoint_auth_methods_supported?: readonly string[];
  readonly revocation_endpoint_auth_signing_alg_values_supported?: readonly string[];
  /** Of no standard: revoking a token of one grant leaves other grants of the same client and person as they are. */
  readonly revocation_leaves_other_grants?: boolean;
  readonly introspection_endpoint_auth_methods_supported?: readonly string[];
  readonly introspection_endpoint_auth_signing_alg_values_supported?: readonly string[];
  readonly code_challenge_methods_supported?: readonly string[];
  readonly authorization_response_iss_parameter_supported?: boolean;
  readonly client_id_metadata_document_supported?: boolean;
  readonly dpop_signing_alg_values_supported?: readonly string[];
  readonly status_list_aggregation_endpoint?: string;
  readonly service_documentation?: string;
  readonly subject_types_supported?: readonly string[];
  readonly id_token_signing_alg_values_supported?: readonly string[];
}

const shape = object<AuthorizationServerMetadata>({
  required: { issuer: text() },
  optional: {
    authorization_endpoint: endpointUrl,
    token_endpoint: endpointUrl,
    registration_endpoint: endpointUrl,
    revocation_endpoint: endpointUrl,
    introspection_endpoint: endpointUrl,
    device_authorization_endpoint: endpointUrl,
    jwks_uri: endpointUrl,
    scopes_supported: strings,
    response_types_supported: strings,
    response_modes_supported: strings,
    grant_types_supported: strings,
    token_endpoint_auth_methods_supported: strings,
    token_endpoint_auth_signing_alg_values_supported: strings,
    revocation_endpoint_auth_methods_supported: strings,
    revocation_endpoint_auth_signing_alg_values_supported: strings,
    revocation_leaves_other_grants: flag,
    introspection_endpoint_auth_methods_supported: strings,
    introspection_endpoint_auth_signing_alg_values_supported: strings,
    code_challenge_methods_supported: strings,
    authorization_response_iss_parameter_supported: flag,
    client_id_metadata_document_supported: flag,
    dpop_signing_alg_values_supported: strings,
    status_list_aggregation_endpoint: endpointUrl,
    service_documentation: text(),
    subject_types_supported: strings,
    id_token_signing_alg_values_supported: strings,
  },
});

/**
 * Reads a metadata document. Its issuer is not judged here: only whoever asked knows which one was meant.
 * @see RFC 8414 §3.2
 */
export function readAuthorizationServerMetadata(json: unknown): Reading<AuthorizationServerMetadata> {
  return readDocument(shape, json);
}
