/** Authorization server metadata (RFC 8414, OpenID Connect Discovery), parsed by the client. */
import * as z from 'zod';
import {
  endpointUrlSchema,
  type ParseResult,
  readDocument,
  stringArraySchema,
} from '../parsing/json-document.ts';

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
  /** @see draft-ietf-oauth-identity-assertion-authz-grant */
  authorization_grant_profiles_supported: z.exactOptional(stringArraySchema),
  /** @see draft-ietf-oauth-identity-chaining */
  identity_chaining_requested_token_types_supported: z.exactOptional(stringArraySchema),
  token_endpoint_auth_methods_supported: z.exactOptional(stringArraySchema),
  token_endpoint_auth_signing_alg_values_supported: z.exactOptional(stringArraySchema),
  revocation_endpoint_auth_methods_supported: z.exactOptional(stringArraySchema),
  revocation_endpoint_auth_signing_alg_values_supported: z.exactOptional(stringArraySchema),
  /** Not standardized: revoking a token of one grant leaves other grants of the same client and user unaffected. */
  revocation_leaves_other_grants: z.exactOptional(z.boolean()),
  introspection_endpoint_auth_methods_supported: z.exactOptional(stringArraySchema),
  introspection_endpoint_auth_signing_alg_values_supported: z.exactOptional(stringArraySchema),
  code_challenge_methods_supported: z.exactOptional(stringArraySchema),
  authorization_response_iss_parameter_supported: z.exactOptional(z.boolean()),
  client_id_metadata_document_supported: z.exactOptional(z.boolean()),
  dpop_signing_alg_values_supported: z.exactOptional(stringArraySchema),
  request_parameter_supported: z.exactOptional(z.boolean()),
  request_uri_parameter_supported: z.exactOptional(z.boolean()),
  /** @see RFC 9101 §10.5 */
  require_signed_request_object: z.exactOptional(z.boolean()),
  request_object_signing_alg_values_supported: z.exactOptional(stringArraySchema),
  acr_values_supported: z.exactOptional(stringArraySchema),
  service_documentation: z.exactOptional(z.string()),
  subject_types_supported: z.exactOptional(stringArraySchema),
  id_token_signing_alg_values_supported: z.exactOptional(stringArraySchema),
});

/** The members that are used, by their names in the RFC. @see RFC 8414 §2 */
export type AuthorizationServerMetadata = Readonly<z.infer<typeof schema>>;

/**
 * Parses a metadata document. Does not check its issuer: the caller knows which one it asked for. @see RFC 8414 §3.2
 * and §3.3
 */
export function readAuthorizationServerMetadata(json: unknown): ParseResult<AuthorizationServerMetadata> {
  return readDocument<AuthorizationServerMetadata>(schema, json);
}
