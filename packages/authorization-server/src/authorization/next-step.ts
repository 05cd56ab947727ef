/** The law of interaction: what a transaction needs next, from what is known of it so far. */
import type { AuthorizationTransactionRecord } from '../store/index.ts';

/** What a transaction has come to. */
export interface Progress<Decision> {
  /** The account that acts; `null` until somebody signed in. */
  readonly subject: string | null;
  /** What that person allowed; `null` until then. */
  readonly approved: Decision | null;
}

export type Step<Decision> =
  | { readonly show: 'login' | 'consent' }
  | { readonly leave: { readonly approved: Decision } }
  | { readonly finish: { readonly subject: string; readonly approved: Decision } };

/**
 * Here: first who, then what, then the code. With a third party the person MUST have allowed this very client before they
 * leave: whoever is known there already would otherwise be sent back with a code, having seen nothing.
 * @param login where the person signs in; with a third party, `subject` is whom it has named in this transaction
 * @see OAuth 2.1 draft 13 §3.1, seed 5.3(12)
 */
export function nextStep<Decision>(
  { subject, approved }: Progress<Decision>,
  login: 'local' | 'third-party' = 'local',
): Step<Decision> {
  if (login === 'third-party') {
    if (approved === null) return { show: 'consent' };
    return subject === null ? { leave: { approved } } : { finish: { subject, approved } };
  }
  if (subject === null) return { show: 'login' };
  if (approved === null) return { show: 'consent' };
  return { finish: { subject, approved } };
}

/**
 * Whose transaction it is: the account signed in in the browser now, unless the client asked for a fresh sign-in and that
 * account has not made one for this very transaction.
 */
export function subjectOf(
  transaction: Pick<AuthorizationTransactionRecord, 'accountId' | 'forceLogin'>,
  signedIn: string | null,
): string | null {
  return transaction.forceLogin && transaction.accountId !== signedIn ? null : signedIn;
}
