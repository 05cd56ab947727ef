/** The law of interaction: what a transaction needs next, from what is known of it so far. */
import type { TransactionRecord } from '../ports/index.ts';

/** What a transaction has come to. */
export interface Progress<Approval> {
  /** The account that acts; `null` until somebody signed in. */
  readonly subject: string | null;
  /** What that person allowed; `null` until then. */
  readonly approved: Approval | null;
}

export type Step<Approval> =
  | { readonly show: 'login' | 'consent' }
  | { readonly finish: { readonly subject: string; readonly approved: Approval } };

/** First who, then what, then the code. No other order, and nothing is skipped. @see OAuth 2.1 draft 13 §3.1 */
export function nextStep<Approval>({ subject, approved }: Progress<Approval>): Step<Approval> {
  if (subject === null) return { show: 'login' };
  if (approved === null) return { show: 'consent' };
  return { finish: { subject, approved } };
}

/**
 * Whose transaction it is: the account signed in in the browser now, unless the client asked for a fresh sign-in and that
 * account has not made one for this very transaction.
 */
export function subjectOf(
  transaction: Pick<TransactionRecord, 'accountId' | 'freshLogin'>,
  signedIn: string | null,
): string | null {
  return transaction.freshLogin && transaction.accountId !== signedIn ? null : signedIn;
}
