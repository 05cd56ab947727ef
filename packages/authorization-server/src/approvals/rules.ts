/** The rules of approvals: who decides about a call, who sees it, and for how long a decision is valid. Pure. */
import type { ApprovalRecord } from '../store/index.ts';

/** Seconds in which a call can be decided about. */
export const PENDING_LIFETIME = 3600;
/** Seconds in which a decision is valid: an approved call has to be sent, and the same call is not asked for again once it was denied. */
const DECISION_LIFETIME = 900;
/** Pending approvals of one user, with all clients: an approver reads each. */
export const MAX_PENDING_OF_SUBJECT = 20;
/** Of one server, for all users. */
export const MAX_PENDING_OF_SERVER = 2000;
/** Characters of a reason. */
export const MAX_REASON = 500;

/** A user who opens a page of approvals. */
export interface Approver {
  readonly accountId: string;
  /** As known now, not at the last sign-in of a client. */
  readonly groups: readonly string[];
}

/** Whether a user decides about a call. */
export function mayDecide(
  { subject, approverGroups }: Pick<ApprovalRecord, 'subject' | 'approverGroups'>,
  { accountId, groups }: Approver,
): boolean {
  if (approverGroups === null) return subject === accountId;
  return approverGroups.some((group) => groups.includes(group));
}

/** Whether a user sees a call: who decides about it, and the user that it is for. */
export function maySee(
  approval: Pick<ApprovalRecord, 'subject' | 'approverGroups'>,
  approver: Approver,
): boolean {
  return approval.subject === approver.accountId || mayDecide(approval, approver);
}

/** What an approver chose. */
export type ApprovalChoice = 'once' | 'repeatedly' | 'deny';

/** The choices that the rule of a call offers. */
export function choicesOf({ reusableFor }: Pick<ApprovalRecord, 'reusableFor'>): readonly ApprovalChoice[] {
  return reusableFor === null ? ['once', 'deny'] : ['once', 'repeatedly', 'deny'];
}

/** Epoch seconds. */
export function decisionExpiry(
  { reusableFor }: Pick<ApprovalRecord, 'reusableFor'>,
  choice: ApprovalChoice,
  now: number,
): number {
  return now + (choice === 'repeatedly' ? (reusableFor ?? 0) : DECISION_LIFETIME);
}

/** A reason on one line, for a model and a log: without characters that are not seen. */
export function readReason(text: string): string | null {
  const reason = text
    .replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_REASON);
  return reason === '' ? null : reason;
}
