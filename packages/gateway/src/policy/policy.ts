/** What policy decides about an operation, and for whom. */
import type { McpOperation, Scopes } from '@portcullis/protocol';
import type { Principal } from '@portcullis/resource-server';

/** Annotations of a tool that propose scopes when no rule is configured. They are the backend's own claims about itself. */
export interface ToolHints {
  readonly readOnly: boolean;
  readonly destructive: boolean;
}

/** The decision of a policy about one call. */
export type AccessDecision =
  | { readonly kind: 'allow' }
  /** The token may do it with more scopes. */
  | { readonly kind: 'insufficient_scope'; readonly needed: Scopes }
  /** No scope would help. `reason` is for the audit log. */
  | { readonly kind: 'deny'; readonly reason: string };

/** Who performs an operation: what rules can name. */
export type Caller = Pick<Principal, 'clientId' | 'scopes' | 'groups' | 'claims'>;

/** The compiled rules of a server. Pure. */
export interface Policy {
  /** @param hints of the tool; `null` when it is unknown, or the operation is none of a tool */
  decide(operation: McpOperation, caller: Caller, hints: ToolHints | null): AccessDecision;
}
