/** Decides what an authorization transaction needs next: a login, a consent, the identity provider, or its code. Pure. */
import type { Scopes } from '@portcullis/protocol';
import type { AuthorizationTransactionRecord } from '../store/index.ts';

/** What a user allowed. */
export interface ConsentDecision {
  readonly scopes: Scopes;
  readonly workspace: string | null;
  /** Decided on the consent page now, or covered by a remembered consent: then no page is shown and no record is stored. */
  readonly source: 'user' | 'remembered';
  /** Whether it was made before the identity provider named the user's groups and claims. */
  readonly isBeforeLogin?: true;
}

/** The current state of a transaction. */
export interface Progress<Decision> {
  /** The account that acts; `null` until a user has logged in. */
  readonly accountId: string | null;
  readonly decision: Decision | null;
}

export type NextStep<Decision> =
  | { readonly show: 'login' | 'consent' }
  | { readonly startFederatedLogin: { readonly decision: Decision } }
  | { readonly issueCode: { readonly accountId: string; readonly decision: Decision } };

/**
 * With a local account: login, consent, code. With an identity provider, the user MUST consent to this very client before
 * the redirect (confused deputy): the provider may have a session and remember its own consent, and would otherwise send the
 * browser straight back, so that a code is issued without any page shown.
 * @param login where the user logs in; with an identity provider, `accountId` is whom it identified in this transaction
 * @see OAuth 2.1 draft 13 §3.1, seed 5.3(12)
 */
export function nextStep<Decision>(
  { accountId, decision }: Progress<Decision>,
  login: 'local' | 'federated' = 'local',
): NextStep<Decision> {
  if (login === 'federated') {
    if (decision === null) return { show: 'consent' };
    return accountId === null
      ? { startFederatedLogin: { decision } }
      : { issueCode: { accountId, decision } };
  }
  if (accountId === null) return { show: 'login' };
  if (decision === null) return { show: 'consent' };
  return { issueCode: { accountId, decision } };
}

/**
 * The account that acts in a transaction: the one signed in in the browser, unless the client requested a fresh login and
 * that account has not logged in for this very transaction.
 */
export function actingAccountOf(
  record: Pick<AuthorizationTransactionRecord, 'accountId' | 'forceLogin'>,
  signedInAccountId: string | null,
): string | null {
  return record.forceLogin && record.accountId !== signedInAccountId ? null : signedInAccountId;
}
