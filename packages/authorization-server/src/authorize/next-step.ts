/** The law of interaction: what a transaction needs next, from what is known of it so far. */
import type { Scopes } from '@portcullis/protocol';
import type { TransactionRecord } from '../ports/index.ts';

/** What a transaction has come to. */
export interface Progress {
  /** The account that acts; `null` until somebody signed in. */
  readonly subject: string | null;
  /** What that person allowed; `null` until then. */
  readonly approved: Scopes | null;
}

export type Step =
  | { readonly show: 'login' | 'consent' }
  | { readonly finish: { readonly subject: string; readonly scopes: Scopes } };

/** First who, then what, then the code. No other order, and nothing is skipped. @see OAuth 2.1 draft 13 §3.1 */
export function nextStep({ subject, approved }: Progress): Step {
  if (subject === null) return { show: 'login' };
  if (approved === null) return { show: 'consent' };
  return { finish: { subject, scopes: approved } };
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
