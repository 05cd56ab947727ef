/** Authorization server metadata: the document of RFC 8414 and of OpenID Connect Discovery, read by the client. */
import * as z from 'zod';
import { endpointUrl, type Reading, readDocument, strings } from './document.ts';

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

const schema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.exactOptional(endpointUrl),
  token_endpoint: z.exactOptional(endpointUrl),
  registration_endpoint: z.exactOptional(endpointUrl),
  revocation_endpoint: z.exactOptional(endpointUrl),
  introspection_endpoint: z.exactOptional(endpointUrl),
  device_authorization_endpoint: z.exactOptional(endpointUrl),
  jwks_uri: z.exactOptional(endpointUrl),
  scopes_supported: z.exactOptional(strings),
  response_types_supported: z.exactOptional(strings),
  response_modes_supported: z.exactOptional(strings),
  grant_types_supported: z.exactOptional(strings),
  token_endpoint_auth_methods_supported: z.exactOptional(strings),
  token_endpoint_auth_signing_alg_values_supported: z.exactOptional(strings),
  revocation_endpoint_auth_methods_supported: z.exactOptional(strings),
  revocation_endpoint_auth_signing_alg_values_supported: z.exactOptional(strings),
  revocation_leaves_other_grants: z.exactOptional(z.boolean()),
  introspection_endpoint_auth_methods_supported: z.exactOptional(strings),
  introspection_endpoint_auth_signing_alg_values_supported: z.exactOptional(strings),
  code_challenge_methods_supported: z.exactOptional(strings),
  authorization_response_iss_parameter_supported: z.exactOptional(z.boolean()),
  client_id_metadata_document_supported: z.exactOptional(z.boolean()),
  dpop_signing_alg_values_supported: z.exactOptional(strings),
  status_list_aggregation_endpoint: z.exactOptional(endpointUrl),
  service_documentation: z.exactOptional(z.string()),
  subject_types_supported: z.exactOptional(strings),
  id_token_signing_alg_values_supported: z.exactOptional(strings),
});

/**
 * Reads a metadata document. Its issuer is not judged here: only whoever asked knows which one was meant.
 * @see RFC 8414 §3.2
 */
export function readAuthorizationServerMetadata(json: unknown): Reading<AuthorizationServerMetadata> {
  return readDocument<AuthorizationServerMetadata>(schema, json);
}
