/** Decisions of the evaluator, each with the rule that decided. */
import type { AuthenticationRequirement, Scopes } from '@portcullis/protocol';
import type { ReadValues } from './condition.ts';
import type { ApprovalRule } from './rule.ts';

/** The decision about an operation. */
export type PolicyDecision =
  | { readonly kind: 'allow' }
  /** The request has no token; with one it may be allowed. */
  | { readonly kind: 'challenge'; readonly because: Explanation }
  /** The token lacks scopes that its user can grant. */
  | { readonly kind: 'insufficient_scope'; readonly needed: Scopes; readonly because: Explanation }
  /** The user has to sign in again or by stronger means, or the client has to bind the token to a key. */
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
  /** No token, scope or sign-in would change the decision. */
  | { readonly kind: 'deny'; readonly because: Explanation };

/** An approval that a call needs. */
export interface RequiredApproval extends ApprovalRule {
  /** The path of its rule. */
  readonly rule: string;
}

/** The reason why a request is not allowed. For the audit log and the operator, never for the client. */
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
