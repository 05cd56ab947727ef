/** Decides about a pending approval, from a page or the command line, and records it. */
import type { StoreContext } from '../context.ts';
import type { ApprovalRecord } from '../store/index.ts';
import { type ApprovalChoice, choicesOf, decisionExpiry, readReason } from './rules.ts';

/**
 * @param accountId of the approver; `null`: an operator, on the command line
 * @param text reason for the app, if it is denied
 * @returns `false` when it was decided already, has expired, or its rule does not offer the choice
 */
export async function decideApproval(
  { store, events, clock }: StoreContext,
  approval: ApprovalRecord,
  choice: ApprovalChoice,
  accountId: string | null,
  text = '',
): Promise<boolean> {
  if (!choicesOf(approval).includes(choice)) return false;
  const now = clock();
  const isDenied = choice === 'deny';
  const reason = isDenied ? readReason(text) : null;
  const isFirst = await store.decideApproval(
    approval.id,
    {
      outcome: isDenied ? 'denied' : 'approved',
      decidedBy: accountId ?? OPERATOR,
      reason,
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
    ...(reason !== null && { reason }),
    ...(choice === 'repeatedly' && { reusableFor: approval.reusableFor ?? 0 }),
  });
  return true;
}

/** In place of an account: on the command line. */
const OPERATOR = 'operator';

/** What events say about an approval. */
export function factsOf(approval: ApprovalRecord) {
  const { id: approvalId, subject, clientId, grantId, server, tool, rule, argumentsHash } = approval;
  return {
    approvalId,
    ...(subject !== clientId && { accountId: subject }),
    clientId,
    ...(grantId !== null && { grantId }),
    ...{ server, tool, rule, argumentsHash },
  };
}
