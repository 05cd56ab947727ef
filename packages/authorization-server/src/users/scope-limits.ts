/** Limits of scopes: which clients, and users of which groups and claims, may be granted a scope. */
import {
  type AccessCondition,
  type AccessSubject,
  claimsOfConditions,
  unmetByClient,
  unmetCondition,
} from '@portcullis/policy';
import { impliedScopes, missingScopes, OAuthError, type Scopes, type UserClaim } from '@portcullis/protocol';
import type { ResourceDefinition } from '../resources/options.ts';
import type { AuthorizationStore } from '../store/index.ts';
import { readUserClaims } from './user-claims.ts';

/**
 * Reduces scopes to those that may be granted. A scope that includes one that may not be granted may not be granted either; the
 * narrower scopes that it includes remain.
 */
export type LimitScopes = (scopes: Scopes) => Scopes;

type LimitedResource = Pick<ResourceDefinition, 'grantableTo' | 'hierarchy'>;

/** The client and user that scopes are granted to. */
export interface ScopeRecipient {
  readonly clientId: string;
  /** `null`: the client acts for itself, so that a scope for some users is none for it. */
  readonly accountId: string | null;
}

const unlimited: LimitScopes = (scopes) => scopes;

/** The limit for a client, whichever user grants. */
export function limitByClient(resource: LimitedResource, clientId: string): LimitScopes {
  return limitBy(resource, (condition) => unmetByClient(condition, clientId) === null);
}

/** The limit for a client and its user, as known now. */
export async function findScopeLimit(
  store: AuthorizationStore,
  resource: LimitedResource,
  { clientId, accountId }: ScopeRecipient,
): Promise<LimitScopes> {
  if (resource.grantableTo === undefined) return unlimited;
  const wanted = claimsOfLimits(resource);
  const known = accountId === null ? {} : await readUserClaims(store, accountId, wanted);
  const subject: AccessSubject = { clientId, groups: known.groups ?? [], claims: { ...known } };
  return limitBy(resource, (condition) => unmetCondition(condition, subject) === null);
}

function limitBy(
  { grantableTo, hierarchy = {} }: LimitedResource,
  isMet: (condition: AccessCondition) => boolean,
): LimitScopes {
  if (grantableTo === undefined) return unlimited;
  const isAllowed = (scope: string): boolean => {
    const condition = Object.hasOwn(grantableTo, scope) ? grantableTo[scope] : undefined;
    return condition === undefined || isMet(condition);
  };
  const isGrantable = (scope: string) => [...impliedScopes([scope], hierarchy)].every(isAllowed);
  return (scopes) => {
    const grantable = scopes.filter(isGrantable);
    if (grantable.length === scopes.length) return scopes;
    const narrower = [...impliedScopes(scopes, hierarchy)].filter(isGrantable);
    return [...grantable, ...missingScopes(narrower, grantable, hierarchy)];
  };
}

/** The claims about users that the limits of a resource depend on. */
export function claimsOfLimits({ grantableTo = {} }: LimitedResource): readonly UserClaim[] {
  return claimsOfConditions(Object.values(grantableTo));
}

/** The limits as text, so that consent is requested again when they change; `null`: none. */
export function serializeScopeLimits({ grantableTo = {} }: LimitedResource): string | null {
  const limits = Object.entries(grantableTo);
  return limits.length === 0 ? null : JSON.stringify(['grantableTo', limits.toSorted()]);
}

/** A final refusal: asking again, or the user signing in again, changes nothing. */
export function notGrantable(whom: 'client' | 'user'): OAuthError {
  return new OAuthError(
    'invalid_scope',
    `None of the scopes asked for can be granted to this ${whom} for this resource.`,
  );
}
