/** Conditions on the client and the user: one table says how each member is described, checked and joined. */
import { USER_CLAIMS, type UserClaim } from '@portcullis/protocol';

/** Every given member must hold; an empty list holds for no client and no user. */
export interface AccessCondition {
  /** `client_id`s. */
  readonly clients?: readonly string[] | undefined;
  /** Groups of the user, one of which suffices. */
  readonly groups?: readonly string[] | undefined;
  /** Claims about the user with their accepted values. */
  readonly claims?: AcceptedClaims | undefined;
}

type AcceptedClaims = Readonly<Record<string, readonly string[]>>;

/** The client and user that a condition is checked for. A client that acts for itself has no groups and no claims about a user. */
export interface AccessSubject {
  readonly clientId: string;
  readonly groups: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
}

/** What options schemas and documents say about a member. */
interface AccessConditionMember {
  /** `list`: accepted values; `record`: a list of them for each name. */
  readonly kind: 'list' | 'record';
  /** `client`: known before the user signs in. */
  readonly about: 'client' | 'user';
  readonly description: string;
  /** Completes "each": `a group`. */
  readonly value: string;
}

/** @typeParam T what a member accepts */
interface Rule<T> extends AccessConditionMember {
  readonly kind: T extends readonly string[] ? 'list' : 'record';
  /** Why it does not hold; `null` if it does. */
  unmet(accepted: T, subject: AccessSubject): string | null;
  /** What both accept. */
  join(one: T, other: T): T;
  /** The claims about the user that it depends on. */
  claims(accepted: T): readonly string[];
}

/** About the client alone: known before the user signs in. */
interface ClientRule<T> extends Rule<T> {
  readonly about: 'client';
  unmet(accepted: T, subject: Pick<AccessSubject, 'clientId'>): string | null;
}

interface UserRule<T> extends Rule<T> {
  readonly about: 'user';
}

type MemberRule<T> = ClientRule<T> | UserRule<T>;
type Name = keyof AccessCondition;
type Accepted = readonly string[] | AcceptedClaims;

const RULES: { readonly [K in Name]-?: MemberRule<NonNullable<AccessCondition[K]>> } = {
  clients: {
    kind: 'list',
    about: 'client',
    description: 'clients',
    value: 'a `client_id`',
    join: intersect,
    claims: () => [],
    unmet: (accepted, { clientId }) =>
      accepted.includes(clientId) ? null : 'the client is not listed in the rule',
  },
  groups: {
    kind: 'list',
    about: 'user',
    description: 'groups of the user, one of which suffices',
    value: 'a group',
    join: intersect,
    claims: () => ['groups'],
    unmet: (accepted, { groups }) =>
      accepted.some((group) => groups.includes(group)) ? null : 'the user is in no group of the rule',
  },
  claims: {
    kind: 'record',
    about: 'user',
    description: 'claims about the user (`email`, `name`, `groups`) with their accepted values',
    value: 'a value',
    join: intersectEach,
    claims: Object.keys,
    unmet(accepted, subject) {
      const wrong = Object.entries(accepted).find(([claim, values]) => !hasClaim(subject, claim, values));
      return wrong === undefined ? null : `the claim ${wrong[0]} has no value that the rule accepts`;
    },
  },
};

const NAMES = Object.keys(RULES) as readonly Name[];

/** The members of conditions, for schemas and documents. */
export const ACCESS_CONDITION_MEMBERS: Readonly<Record<Name, AccessConditionMember>> = RULES;

/** A member of a condition that does not hold, and why. */
export interface UnmetCondition {
  readonly member: keyof AccessCondition;
  readonly reason: string;
}

/** The first member of a condition that does not hold; `null` if all do. */
export function unmetCondition(condition: AccessCondition, subject: AccessSubject): UnmetCondition | null {
  return firstUnmet(condition, (rule, accepted) => rule.unmet(accepted, subject));
}

/** The member because of which a condition holds for no user of a client; `null` if it may hold for one. */
export function unmetByClient(condition: AccessCondition, clientId: string): UnmetCondition | null {
  return firstUnmet(condition, (rule, accepted) =>
    rule.about === 'client' ? rule.unmet(accepted, { clientId }) : null,
  );
}

function firstUnmet(
  condition: AccessCondition,
  unmet: (rule: MemberRule<Accepted>, accepted: Accepted) => string | null,
): UnmetCondition | null {
  for (const member of NAMES) {
    const accepted = condition[member];
    const reason = accepted === undefined ? null : unmet(RULES[member], accepted);
    if (reason !== null) return { member, reason };
  }
  return null;
}

/** The stricter of two conditions: each member accepts what both accept, so that it never holds where one of them does not. */
export function joinConditions(one: AccessCondition, other: AccessCondition): AccessCondition {
  const joined = NAMES.map((name) => {
    const rule: Rule<Accepted> = RULES[name];
    const [first, second] = [one[name], other[name]];
    return [name, first && second ? rule.join(first, second) : (first ?? second)] as const;
  });
  return Object.fromEntries(joined) as AccessCondition;
}

function intersect(one: readonly string[], other: readonly string[]): readonly string[] {
  return one.filter((value) => other.includes(value));
}

function intersectEach(one: AcceptedClaims, other: AcceptedClaims): AcceptedClaims {
  const both = Object.entries(one).map(
    ([name, values]) =>
      [name, intersect(values, Object.hasOwn(other, name) ? (other[name] ?? []) : values)] as const,
  );
  return { ...other, ...Object.fromEntries(both) };
}

/** The claims about users that conditions depend on. */
export function claimsOfConditions(conditions: readonly AccessCondition[]): readonly UserClaim[] {
  const named = conditions.flatMap((condition) =>
    NAMES.flatMap((name) => {
      const rule: Rule<Accepted> = RULES[name];
      const accepted = condition[name];
      return accepted === undefined ? [] : rule.claims(accepted);
    }),
  );
  return USER_CLAIMS.filter((claim) => named.includes(claim));
}

/** Claims of a condition that servers cannot learn about users: it would never hold. */
export function unavailableClaims({ claims = {} }: AccessCondition): readonly string[] {
  return Object.keys(claims).filter((name) => !USER_CLAIMS.some((claim) => claim === name));
}

function hasClaim({ claims }: AccessSubject, name: string, accepted: readonly string[]): boolean {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.some((one) => one !== undefined && typeof one !== 'object' && accepted.includes(String(one)));
}
