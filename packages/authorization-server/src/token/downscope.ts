/** Narrowing: what a token is for, inside what was granted. It never widens. */
import { findResource, missingScopes, OAuthError, type Scopes } from '@portcullis/protocol';
import type { ResourceDefinition } from '../options.ts';

/** What may be asked for. */
export interface GrantedAccess {
  /** At least one; the first is meant when a request names none. */
  readonly resources: readonly string[];
  readonly scopes: Scopes;
}

/** What is asked for. */
export interface RequestedAccess {
  readonly resources: readonly string[];
  /** `null`: all that was granted. */
  readonly scopes: Scopes | null;
}

/** What a token is made for: one resource, and scopes that mean something there. */
export interface DownscopedAccess {
  readonly resource: string;
  readonly scopes: Scopes;
}

/**
 * Narrows what was granted to one resource and, when asked, to fewer scopes.
 * @param currentResources the resources of this server; one that has left it since is no longer issued for
 * @throws OAuthError `invalid_target` or `invalid_scope`
 * @see RFC 8707 §2.2, OAuth 2.1 draft 13 §4.3.1
 */
export function downscope(
  granted: GrantedAccess,
  wanted: RequestedAccess,
  currentResources: ReadonlyMap<string, ResourceDefinition>,
): DownscopedAccess {
  const definition = currentResources.get(chooseResource(granted.resources, wanted.resources));
  if (definition === undefined) {
    throw new OAuthError('invalid_target', 'This authorization server no longer protects that resource.');
  }
  const isHeld = (scope: string) => Object.hasOwn(definition.scopes, scope);
  const held = granted.scopes.every(isHeld) ? granted.scopes : granted.scopes.filter(isHeld);
  if (wanted.scopes !== null && missingScopes(wanted.scopes, held, definition.hierarchy).length > 0) {
    throw new OAuthError(
      'invalid_scope',
      'Ask for scopes of that resource that were granted, or leave scope out.',
    );
  }
  return { resource: definition.resource, scopes: wanted.scopes ?? held };
}

/** A token has one audience, so a request may name one resource, and several do not fit into it. */
function chooseResource(granted: readonly string[], wanted: readonly string[]): string {
  const [resource = granted[0], ...others] = wanted.map((one) => findResource(granted, one));
  if (others.some((other) => other !== resource))
    throw new OAuthError('invalid_target', 'Ask for one resource at a time: a token is for one.');
  if (resource === undefined) throw new OAuthError('invalid_target', 'Nothing was granted for any resource.');
  return resource;
}
