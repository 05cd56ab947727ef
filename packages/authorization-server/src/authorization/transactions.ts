/** Finding the flow that a page belongs to: its transaction, in the browser that began it, everything judged again. */
import type { HttpRequest } from '@portcullis/http';
import { checkRedirectUri, type Parameters } from '@portcullis/protocol';
import type { PageContext } from '../page-context.ts';
import { matchesSecret } from '../secrets.ts';
import type { ErrorPage } from '../ui/error-pages.ts';
import { subjectOf } from './next-step.ts';
import type { BrowserTransaction } from './transaction.ts';

/** The flow, or why there is none. */
export type FoundTransaction = BrowserTransaction | { readonly missing: ErrorPage };

/**
 * Finds the flow that the parameter `flow` names. A transaction is for the browser that began it: whoever is led to
 * somebody else's learns nothing about it.
 * @throws OAuthError `invalid_request` when the client does not have the redirect URI any more
 */
export async function findTransaction(
  context: PageContext,
  request: HttpRequest,
  parameters: Parameters,
): Promise<FoundTransaction> {
  const {
    store,
    clock,
    options,
    transactionCookie: browser,
    sessions,
    findClient,
    federation: upstream,
  } = context;
  const id = parameters.one('flow');
  if (id === undefined) return { missing: 'no-transaction' };
  const transaction = await store.findTransaction(id, clock());
  if (transaction === null) return { missing: 'gone' };
  const cookie = browser.read(request);
  if (cookie === null) return { missing: 'no-cookie' };
  if (!matchesSecret(cookie, transaction.browserHash)) return { missing: 'other-browser' };

  const client = await findClient(transaction.clientId, 'resume');
  if (client === null) return { missing: 'unknown-app' };
  const target = checkRedirectUri(client.metadata.redirect_uris, transaction.redirectUri, options.redirects);
  const user = await sessions.find(request);
  const { identityProvider, isSatisfied: admits } = await upstream.resolveLoginMethod(
    transaction.identityProvider,
    user,
  );
  return {
    record: transaction,
    client,
    target,
    user,
    identityProvider,
    accountId: subjectOf(transaction, admits ? (user?.account.id ?? null) : null),
    decision: null,
    // The digest: an answer to what a client's document said is none to what it says now.
    csrfBinding: [transaction.id, transaction.browserHash, user?.sessionHash ?? '', client.digest ?? ''],
  };
}
