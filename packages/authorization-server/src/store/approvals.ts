/** The store capability `approvals`: consent to single calls of tools. */

/** The call that an approval is bound to, and what its rule demands: another value of any member needs another approval. */
export interface ApprovedCall {
  /** The user, or the client that acts for itself. */
  readonly subject: string;
  readonly clientId: string;
  /** The grant of the access token; `null`: the client acts for itself. */
  readonly grantId: string | null;
  /** The path of the server. */
  readonly server: string;
  /** The address or command of what is behind the path, which may be another server later; `null`: this server itself. */
  readonly backend: string | null;
  readonly tool: string;
  /** Base64url SHA-256 of the arguments, byte for byte as they are sent to the backend, and of other parameters with an effect. */
  readonly argumentsHash: string;
  /** The approved definition of the tool as JSON text, which the approver reads; `null`: it has none. */
  readonly definition: string | null;
  /** The path of the rule that needs the approval: `servers[0].tools["delete_*"].approval`. */
  readonly rule: string;
  /** Users in one of these groups decide; `null`: the user of the call does. */
  readonly approverGroups: readonly string[] | null;
  /** Seconds for which the same call may be allowed again; `null`: one call only. */
  readonly reusableFor: number | null;
}

/** What the approver sees and may decide. Times in epoch seconds. */
export interface NewApproval extends ApprovedCall {
  /** Unguessable, but no secret: the page asks who the approver is. */
  readonly id: string;
  /** The arguments as JSON text, or a list of them and of other parameters with an effect; empty once it is decided. */
  readonly arguments: string;
  readonly createdAt: number;
  /** When it ends unless it is decided before. */
  readonly expiresAt: number;
}

/** An approval, pending or decided. Its backend is only compared. */
export interface ApprovalRecord extends Omit<NewApproval, 'backend'> {
  /** `null`: pending. */
  readonly outcome: ApprovalDecision['outcome'] | null;
  /** The account that decided. */
  readonly decidedBy: string | null;
  readonly decidedAt: number | null;
  /** Why it was denied, for the client. */
  readonly reason: string | null;
  /** Whether it serves every such call until it expires. */
  readonly isReusable: boolean;
  /** When it served a call, the latest if it is reusable. */
  readonly consumedAt: number | null;
}

/** A decision about a pending approval. */
export interface ApprovalDecision {
  readonly outcome: 'approved' | 'denied';
  readonly decidedBy: string;
  readonly reason: string | null;
  readonly isReusable: boolean;
  /** When the decision ends: until then the same call is allowed or denied. */
  readonly expiresAt: number;
}

/** Pending approvals at once. */
export interface ApprovalLimits {
  readonly bySubject: number;
  readonly byServer: number;
}

/** Whose pending approvals are listed: those of a user's own calls that the user decides, those of groups, or all. */
export type ApprovalFilter =
  | { readonly subject: string }
  | { readonly groups: readonly string[] }
  | { readonly all: true };

/** Store capability for approvals of calls. An approval ends with the grant of its call, and then no longer counts. */
export interface ApprovalStore {
  /**
   * Returns the pending or decided approval of the same call and rule, or saves this one. Atomic: concurrent calls share one.
   * @returns `null` when too many are pending: nothing is saved then
   */
  requestApproval(approval: NewApproval, limits: ApprovalLimits): Promise<ApprovalRecord | null>;
  /** The pending or decided approval of a call, unless it has served a call and is not reusable; `null`: none. */
  findApprovalOfCall(call: ApprovedCall, now: number): Promise<ApprovalRecord | null>;
  /** Whatever its state; `null` once it has expired or its grant has ended. */
  findApproval(id: string, now: number): Promise<ApprovalRecord | null>;
  /** Pending approvals, the oldest first. */
  listPendingApprovals(
    filter: ApprovalFilter,
    now: number,
    limit: number,
  ): Promise<readonly ApprovalRecord[]>;
  /** How many are pending, at most `limit`. */
  countPendingApprovals(now: number, limit: number): Promise<number>;
  /** Decides a pending approval, and deletes its arguments. Atomic: of concurrent decisions one returns `true`. */
  decideApproval(id: string, decision: ApprovalDecision, now: number): Promise<boolean>;
  /**
   * Uses the approvals of one call, all or none. Atomic: one that is not reusable serves one call.
   * @returns `false` when one of them is not approved, has expired or has served a call: nothing has changed then
   */
  consumeApprovals(ids: readonly string[], now: number): Promise<boolean>;
}
