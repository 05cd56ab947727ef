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
import type { BrowserTransaction } from '../authorization/transactions.ts';
import type { FederatedLoginResult } from '../federation/federation.ts';
import type { IdentityProvider } from '../federation/identity-provider.ts';
import type { FederatedLoginSecrets } from '../federation/provider-client.ts';
import { DEFAULT_RETRY_AFTER, IdentityProviderError, isUnavailable } from '../federation/provider-error.ts';
import { redirectFormToGet } from '../http/form-to-get.ts';
import type { Route } from '../http/router.ts';
import type { PageContext, PageRouter } from '../page-context.ts';
import { loginPath } from '../ui/account-tabs.ts';
import {
  completeFederatedLogin,
  type FederatedCallback,
  findWaitingTransaction,
  pageOf,
} from './complete-federated-login.ts';

/** Each identity provider has its own redirect URI (mix-up attack). @see RFC 9700 §4.4.2.2 */
export function createFederatedCallbacks(pages: PageRouter): readonly Route[] {
  return [...pages.options.identityProviders.values()].flatMap((identityProvider) => {
    const path = `/callback/${identityProvider.id}`;
    return [
      pages.route('GET', path, (context, request, connection) =>
        receive(context, request, connection, identityProvider),
      ),
      ...(identityProvider.responseMode === 'form_post'
        ? [pages.route('POST', path, (context, request) => repeatAsGet(context, request, identityProvider))]
        : []),
    ];
  });
}

/** Parameters of an authorization response; all others are dropped. */
const RESPONSE_PARAMETERS = ['code', 'state', 'iss', 'error'];

/**
 * Repeats a response in `form_post` mode as a GET: another site made this browser post it, so `SameSite=Lax` cookies are missing.
 * @see OAuth 2.0 Form Post Response Mode §4, RFC 6265bis §5.6.7.1
 */
async function repeatAsGet(
  { options, errors }: PageContext,
  request: HttpRequest,
  { id, name: provider }: IdentityProvider,
): Promise<HttpResponse> {
  const path = `/callback/${id}`;
  const form = await readFormBody(request);
  // Rejects repeated parameters.
  for (const name of RESPONSE_PARAMETERS) form.one(name);
  const response = redirectFormToGet(path, RESPONSE_PARAMETERS, form, options.issuer);
  return response ?? errors.refuse(path, 'response-too-long', { values: { provider } });
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
    return respondProviderError(context, identityProvider, issue, { endpoint, restartPath: again });
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
