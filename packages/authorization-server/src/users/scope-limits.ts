/** Limits of scopes: which clients, and users of which groups and claims, may be granted a scope. */
import {
  type AccessCondition,
  type AccessSubject,
  claimsOfConditions,
  unmetByClient,
  unmetCondition,
} from '@portcullis/policy';
import {
  impliedScopes,
  missingScopes,
  OAuthError,
  type OAuthErrorOptions,
  type Scopes,
  USER_CLAIMS,
  type UserClaim,
} from '@portcullis/protocol';
import type { CheckedResourceOptions, ResourceDefinition } from '../resources/options.ts';
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

interface LimitContext {
  readonly store: AuthorizationStore;
  readonly options: Pick<CheckedResourceOptions, 'decideScopes'>;
}

/**
 * The limit for a client and its user, as known now.
 * @throws OAuthError `temporarily_unavailable` where others decide as well, and do not respond
 */
export async function findScopeLimit(
  { store, options: { decideScopes } }: LimitContext,
  resource: LimitedResource & Pick<ResourceDefinition, 'resource' | 'scopes'>,
  { clientId, accountId }: ScopeRecipient,
): Promise<LimitScopes> {
  if (resource.grantableTo === undefined && decideScopes === undefined) return unlimited;
  const wanted = decideScopes === undefined ? claimsOfLimits(resource) : USER_CLAIMS;
  const subject = await readSubject(store, { clientId, accountId }, wanted);
  const limit = limitBy(resource, (condition) => unmetCondition(condition, subject) === null);
  if (decideScopes === undefined) return limit;
  const scopes = limit(Object.keys(resource.scopes));
  const permitted =
    scopes.length === 0
      ? []
      : await decideScopes({ resource: resource.resource, scopes, subject, accountId });
  return restrict(resource, (scope) => permitted.includes(scope));
}

async function readSubject(
  store: AuthorizationStore,
  { clientId, accountId }: ScopeRecipient,
  wanted: readonly UserClaim[],
): Promise<AccessSubject> {
  const known = accountId === null ? {} : await readUserClaims(store, accountId, wanted);
  return { clientId, groups: known.groups ?? [], claims: { ...known } };
}

/** The rule that refuses a scope, and why, for the audit log; empty: no rule does. */
type ScopeRefusal = Pick<OAuthErrorOptions, 'rule' | 'reason'>;

type ExplainedResource = LimitedResource & Pick<ResourceDefinition, 'resource'>;

/** Explains why no user of a client may grant it scopes. */
export function explainClientLimit(
  resource: ExplainedResource,
  clientId: string,
  scopes: Scopes,
): ScopeRefusal {
  return explainLimit(resource, scopes, (condition) => unmetByClient(condition, clientId)) ?? {};
}

/** Explains why a limit leaves out scopes, by what is known now. */
export async function explainScopeLimit(
  { store, options: { decideScopes } }: LimitContext,
  resource: ExplainedResource,
  recipient: ScopeRecipient,
  scopes: Scopes,
): Promise<ScopeRefusal> {
  if (scopes.length === 0) return {};
  const subject = await readSubject(store, recipient, claimsOfLimits(resource));
  const own = explainLimit(resource, scopes, (condition) => unmetCondition(condition, subject));
  if (own !== null || decideScopes === undefined) return own ?? {};
  return { rule: 'policy.authzen', reason: 'the decision point does not permit the scope' };
}

function explainLimit(
  { resource, grantableTo = {}, hierarchy = {} }: ExplainedResource,
  scopes: Scopes,
  unmet: (condition: AccessCondition) => string | null,
): ScopeRefusal | null {
  for (const scope of impliedScopes(scopes, hierarchy)) {
    const condition = Object.hasOwn(grantableTo, scope) ? grantableTo[scope] : undefined;
    const reason = condition === undefined ? null : unmet(condition);
    const at = [resource, scope].map((name) => JSON.stringify(name));
    if (reason !== null) return { rule: `resources[${at[0]}].grantableTo[${at[1]}]`, reason };
  }
  return null;
}

function limitBy(resource: LimitedResource, isMet: (condition: AccessCondition) => boolean): LimitScopes {
  const { grantableTo } = resource;
  if (grantableTo === undefined) return unlimited;
  return restrict(resource, (scope) => {
    const condition = Object.hasOwn(grantableTo, scope) ? grantableTo[scope] : undefined;
    return condition === undefined || isMet(condition);
  });
}

/** A scope that includes one that is not allowed is not granted; the narrower ones that it includes are. */
function restrict(
  { hierarchy = {} }: Pick<LimitedResource, 'hierarchy'>,
  isAllowed: (scope: string) => boolean,
): LimitScopes {
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
export function notGrantable(whom: 'client' | 'user', because: ScopeRefusal): OAuthError {
  return new OAuthError(
    'invalid_scope',
    `None of the scopes asked for can be granted to this ${whom} for this resource.`,
    because,
  );
}
