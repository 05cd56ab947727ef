/** Builds the protected resource metadata document (RFC 9728). */
import type { Scopes } from '../scopes.ts';

/** The members that are used, by their names in the RFC. @see RFC 9728 §2 */
export interface ProtectedResourceMetadata {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly scopes_supported?: readonly string[];
  readonly bearer_methods_supported?: readonly string[];
  readonly resource_name?: string;
  readonly resource_documentation?: string;
  readonly dpop_signing_alg_values_supported?: readonly string[];
  readonly dpop_bound_access_tokens_required?: boolean;
}

/** Builds the document; empty members are omitted. @see RFC 9728 §3.2 */
export function protectedResourceMetadata(resource: {
  readonly resource: string;
  readonly authorizationServers: readonly string[];
  readonly scopes: Scopes;
  readonly name?: string | undefined;
  readonly documentation?: string | undefined;
}): ProtectedResourceMetadata {
  return {
    resource: resource.resource,
    authorization_servers: resource.authorizationServers,
    ...(resource.scopes.length > 0 && { scopes_supported: resource.scopes }),
    bearer_methods_supported: ['header'],
    ...(resource.name !== undefined && { resource_name: resource.name }),
    ...(resource.documentation !== undefined && { resource_documentation: resource.documentation }),
  };
}
