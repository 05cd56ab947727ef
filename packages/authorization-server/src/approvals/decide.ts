/** Decides about a pending approval, from a page or the command line, and records it. */
import type { StoreContext } from '../context.ts';
import type { ApprovalRecord } from '../store/index.ts';
import { type ApprovalChoice, choicesOf, decisionExpiry, readReason } from './rules.ts';

export interface ApprovalDecider {
  /** The account of the approver; `null`: an operator, on the command line. */
  readonly accountId: string | null;
}

/**
 * @param reason for the app, if it is denied
 * @returns `false` when it was decided already, has expired, or its rule does not offer the choice
 */
export async function decideApproval(
  { store, events, clock }: StoreContext,
  approval: ApprovalRecord,
  choice: ApprovalChoice,
  { accountId }: ApprovalDecider,
  reason = '',
): Promise<boolean> {
  if (!choicesOf(approval).includes(choice)) return false;
  const now = clock();
  const isDenied = choice === 'deny';
  const isFirst = await store.decideApproval(
    approval.id,
    {
      outcome: isDenied ? 'denied' : 'approved',
      decidedBy: accountId ?? OPERATOR,
      reason: isDenied ? readReason(reason) : null,
      isReusable: choice === 'repeatedly',
      expiresAt: decisionExpiry(approval, choice, now),
    },
    now,
  );
  if (!isFirst) return false;
  events({
    type: isDenied ? 'approval.denied' : 'approval.granted',
    ...factsOf(approval),
    decidedBy: accountId ?? OPERATOR,
    waited: Math.max(0, now - approval.createdAt),
    ...(choice === 'repeatedly' && { reusableFor: approval.reusableFor ?? 0 }),
  });
  return true;
}

/** In place of an account: on the command line. */
const OPERATOR = 'operator';

/** What events say about an approval. */
export function factsOf({
  id,
  subject,
  clientId,
  grantId,
  server,
  tool,
  rule,
  argumentsHash,
}: ApprovalRecord): {
  readonly approvalId: string;
  readonly accountId?: string;
  readonly clientId: string;
  readonly grantId?: string;
  readonly server: string;
  readonly tool: string;
  readonly rule: string;
  readonly argumentsHash: string;
} {
  return {
    approvalId: id,
    ...(subject !== clientId && { accountId: subject }),
    clientId,
    ...(grantId !== null && { grantId }),
    server,
    tool,
    rule,
    argumentsHash,
  };
}
