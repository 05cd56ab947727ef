/** The members of rules: one table says how each is checked. A member without an entry does not compile. */
import {
  type AuthenticationRequirement,
  missingScopes,
  type Scopes,
  satisfiesAcr,
  TWO_FACTORS,
} from '@portcullis/protocol';
import { type AccessCondition, unmetCondition } from './access-condition.ts';
import { ConditionError, type ReadValues } from './condition.ts';
import { type AccessPrincipal, type AccessRequest, readAuthentication } from './request.ts';
import type { ApprovalRule, LocatedRule, PolicyRule, RuleRequirements } from './rule.ts';

/** What a member demands that is not met. */
export type Unmet =
  | { readonly kind: 'challenge' | 'deny'; readonly reason: string; readonly values?: ReadValues }
  | { readonly kind: 'insufficient_scope'; readonly reason: string; readonly scopes: Scopes }
  | {
      readonly kind: 'step_up';
      readonly reason: string;
      readonly authentication: AuthenticationRequirement | null;
      readonly dpop: boolean;
    }
  | { readonly kind: 'approval'; readonly reason: string; readonly approval: ApprovalRule };

/** How a member is checked. */
type Member<T> =
  /** It is about the user or client of a token: without one, the caller is challenged. */
  | { readonly about: 'principal'; unmet(given: T, principal: AccessPrincipal, now: number): Unmet | null }
  /** About the call, with a token or without. */
  | { readonly about: 'call'; unmet(given: T, request: AccessRequest, rule: LocatedRule): Unmet | null };

type Name = keyof PolicyRule;
type Given = NonNullable<PolicyRule[Name]>;

const MEMBERS: { readonly [K in Name]-?: Member<NonNullable<PolicyRule[K]>> } = {
  // `unmetMembers` checks that a rule without it has a token.
  public: { about: 'call', unmet: () => null },
  never: { about: 'principal', unmet: () => ({ kind: 'deny', reason: 'a rule forbids it' }) },
  clients: ofCondition('clients'),
  groups: ofCondition('groups'),
  claims: ofCondition('claims'),
  when: { about: 'call', unmet: (_source, request, rule) => unmetWhen(request, rule) },
  scopes: {
    about: 'principal',
    unmet(scopes, { scopes: granted }) {
      const missing = missingScopes(scopes, granted);
      if (missing.length === 0) return null;
      return { kind: 'insufficient_scope', reason: `missing scopes: ${missing.join(' ')}`, scopes };
    },
  },
  requires: { about: 'principal', unmet: unmetRequirements },
  approval: {
    about: 'principal',
    unmet: (approval) => ({ kind: 'approval', reason: 'the call needs an approval', approval }),
  },
};

const NAMES = Object.keys(MEMBERS) as readonly Name[];

const NO_TOKEN: Unmet = { kind: 'challenge', reason: 'there is no token' };

/** An unmet member, with its name; `null`: the rule as a whole. */
export interface UnmetMember {
  readonly name: Name | null;
  readonly unmet: Unmet;
}

const NONE: readonly UnmetMember[] = [];

/** Checks each given member of a rule. */
export function unmetMembers(rule: LocatedRule, request: AccessRequest): readonly UnmetMember[] {
  if (request.principal === null && rule.rule.public !== true) return [{ name: null, unmet: NO_TOKEN }];
  let found: readonly UnmetMember[] = NONE;
  for (const name of NAMES) {
    const unmet = checkMember(name, rule, request);
    if (unmet !== null) found = [...found, { name, unmet }];
  }
  return found;
}

/** The members that a rule gives. */
export function givenMembers({ rule }: LocatedRule): readonly Name[] {
  return NAMES.filter((name) => rule[name] !== undefined);
}

function checkMember(name: Name, rule: LocatedRule, request: AccessRequest): Unmet | null {
  const given: Given | undefined = rule.rule[name];
  if (given === undefined) return null;
  const member: Member<Given> = MEMBERS[name];
  if (member.about === 'call') return member.unmet(given, request, rule);
  return request.principal === null ? NO_TOKEN : member.unmet(given, request.principal, request.now);
}

function ofCondition<K extends keyof AccessCondition>(name: K): Member<NonNullable<AccessCondition[K]>> {
  return {
    about: 'principal',
    unmet(given, principal) {
      const unmet = unmetCondition({ [name]: given }, principal);
      return unmet === null ? null : { kind: 'deny', reason: unmet.reason };
    },
  };
}

/** A condition that cannot be evaluated denies the request. Without a token, a condition on the caller leads to a challenge. */
function unmetWhen(request: AccessRequest, { condition, at }: LocatedRule): Unmet | null {
  if (condition === null) throw new TypeError(`the condition of ${at} is not compiled`);
  if (condition.readsArguments && request.arguments === 'later') return null;
  const kind = request.principal === null && condition.readsCaller ? 'challenge' : 'deny';
  try {
    if (condition.holds(request)) return null;
    return { kind, reason: 'the condition does not hold', values: condition.values(request) };
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    const reason = `the condition could not be evaluated: ${error.message}`;
    return { kind, reason, values: condition.values(request) };
  }
}

/** @see RFC 9470 §3 */
function unmetRequirements(
  { acr, maxAge, dpop }: RuleRequirements,
  principal: AccessPrincipal,
  now: number,
): Unmet | null {
  const found = readAuthentication(principal);
  const isOtherClass = acr !== undefined && !satisfiesAcr(found.acr, acr);
  const isTooOld = maxAge !== undefined && now - found.authTime > maxAge;
  const isUnbound = dpop === true && !found.dpop;
  if (!isOtherClass && !isTooOld && !isUnbound) return null;
  const reasons = [
    isOtherClass &&
      (acr.includes(TWO_FACTORS)
        ? 'the user has to sign in again, with two factors'
        : `the user has to sign in again, as ${acr.join(' or ')}`),
    isTooOld && 'the sign-in is too long ago',
    isUnbound && 'the token is not bound to a key of the client',
  ];
  return {
    kind: 'step_up',
    reason: reasons.filter((reason) => reason !== false).join('; '),
    authentication:
      isOtherClass || isTooOld
        ? { ...(acr && { acrValues: acr }), ...(maxAge !== undefined && { maxAge }) }
        : null,
    dpop: isUnbound,
  };
}
