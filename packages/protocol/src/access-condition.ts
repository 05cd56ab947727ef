/** Conditions on who acts: the client, and the user by groups and claims. */

/** Every member that is given has to hold; an empty list holds for no client and no user. */
export interface AccessCondition {
  /** `client_id`s. */
  readonly clients?: readonly string[] | undefined;
  /** Groups of the user, one of which suffices. */
  readonly groups?: readonly string[] | undefined;
  /** Claims about the user with their accepted values. */
  readonly claims?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Who acts: what conditions can name. A client that acts for itself has neither groups nor claims about a user. */
export interface AccessSubject {
  readonly clientId: string;
  readonly groups: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A claim about the user. @see OpenID Connect Core 1.0 §5.1, RFC 9068 §2.2.3.1 */
export type UserClaim = 'email' | 'name' | 'groups';

/** The claims that servers may learn about users. */
export const USER_CLAIMS: readonly UserClaim[] = ['email', 'name', 'groups'];

/** The claims about users that conditions depend on. */
export function claimsOfConditions(conditions: readonly AccessCondition[]): readonly UserClaim[] {
  const named = conditions.flatMap(({ groups, claims = {} }) => [
    ...(groups === undefined ? [] : ['groups']),
    ...Object.keys(claims),
  ]);
  return USER_CLAIMS.filter((claim) => named.includes(claim));
}

/** Why a condition does not hold; `null` if it does. Pure. */
export function unmetCondition(
  { clients, groups, claims = {} }: AccessCondition,
  subject: AccessSubject,
): string | null {
  if (clients?.includes(subject.clientId) === false) return 'the client is none that its rule names';
  if (groups?.some((group) => subject.groups.includes(group)) === false)
    return 'the user is in no group that its rule names';
  const wrong = Object.entries(claims).find(([claim, values]) => !hasClaim(subject, claim, values));
  return wrong === undefined ? null : `the claim ${wrong[0]} has no value that its rule names`;
}

function hasClaim({ claims }: AccessSubject, name: string, accepted: readonly string[]): boolean {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.some((one) => one !== undefined && typeof one !== 'object' && accepted.includes(String(one)));
}
