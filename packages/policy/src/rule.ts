/** Rules of operations, as they are written and as the evaluator reads them. */
import { type Scopes, USER_CLAIMS, type UserClaim } from '@portcullis/protocol';
import { type AccessCondition, claimsOfConditions } from './access-condition.ts';
import type { CompileCondition, Condition } from './condition.ts';

/** Who may perform an operation, and what that requires. Every given member has to be met. */
export interface PolicyRule extends AccessCondition {
  /** No token is needed. */
  readonly public?: boolean | undefined;
  /** The operation is never allowed. */
  readonly never?: true | undefined;
  /** Scopes that the operation needs. */
  readonly scopes?: Scopes | undefined;
  /** A condition in CEL on the user, the client, the call and the request. */
  readonly when?: string | undefined;
  readonly requires?: RuleRequirements | undefined;
  readonly approval?: ApprovalRule | undefined;
}

/** How the user signed in, and how the token is sent. */
export interface RuleRequirements {
  /** Authentication context classes, one of which suffices. @see RFC 9470 §3 */
  readonly acr?: readonly string[] | undefined;
  /** Seconds since the sign-in, at most. @see RFC 9470 §3 */
  readonly maxAge?: number | undefined;
  /** The token is bound to a key of the client. @see RFC 9449 */
  readonly dpop?: boolean | undefined;
}

/** Approval of a single call, in addition to the consent to its scope. */
export interface ApprovalRule {
  /** The user of the call, or users in one of the groups. */
  readonly by: 'user' | { readonly groups: readonly string[] };
  /** One call, or seconds in which the same call is allowed again. */
  readonly lasts: 'call' | number;
}

/** A rule as written: `false` for never, a list of scopes, or its members. */
export type WrittenRule = false | Scopes | PolicyRule;

/** A rule with its path in the configuration and its compiled condition. */
export interface LocatedRule {
  /** `servers[0].tools["delete_*"]` */
  readonly at: string;
  readonly rule: PolicyRule;
  /** `null` without `when`. */
  readonly condition: Condition | null;
  /** Written without names of members, so that its path names none. */
  readonly isShort: boolean;
}

/**
 * Reads a rule for the evaluator.
 * @param compile may be `null` where no rule has a condition
 * @throws ConditionError for a condition that does not compile; TypeError for a condition without a compiler
 */
export function locateRule(at: string, written: WrittenRule, compile: CompileCondition | null): LocatedRule {
  const rule = readRule(written);
  const { when } = rule;
  if (when !== undefined && compile === null)
    throw new TypeError(`${at} has a condition, but conditions are not loaded`);
  return {
    at,
    rule,
    condition: when === undefined || compile === null ? null : compile(when),
    isShort: written === false || isScopeList(written),
  };
}

/** A rule by its members. */
export function readRule(written: WrittenRule): PolicyRule {
  if (written === false) return { never: true };
  return isScopeList(written) ? { scopes: written } : written;
}

function isScopeList(written: WrittenRule): written is Scopes {
  return Array.isArray(written);
}

/** The path of a rule: `servers[0].tools["delete_*"]`. */
export function rulePath(server: number, table: string, pattern: string): string {
  return `servers[${server}].${table}[${JSON.stringify(pattern)}]`;
}

/** The claims about users that rules depend on. A condition that mentions one needs it. */
export function claimsOfRules(rules: readonly PolicyRule[]): readonly UserClaim[] {
  const found = claimsOfConditions(rules);
  const mentions = (claim: string) =>
    rules.some(({ when = '' }) => /\buser\b/.test(when) && new RegExp(`\\b${claim}\\b`).test(when));
  return USER_CLAIMS.filter((claim) => found.includes(claim) || mentions(claim));
}
