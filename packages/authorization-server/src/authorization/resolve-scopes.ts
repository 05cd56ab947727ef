/** Resolves the resource (audience) and the scopes of an authorization request; unknown scopes are dropped. */
import {
  findResource,
  impliedScopes,
  intersectScopes,
  OAuthError,
  type RequestedAccess,
  readScopes,
  type ScopeHierarchy,
  type Scopes,
} from '@portcullis/protocol';
import { isTrustedClient, type ResolvedClient } from '../clients/client.ts';
import type { ResourceDefinition } from '../resources/options.ts';
import { limitByClient, notGrantable } from '../users/scope-limits.ts';
import type { PipelineOptions } from './page-context.ts';

export interface ResolvedScopes {
  readonly resource: ResourceDefinition;
  readonly scopes: Scopes;
}

/**
 * Resolves the resource and the scopes of a request. Scopes that the resource does not have, or that are beyond the client's maximum,
 * are left out as long as others remain; the token response lists what was granted. A request without scopes gets the resource's
 * defaults. Limits of scopes apply when they are granted: the consent page shows what they withhold.
 * @throws OAuthError `invalid_target` or `invalid_scope`
 * @see RFC 8707 §2.1, OAuth 2.1 draft 13 §1.4.1
 */
export function resolveScopes(
  options: Pick<PipelineOptions, 'resources' | 'registration'>,
  client: ResolvedClient,
  requested: RequestedAccess,
): ResolvedScopes {
  const resource = resolveResource(options.resources, requested.resources);
  const offered = Object.keys(resource.scopes);
  const candidates = (requested.scopes ?? resource.defaultScopes ?? offered).filter((scope) =>
    Object.hasOwn(resource.scopes, scope),
  );
  const possible = withinMaximumScope(options, client, candidates, resource.hierarchy);
  const limit = limitByClient(resource, client.id);
  const isNothingGrantable = limit.grantable(possible).length === 0;
  if (isNothingGrantable && (requested.scopes !== null || offered.length > 0))
    throw notGrantable('client', limit, possible);
  return { resource, scopes: possible };
}

/** An access token has one audience, so a request names one resource; without `resource` it means the first. */
function resolveResource(
  resources: ReadonlyMap<string, ResourceDefinition>,
  requested: readonly string[],
): ResourceDefinition {
  const named = requested.length === 1 ? resources.get(requested[0] ?? '') : undefined;
  if (named !== undefined) return named;
  const known = [...resources.keys()];
  const found = new Set(requested.map((resource) => findResource(known, resource)));
  if (found.size > 1) throw new OAuthError('invalid_target', 'Ask for one resource at a time.');
  const resource = resources.get([...found][0] ?? known[0] ?? '');
  if (resource === undefined)
    throw new OAuthError('invalid_target', 'This authorization server protects nothing.');
  return resource;
}

/**
 * Reduces scopes to the maximum scope of a client. The `scope` of a pre-registered client is a limit; the one that a client registered
 * for itself is not, unless configured so: clients register before they know which scopes exist. A scope that it includes is within it.
 */
export function withinMaximumScope(
  { registration }: Pick<PipelineOptions, 'registration'>,
  client: ResolvedClient,
  scopes: Scopes,
  hierarchy: ScopeHierarchy = {},
): Scopes {
  const { scope } = client.metadata;
  const isLimit = isTrustedClient(client) || registration?.scope === 'ceiling';
  if (!isLimit || scope === undefined) return scopes;
  return intersectScopes(scopes, [...impliedScopes(readScopes(scope), hierarchy)]);
}
