/** Coming back from a third party: the browser, the state and the answer are judged, and whoever it is goes on where they left. */
import {
  type ConnectionInfo,
  type HttpRequest,
  type HttpResponse,
  queryOf,
  readFormBody,
  withCookies,
} from '@portcullis/http';
import { OAuthError, readParameters, temporarilyUnavailable } from '@portcullis/protocol';
import { toOAuthError } from '../authorization/error-response.ts';
import { rejectTransaction } from '../authorization/issue-code.ts';
import { respondProviderError } from '../authorization/start-federated-login.ts';
import type { BrowserTransaction } from '../authorization/transaction.ts';
import type { FederatedLoginResult } from '../federation/federation.ts';
import type { IdentityProvider } from '../federation/identity-provider.ts';
import type { FederatedLoginSecrets } from '../federation/provider-client.ts';
import { DEFAULT_RETRY_AFTER, IdentityProviderError, isUnavailable } from '../federation/provider-error.ts';
import type { Route } from '../http/router.ts';
import { exceedsUrlLimit } from '../http/url-limit.ts';
import type { PageContext } from '../page-context.ts';
import { loginPath } from '../ui/account-tabs.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import {
  completeFederatedLogin,
  type FederatedCallback,
  findWaitingTransaction,
  pageOf,
} from './complete-federated-login.ts';

/** Each third party answers at an address of its own. */
export function createFederatedCallbacks(context: PageContext): readonly Route[] {
  return [...context.options.identityProviders.values()].flatMap((identityProvider) => {
    const path = `/callback/${identityProvider.id}`;
    return [
      context.errors.route('GET', path, (request, connection) =>
        receive(context, request, connection, identityProvider),
      ),
      ...(identityProvider.responseMode === 'form_post'
        ? [context.errors.route('POST', path, (request) => relay(context, request, identityProvider))]
        : []),
    ];
  });
}

/** What an authorization response consists of; whatever else is posted goes nowhere. */
const ANSWER = ['code', 'state', 'iss', 'error'];

/**
 * An answer as a form, which another site made this browser post: without our cookies, for they stay `SameSite=Lax`. Nothing is
 * read of it. The browser is sent to the same address by GET, as if the answer had come by query, and judged there.
 * @see OAuth 2.0 Form Post Response Mode §4, RFC 6265bis §5.6.7.1
 */
async function relay(
  { options, errors }: PageContext,
  request: HttpRequest,
  { id, name: provider }: IdentityProvider,
): Promise<HttpResponse> {
  const path = `/callback/${id}`;
  const form = await readFormBody(request);
  const query = new URLSearchParams();
  for (const name of ANSWER) {
    const value = form.one(name);
    if (value !== undefined) query.set(name, value);
  }
  const location = `${path}?${query}`;
  return exceedsUrlLimit(location, options.issuer)
    ? errors.refuse(path, 'response-too-long', { values: { provider } })
    : respondRedirect(location);
}

async function receive(
  context: PageContext,
  request: HttpRequest,
  connection: ConnectionInfo,
  identityProvider: IdentityProvider,
): Promise<HttpResponse> {
  const { logins: departures } = context.federation;
  const endpoint = `/callback/${identityProvider.id}`;
  const state = readParameters(queryOf(request)).one('state');
  if (state === undefined) return context.errors.refuse(endpoint, 'gone');
  const departure = await departures.find(request, identityProvider, state);
  if (departure === 'unknown') return context.errors.refuse(endpoint, 'gone');
  // Whoever did not leave here was led here by somebody else: nothing of it is used.
  if (typeof departure === 'string') return context.errors.refuse(endpoint, departure);
  const answer = await goOn(context, { request, connection, state, identityProvider, departure });
  return withCookies(answer, [departures.clearCookie(departure)]);
}

async function goOn(context: PageContext, back: FederatedCallback): Promise<HttpResponse> {
  const { departure, identityProvider } = back;
  const endpoint = `/callback/${identityProvider.id}`;
  // The client and its redirect URI are judged before anything is spent, and again before the last hop.
  const transaction = await findWaitingTransaction(context, back);
  if (transaction !== null && 'missing' in transaction)
    return context.errors.refuse(endpoint, transaction.missing);
  const secrets = await context.federation.logins.consume(departure);
  if (secrets === null) return context.errors.refuse(endpoint, 'gone');
  try {
    const arrival = await redeem(context, back, secrets);
    return await completeFederatedLogin(context, back, arrival);
  } catch (error) {
    return refuse(context, back, transaction, error);
  }
}

async function redeem(
  context: PageContext,
  { request, identityProvider, departure, state }: FederatedCallback,
  secrets: FederatedLoginSecrets,
): Promise<FederatedLoginResult> {
  const wire = context.federation.clientFor(identityProvider);
  const answer = new URL(request.url).searchParams;
  return { identityProvider, ...(await wire.redeemCode(answer, departure.approvedScopes, state, secrets)) };
}

/** What went wrong goes to the client by redirect, in our words and never in theirs; who waits for no client reads a page. */
async function refuse(
  context: PageContext,
  back: FederatedCallback,
  transaction: BrowserTransaction | null,
  cause: unknown,
): Promise<HttpResponse> {
  const { identityProvider } = back;
  const error = cause instanceof IdentityProviderError ? explain(cause) : toOAuthError(cause);
  context.events({
    type: 'federated_login.failed',
    identityProvider: identityProvider.id,
    reason: error.reason ?? error.description,
    ...(transaction !== null && { transactionId: transaction.record.id, clientId: transaction.client.id }),
  });
  if (transaction !== null && error.code !== 'invalid_request')
    return rejectTransaction(context, transaction, error);
  if (cause instanceof IdentityProviderError) return refuseVisit(context, back, cause);
  if (error.status >= 500 || error.code === 'invalid_request') throw cause;
  return context.errors.refuse(`/callback/${identityProvider.id}`, 'login-not-allowed');
}

/** Nobody was signed in there, and no client waits. */
function refuseVisit(
  context: PageContext,
  { identityProvider, departure }: FederatedCallback,
  issue: IdentityProviderError,
): Promise<HttpResponse> {
  const endpoint = `/callback/${identityProvider.id}`;
  const again = loginPath(pageOf(departure));
  if (issue.code !== 'access_denied')
    return respondProviderError(context, identityProvider, issue, { endpoint, again });
  const action = { label: context.layout.text('message.try-again'), href: again };
  return context.errors.refuse(endpoint, 'login-declined', {
    values: { provider: identityProvider.name },
    action,
  });
}

/** @see OAuth 2.1 draft 13 §4.1.2.1 */
function explain(issue: IdentityProviderError): OAuthError {
  const { code, message, retryAfter } = issue;
  if (code === 'access_denied') {
    return new OAuthError('access_denied', 'The person declined at the third party.', { reason: message });
  }
  if (isUnavailable(issue)) return temporarilyUnavailable(message, retryAfter ?? DEFAULT_RETRY_AFTER);
  return new OAuthError('server_error', 'Signing in at the third party did not succeed. Try again.', {
    reason: message,
  });
}
