/** Builds the protected resource metadata document (RFC 9728). */
import type { Scopes } from '../scopes.ts';
import type { ProtectedResourceMetadata } from './read-protected-resource-metadata.ts';

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
