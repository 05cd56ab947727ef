/** The redirect URIs of backends: state, browser and user are checked, the code is redeemed, and the tokens go to one grant. */
import { type HttpRequest, type HttpResponse, pathOf, respond } from '@portcullis/http';
import { continueTransaction } from '../authorization/continue-transaction.ts';
import type { GrantConnections } from '../authorization/grant-connections.ts';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import { type BrowserTransaction, findTransaction } from '../authorization/transactions.ts';
import { LOGIN_ENDED } from '../federation/pending-logins.ts';
import { toIdentityProviderError } from '../federation/provider/error.ts';
import type { Route } from '../http/router.ts';
import type { FederatedLoginRecord } from '../store/index.ts';
import { respondPage } from '../ui/respond-page.ts';
import type { AccountTokens } from './account-tokens.ts';
import { backendDocumentUrl, backendRedirectUri, type UserBackend, type UserBackends } from './backend.ts';
import { backendErrorPage, connectedPage, signOutAction } from './connect-view.ts';
import type { ConnectionRequests, ConnectionSecrets } from './connection-requests.ts';
import type { ConnectLinks } from './links.ts';

/** What the pages of connected accounts share. */
export interface AccountServices {
  readonly backends: UserBackends;
  readonly tokens: AccountTokens;
  readonly requests: ConnectionRequests;
  readonly links: ConnectLinks;
  /** Does not ask again for the accounts at these backends, in one transaction. */
  readonly connectionsWithout: (skipped: readonly string[]) => GrantConnections;
}

const CALLBACK = '/connect/callback';
const DOCUMENT = '/connect/client';

/** Each backend has its own redirect URI and client metadata document. */
export function createBackendCallbacks(pages: PageRouter, services: AccountServices): readonly Route[] {
  const { backends } = services;
  return [
    pages.route('GET', `${CALLBACK}/*`, async (context, request) => {
      const backend = backends.find(pathOf(request).slice(CALLBACK.length));
      return backend === undefined
        ? context.errors.show(CALLBACK, 'not-found')
        : services.requests.receive(
            context.errors,
            request,
            { id: backend.id, endpoint: CALLBACK },
            (login) => processCallback({ ...context, ...services }, { request, backend, login }),
          );
    }),
    pages.route('GET', `${DOCUMENT}/*`, async (context, request) => {
      const [, id = '', app = ''] = /^(.*)\/~([\w-]{22})$/.exec(pathOf(request).slice(DOCUMENT.length)) ?? [];
      const backend = backends.find(id);
      return backend === undefined
        ? context.errors.show(DOCUMENT, 'not-found')
        : respondDocument(context, backend, app);
    }),
  ];
}

/** @see draft-ietf-oauth-client-id-metadata-document */
async function respondDocument(
  { options, errors }: PageContext,
  backend: UserBackend,
  app: string,
): Promise<HttpResponse> {
  const { issuer } = options;
  const url = backendDocumentUrl(issuer, backend.id, app);
  if (url === null) return errors.show(DOCUMENT, 'not-found');
  const document = backend.clientDocument(url, backendRedirectUri(issuer, backend.id));
  const headers = { 'content-type': 'application/json', 'cache-control': 'max-age=3600' };
  return respond(200, headers, JSON.stringify(document));
}

type CallbackContext = PageContext & AccountServices;

interface BackendCallback {
  readonly request: HttpRequest;
  readonly backend: UserBackend;
  readonly login: FederatedLoginRecord;
}

async function processCallback(context: CallbackContext, callback: BackendCallback): Promise<HttpResponse> {
  const { request, login } = callback;
  const { errors, sessions, requests } = context;
  const { transactionId } = login;
  const transaction = transactionId === null ? null : await findTransaction(context, request, transactionId);
  if (transaction !== null && 'missing' in transaction) return errors.showMissing(CALLBACK, transaction);
  const user = await sessions.find(request);
  // The user who started it, so that no account is connected for another.
  const accountId = transaction === null ? user?.account.id : transaction.accountId;
  if (accountId == null || accountId !== login.accountId)
    return errors.show(CALLBACK, 'other-account', { action: signOutAction(context.layout) });
  const secrets = await requests.consume(login);
  if (secrets === null) return errors.show(CALLBACK, 'gone', { reason: LOGIN_ENDED });
  return transaction === null
    ? completeLink(context, callback, secrets, accountId)
    : completeInTransaction(context, callback, secrets, { transaction, accountId });
}

/** Redeems the code and saves the tokens. @returns what went wrong; `null`: connected */
async function connect(
  context: CallbackContext,
  { request, backend, login }: BackendCallback,
  { grantId, secrets }: ConnectionSecrets,
  accountId: string,
): Promise<'declined' | 'failed' | 'gone' | null> {
  const { searchParams } = new URL(request.url);
  try {
    const response = await backend.complete(secrets, searchParams);
    const owner = { grantId, accountId, backend };
    const isSaved = await context.tokens.save(owner, response, login.transactionId);
    return isSaved ? null : 'gone';
  } catch (cause) {
    const error = toIdentityProviderError(cause);
    context.events({
      type: 'federated_login.failed',
      backend: backend.id,
      accountId,
      reason: error.message,
      ...(login.transactionId !== null && { transactionId: login.transactionId }),
    });
    return error.code === 'access_denied' ? 'declined' : 'failed';
  }
}

/** Back to the transaction. Without this backend, if it failed or the user declined: it can be connected later. */
async function completeInTransaction(
  context: CallbackContext,
  callback: BackendCallback,
  secrets: ConnectionSecrets,
  { transaction, accountId }: { readonly transaction: BrowserTransaction; readonly accountId: string },
): Promise<HttpResponse> {
  const { login, backend } = callback;
  const issue = await connect(context, callback, secrets, accountId);
  if (issue === 'gone') return context.errors.show(CALLBACK, 'gone');
  const skipped = issue === null ? secrets.skipped : [...secrets.skipped, backend.id];
  const { linkedGrantId } = transaction.record;
  const record = { ...transaction.record, linkedGrantId: issue === null ? secrets.grantId : linkedGrantId };
  const { approvedScopes: scopes, workspace } = login;
  const decision = { scopes, workspace, source: 'user' } as const;
  const connections = context.connectionsWithout(skipped);
  return continueTransaction({ ...context, connections }, { ...transaction, record, decision });
}

async function completeLink(
  context: CallbackContext,
  callback: BackendCallback,
  secrets: ConnectionSecrets,
  accountId: string,
): Promise<HttpResponse> {
  const { backend } = callback;
  const { errors, links, layout } = context;
  // Another tab may have used the link meanwhile, or the grant may have ended.
  const link = secrets.link === null ? null : await links.open(secrets.link);
  if (link === null) return errors.show(CALLBACK, 'used-connect-link');
  const issue = await connect(context, callback, secrets, accountId);
  if (issue === null) return respondPage(connectedPage(layout, backend.name));
  if (issue === 'gone') return errors.show(CALLBACK, 'used-connect-link');
  return respondPage(backendErrorPage(layout, backend.name, issue), {
    status: issue === 'failed' ? 502 : 403,
  });
}
