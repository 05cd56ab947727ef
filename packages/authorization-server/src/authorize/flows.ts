/** Finding the flow that a page belongs to: its transaction, in the browser that began it, everything judged again. */
import type { HttpRequest } from '@portcullis/http';
import { checkRedirectUri, type Parameters } from '@portcullis/protocol';
import { matchesSecret } from '../secrets.ts';
import type { ErrorPage } from '../ui/error-pages.ts';
import type { FlowUnderWay } from './flow.ts';
import { subjectOf } from './next-step.ts';
import type { Rooms } from './rooms.ts';

/** The flow, or why there is none. */
export type FoundFlow = FlowUnderWay | { readonly missing: ErrorPage };

/**
 * Finds the flow that the parameter `flow` names. A transaction is for the browser that began it: whoever is led to
 * somebody else's learns nothing about it.
 * @throws OAuthError `invalid_request` when the client does not have the redirect URI any more
 */
export async function findFlow(
  rooms: Rooms,
  request: HttpRequest,
  parameters: Parameters,
): Promise<FoundFlow> {
  const { configuration, browser, sessions, findClient, upstream } = rooms;
  const id = parameters.one('flow');
  if (id === undefined) return { missing: 'no-transaction' };
  const transaction = await configuration.store.findTransaction(id, configuration.clock());
  if (transaction === null) return { missing: 'gone' };
  const cookie = browser.read(request);
  if (cookie === null) return { missing: 'no-cookie' };
  if (!matchesSecret(cookie, transaction.browserHash)) return { missing: 'other-browser' };

  const client = await findClient(transaction.clientId, 'resume');
  if (client === null) return { missing: 'unknown-app' };
  const target = checkRedirectUri(
    client.metadata.redirect_uris,
    transaction.redirectUri,
    configuration.redirects,
  );
  const user = await sessions.find(request);
  const { identityProvider, isSatisfied: admits } = await upstream.resolveLoginMethod(
    transaction.identityProvider,
    user,
  );
  return {
    transaction,
    client,
    target,
    user,
    identityProvider,
    subject: subjectOf(transaction, admits ? (user?.account.id ?? null) : null),
    approval: null,
    // The digest: an answer to what a client's document said is none to what it says now.
    bound: [transaction.id, transaction.browserHash, user?.sessionHash ?? '', client.digest ?? ''],
  };
}
