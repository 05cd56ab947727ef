/** Authorization server metadata (RFC 8414, OpenID Connect Discovery), parsed by the client. */
import * as z from 'zod';
import {
  endpointUrlSchema,
  type ParseResult,
  readDocument,
  stringArraySchema,
} from '../parsing/json-document.ts';

/** The members that are used, by their names in the RFC. @see RFC 8414 §2 */
export interface AuthorizationServerMetadata {
  readonly issuer: string;
  readonly authorization_endpoint?: string;
  readonly token_endpoint?: string;
  readonly pushed_authorization_request_endpoint?: string;
  readonly require_pushed_authorization_requests?: boolean;
  readonly registration_endpoint?: string;
  readonly revocation_endpoint?: string;
  readonly introspection_endpoint?: string;
  readonly device_authorization_endpoint?: string;
  readonly jwks_uri?: string;
  readonly scopes_supported?: readonly string[];
  readonly response_types_supported?: readonly string[];
  readonly response_modes_supported?: readonly string[];
  readonly grant_types_supported?: readonly string[];
  /** @see draft-ietf-oauth-identity-assertion-authz-grant */
  readonly authorization_grant_profiles_supported?: readonly string[];
  /** @see draft-ietf-oauth-identity-chaining */
  readonly identity_chaining_requested_token_types_supported?: readonly string[];
  readonly token_endpoint_auth_methods_supported?: readonly string[];
  readonly token_endpoint_auth_signing_alg_values_supported?: readonly string[];
  readonly revocation_endpoint_auth_methods_supported?: readonly string[];
  readonly revocation_endpoint_auth_signing_alg_values_supported?: readonly string[];
  /** Not standardized: revoking a token of one grant leaves other grants of the same client and user unaffected. */
  readonly revocation_leaves_other_grants?: boolean;
  readonly introspection_endpoint_auth_methods_supported?: readonly string[];
  readonly introspection_endpoint_auth_signing_alg_values_supported?: readonly string[];
  readonly code_challenge_methods_supported?: readonly string[];
  readonly authorization_response_iss_parameter_supported?: boolean;
  readonly client_id_metadata_document_supported?: boolean;
  readonly dpop_signing_alg_values_supported?: readonly string[];
  readonly request_parameter_supported?: boolean;
  readonly request_uri_parameter_supported?: boolean;
  readonly request_object_signing_alg_values_supported?: readonly string[];
  readonly acr_values_supported?: readonly string[];
  readonly status_list_aggregation_endpoint?: string;
  readonly service_documentation?: string;
  readonly subject_types_supported?: readonly string[];
  readonly id_token_signing_alg_values_supported?: readonly string[];
}

const schema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.exactOptional(endpointUrlSchema),
  token_endpoint: z.exactOptional(endpointUrlSchema),
  pushed_authorization_request_endpoint: z.exactOptional(endpointUrlSchema),
  require_pushed_authorization_requests: z.exactOptional(z.boolean()),
  registration_endpoint: z.exactOptional(endpointUrlSchema),
  revocation_endpoint: z.exactOptional(endpointUrlSchema),
  introspection_endpoint: z.exactOptional(endpointUrlSchema),
  device_authorization_endpoint: z.exactOptional(endpointUrlSchema),
  jwks_uri: z.exactOptional(endpointUrlSchema),
  scopes_supported: z.exactOptional(stringArraySchema),
  response_types_supported: z.exactOptional(stringArraySchema),
  response_modes_supported: z.exactOptional(stringArraySchema),
  grant_types_supported: z.exactOptional(stringArraySchema),
  authorization_grant_profiles_supported: z.exactOptional(stringArraySchema),
  identity_chaining_requested_token_types_supported: z.exactOptional(stringArraySchema),
  token_endpoint_auth_methods_supported: z.exactOptional(stringArraySchema),
  token_endpoint_auth_signing_alg_values_supported: z.exactOptional(stringArraySchema),
  revocation_endpoint_auth_methods_supported: z.exactOptional(stringArraySchema),
  revocation_endpoint_auth_signing_alg_values_supported: z.exactOptional(stringArraySchema),
  revocation_leaves_other_grants: z.exactOptional(z.boolean()),
  introspection_endpoint_auth_methods_supported: z.exactOptional(stringArraySchema),
  introspection_endpoint_auth_signing_alg_values_supported: z.exactOptional(stringArraySchema),
  code_challenge_methods_supported: z.exactOptional(stringArraySchema),
  authorization_response_iss_parameter_supported: z.exactOptional(z.boolean()),
  client_id_metadata_document_supported: z.exactOptional(z.boolean()),
  dpop_signing_alg_values_supported: z.exactOptional(stringArraySchema),
  request_parameter_supported: z.exactOptional(z.boolean()),
  request_uri_parameter_supported: z.exactOptional(z.boolean()),
  request_object_signing_alg_values_supported: z.exactOptional(stringArraySchema),
  acr_values_supported: z.exactOptional(stringArraySchema),
  status_list_aggregation_endpoint: z.exactOptional(endpointUrlSchema),
  service_documentation: z.exactOptional(z.string()),
  subject_types_supported: z.exactOptional(stringArraySchema),
  id_token_signing_alg_values_supported: z.exactOptional(stringArraySchema),
});

/**
 * Parses a metadata document. Does not check its issuer: the caller knows which one it asked for. @see RFC 8414 §3.2
 * and §3.3
 */
export function readAuthorizationServerMetadata(json: unknown): ParseResult<AuthorizationServerMetadata> {
  return readDocument<AuthorizationServerMetadata>(schema, json);
}
