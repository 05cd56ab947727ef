/** Limits of scopes: which clients, and users of which groups and claims, may be granted a scope. */
import {
  type AccessCondition,
  type AccessSubject,
  claimsOfConditions,
  type UnmetCondition,
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

/** What may be granted to a client and its user. */
export interface ScopeLimit {
  /**
   * Reduces scopes to those that may be granted. A scope that includes one that may not be granted may not be granted either; the
   * narrower scopes that it includes remain.
   */
  grantable(scopes: Scopes): Scopes;
  /** Why a scope may not be granted; `null`: it may. */
  refusalOf(scope: string): ScopeRefusal | null;
}

/** Why a scope may not be granted. */
export interface ScopeRefusal {
  /** The member of its limit that does not hold, or an external decision point. */
  readonly by: keyof AccessCondition | 'decision-point';
  /** The path of the rule, for the audit log. */
  readonly rule: string;
  /** For the audit log. */
  readonly reason: string;
}

type Limits = Pick<ResourceDefinition, 'grantableTo'>;
type LimitedResource = Limits & Pick<ResourceDefinition, 'resource' | 'hierarchy'>;
/** The client and user that scopes are granted to. */
export interface ScopeRecipient {
  readonly clientId: string;
  /** `null`: the client acts for itself, so that a scope for some users is none for it. */
  readonly accountId: string | null;
}

/** Everything may be granted. */
export const UNLIMITED: ScopeLimit = { grantable: (scopes) => scopes, refusalOf: () => null };

/** The limit for a client, whichever user grants. */
export function limitByClient(resource: LimitedResource, clientId: string): ScopeLimit {
  if (resource.grantableTo === undefined) return UNLIMITED;
  return createLimit(
    resource,
    refuseByRules(resource, (condition) => unmetByClient(condition, clientId)),
  );
}

interface LimitContext {
  readonly store: AuthorizationStore;
  readonly options: Pick<CheckedResourceOptions, 'decideScopes' | 'decideScopesOf'>;
}

/**
 * The limit for a client and its user, as known now.
 * @param scopes those that may be granted: an external decision point decides about these and what they include, and about no other
 * @throws OAuthError `temporarily_unavailable` where others decide as well, and do not respond
 */
export async function findScopeLimit(
  { store, options }: LimitContext,
  resource: LimitedResource,
  { clientId, accountId }: ScopeRecipient,
  scopes: Scopes,
): Promise<ScopeLimit> {
  const hasOwnDecision = Object.hasOwn(options.decideScopesOf, resource.resource);
  const decideScopes = hasOwnDecision ? options.decideScopesOf[resource.resource] : options.decideScopes;
  if (resource.grantableTo === undefined && decideScopes === undefined) return UNLIMITED;
  const wanted = decideScopes === undefined ? claimsOfLimits(resource) : USER_CLAIMS;
  const known = accountId === null ? {} : await readUserClaims(store, accountId, wanted);
  const subject: AccessSubject = { clientId, groups: known.groups ?? [], claims: { ...known } };
  const refuse = refuseByRules(resource, (condition) => unmetCondition(condition, subject));
  if (decideScopes === undefined) return createLimit(resource, refuse);
  const open = [...impliedScopes(scopes, resource.hierarchy ?? {})].filter((scope) => refuse(scope) === null);
  const permitted =
    open.length === 0
      ? []
      : await decideScopes({ resource: resource.resource, scopes: open, subject, accountId });
  const refusal = hasOwnDecision ? refuseByRole(resource) : DECISION_POINT_REFUSAL;
  return createLimit(resource, (scope) => refuse(scope) ?? (permitted.includes(scope) ? null : refusal));
}

const DECISION_POINT_REFUSAL: ScopeRefusal = {
  by: 'decision-point',
  rule: 'policy.authzen',
  reason: 'the decision point does not permit the scope',
};

/** The option `decideScopesOf`. */
function refuseByRole({ resource }: LimitedResource): ScopeRefusal {
  const rule = `resources[${JSON.stringify(resource)}]`;
  return { by: 'decision-point', rule, reason: 'no role of the user or client permits the scope' };
}

/** Why a scope alone is refused, whatever it includes. */
type RefuseScope = (scope: string) => ScopeRefusal | null;

function refuseByRules(
  { resource, grantableTo = {} }: LimitedResource,
  unmet: (condition: AccessCondition) => UnmetCondition | null,
): RefuseScope {
  return (scope) => {
    const condition = Object.hasOwn(grantableTo, scope) ? grantableTo[scope] : undefined;
    const found = condition === undefined ? null : unmet(condition);
    if (found === null) return null;
    const at = [resource, scope].map((name) => JSON.stringify(name));
    return { by: found.member, rule: `resources[${at[0]}].grantableTo[${at[1]}]`, reason: found.reason };
  };
}

function createLimit({ hierarchy = {} }: LimitedResource, refuse: RefuseScope): ScopeLimit {
  function refusalOf(scope: string): ScopeRefusal | null {
    for (const implied of impliedScopes([scope], hierarchy)) {
      const refusal = refuse(implied);
      if (refusal !== null) return refusal;
    }
    return null;
  }
  const isGrantable = (scope: string) => refusalOf(scope) === null;
  return {
    refusalOf,
    grantable(scopes) {
      const grantable = scopes.filter(isGrantable);
      if (grantable.length === scopes.length) return scopes;
      const narrower = [...impliedScopes(scopes, hierarchy)].filter(isGrantable);
      return [...grantable, ...missingScopes(narrower, grantable, hierarchy)];
    },
  };
}

/** The claims about users that the limits of a resource depend on. */
export function claimsOfLimits({ grantableTo = {} }: Limits): readonly UserClaim[] {
  return claimsOfConditions(Object.values(grantableTo));
}

/** The limits as text, so that consent is requested again when they change; `null`: none. */
export function serializeScopeLimits({ grantableTo = {} }: Limits): string | null {
  const limits = Object.entries(grantableTo);
  return limits.length === 0 ? null : JSON.stringify(['grantableTo', limits.toSorted()]);
}

/** The first rule that refuses one of the scopes, for the audit log; empty: none does. */
export function explainRefusal(
  limit: ScopeLimit,
  scopes: Scopes,
): Pick<OAuthErrorOptions, 'rule' | 'reason'> {
  const [refusal] = scopes.flatMap((scope) => limit.refusalOf(scope) ?? []);
  return refusal === undefined ? {} : { rule: refusal.rule, reason: refusal.reason };
}

/** A final refusal of all scopes: asking again, or the user signing in again, changes nothing. */
export function notGrantable(whom: 'client' | 'user', limit: ScopeLimit, scopes: Scopes): OAuthError {
  return new OAuthError(
    'invalid_scope',
    `None of the scopes asked for can be granted to this ${whom} for this resource.`,
    explainRefusal(limit, scopes),
  );
}
