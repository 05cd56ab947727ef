/** Decisions of the evaluator, each with the rule that decided. */
import type { AuthenticationRequirement, Scopes } from '@portcullis/protocol';
import type { ReadValues } from './condition.ts';
import type { ApprovalRule } from './rule.ts';

/** The decision about an operation. */
export type PolicyDecision =
  | { readonly kind: 'allow' }
  /** There is no token, and one may help. */
  | { readonly kind: 'challenge'; readonly because: Explanation }
  /** The token may do it with more scopes. */
  | { readonly kind: 'insufficient_scope'; readonly needed: Scopes; readonly because: Explanation }
  /** The user has to sign in otherwise or again, or the client has to bind the token to a key. */
  | {
      readonly kind: 'step_up';
      /** `null`: the sign-in suffices. */
      readonly authentication: AuthenticationRequirement | null;
      readonly dpop: boolean;
      readonly because: Explanation;
    }
  /** All else is met; each of the approvals is needed for this call. */
  | {
      readonly kind: 'approval';
      readonly approvals: readonly RequiredApproval[];
      readonly because: Explanation;
    }
  /** Nothing would help. */
  | { readonly kind: 'deny'; readonly because: Explanation };

/** An approval that a call needs. */
export interface RequiredApproval extends ApprovalRule {
  /** The path of its rule. */
  readonly rule: string;
}

/** Why a decision is not to allow. For the audit log and the operator, never for the client. */
export interface Explanation {
  /** The path of the member that decided: `servers[0].tools["delete_*"].when`. */
  readonly rule: string;
  readonly reason: string;
  /** What a condition read, by path, without secrets: `{ "call.arguments.amount": 250 }`. */
  readonly values?: ReadValues;
}

/** A member of a rule, and whether it is met: for an explanation of a whole decision. */
export interface Consideration extends Explanation {
  /** `open`: it depends on arguments that are not known. */
  readonly outcome: 'met' | 'open' | PolicyDecision['kind'];
}
