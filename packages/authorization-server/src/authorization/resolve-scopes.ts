/** What an authorization request asks for, in terms of what this server protects. */
import { findResource, intersectScopes, OAuthError, readScopes, type Scopes } from '@portcullis/protocol';
import { isTrustedClient, type ResolvedClient } from '../clients/client.ts';
import type { ResourceDefinition } from '../resource-options.ts';

/** One protected resource and what may be allowed there. */
export interface ResolvedScopes {
  readonly resource: ResourceDefinition;
  readonly scopes: Scopes;
}

/**
 * Resolves the resource and the scopes of a request. Scopes that the resource does not have are left out as long as
 * others remain; the token response says what was granted. A request without scopes gets the resource's defaults.
 * @param ceiling what this client can get at all; `null` for anything
 * @throws OAuthError `invalid_target` or `invalid_scope`
 * @see RFC 8707 §2.1, OAuth 2.1 draft 13 §1.4.1
 */
export function resolveScopes(
  resources: ReadonlyMap<string, ResourceDefinition>,
  asked: { readonly resources: readonly string[]; readonly scopes: Scopes | null },
  ceiling: Scopes | null,
): ResolvedScopes {
  const resource = resolveResource(resources, asked.resources);
  const offered = Object.keys(resource.scopes);
  const wanted = intersectScopes(asked.scopes ?? resource.defaultScopes ?? offered, offered);
  const scopes = ceiling === null ? wanted : intersectScopes(wanted, ceiling);
  if (scopes.length === 0 && (asked.scopes !== null || offered.length > 0)) {
    throw new OAuthError(
      'invalid_scope',
      'None of the scopes asked for can be granted to this client for this resource.',
    );
  }
  return { resource, scopes };
}

/** An access token is for one resource, so one request asks for one; without `resource` it means the first. */
function resolveResource(
  resources: ReadonlyMap<string, ResourceDefinition>,
  asked: readonly string[],
): ResourceDefinition {
  const known = [...resources.keys()];
  const found = new Set(asked.map((resource) => findResource(known, resource)));
  if (found.size > 1) throw new OAuthError('invalid_target', 'Ask for one resource at a time.');
  const resource = resources.get([...found][0] ?? known[0] ?? '');
  if (resource === undefined)
    throw new OAuthError('invalid_target', 'This authorization server protects nothing.');
  return resource;
}

/**
 * What a client can get at all. The `scope` that an operator wrote into a client's metadata is a limit; the one that a
 * client chose for itself is not, unless the operator says so: clients register before they know which scopes there are.
 */
export function maximumScopeOf(client: ResolvedClient, ownScope: 'ceiling' | 'hint'): Scopes | null {
  const { scope } = client.metadata;
  const isLimit = isTrustedClient(client) || ownScope === 'ceiling';
  return isLimit && scope !== undefined ? readScopes(scope) : null;
}
