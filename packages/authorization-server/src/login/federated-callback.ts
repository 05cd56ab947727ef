/** The redirect URIs of identity providers: state and browser are checked, the code is redeemed, and the login completes. */
import { type HttpRequest, type HttpResponse, readFormBody } from '@portcullis/http';
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol';
import { toOAuthError } from '../authorization/error-response.ts';
import { rejectTransaction } from '../authorization/issue-code.ts';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import { respondProviderError } from '../authorization/start-federated-login.ts';
import type { BrowserTransaction } from '../authorization/transactions.ts';
import { LOGIN_ENDED } from '../federation/pending-logins.ts';
import { DEFAULT_RETRY_AFTER, IdentityProviderError, isUnavailable } from '../federation/provider/error.ts';
import type { IdentityProvider } from '../federation/provider/identity-provider.ts';
import { redirectFormToGet } from '../http/form-to-get.ts';
import type { Route } from '../http/router.ts';
import { loginPath, readAccountSection } from '../ui/account-tabs.ts';
import {
  completeFederatedLogin,
  type FederatedCallback,
  findWaitingTransaction,
} from './complete-federated-login.ts';

/** Each identity provider has its own redirect URI (mix-up attack). @see RFC 9700 §4.4.2.2 */
export function createFederatedCallbacks(pages: PageRouter): readonly Route[] {
  return [...pages.options.identityProviders.values()].flatMap((identityProvider) => {
    const { id } = identityProvider;
    const path = `/callback/${id}`;
    return [
      pages.route('GET', path, (context, request, connection) =>
        context.federation.logins.receive(context.errors, request, { id, endpoint: path }, (login, state) =>
          processCallback(context, { request, connection, endpoint: path, state, identityProvider, login }),
        ),
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
  return response ?? errors.show(path, 'response-too-long', { values: { provider } });
}

async function processCallback(context: PageContext, callback: FederatedCallback): Promise<HttpResponse> {
  const { request, endpoint, identityProvider, login, state } = callback;
  // Client and redirect URI are checked before the state is consumed, and again before the last redirect.
  const transaction = await findWaitingTransaction(context, callback);
  if (transaction !== null && 'missing' in transaction)
    return context.errors.showMissing(endpoint, transaction);
  const secrets = await context.federation.logins.consume(login);
  if (secrets === null) return context.errors.show(endpoint, 'gone', { reason: LOGIN_ENDED });
  try {
    const { searchParams } = new URL(request.url);
    const client = context.federation.clientFor(identityProvider);
    const redeemed = await client.redeemCode(searchParams, login.approvedScopes, state, secrets);
    return await completeFederatedLogin(context, callback, { identityProvider, ...redeemed });
  } catch (error) {
    return rejectCallback(context, callback, transaction, error);
  }
}

/** Sends an error to the client in our words, never in the provider's; without a transaction, shows a page. */
async function rejectCallback(
  context: PageContext,
  callback: FederatedCallback,
  transaction: BrowserTransaction | null,
  cause: unknown,
): Promise<HttpResponse> {
  const { identityProvider } = callback;
  const error = cause instanceof IdentityProviderError ? toClientError(cause) : toOAuthError(cause);
  context.events({
    type: 'federated_login.failed',
    identityProvider: identityProvider.id,
    reason: error.reason ?? error.description,
    ...(transaction !== null && { transactionId: transaction.record.id, clientId: transaction.client.id }),
  });
  if (transaction !== null && error.code !== 'invalid_request')
    return rejectTransaction(context, transaction, error);
  if (cause instanceof IdentityProviderError) return showLoginError(context, callback, cause);
  if (error.status >= 500 || error.code === 'invalid_request') throw cause;
  // The provider's session is still that user's.
  const action = {
    label: context.layout.text('code.other'),
    href: loginPath(readAccountSection(callback.login.returnTo), true),
  };
  return context.errors.show(callback.endpoint, 'login-not-allowed', { action });
}

/** The login failed, and there is no client to send an error to. */
function showLoginError(
  context: PageContext,
  { endpoint, identityProvider, login }: FederatedCallback,
  error: IdentityProviderError,
): Promise<HttpResponse> {
  const again = loginPath(readAccountSection(login.returnTo));
  if (error.code !== 'access_denied')
    return respondProviderError(context, identityProvider, error, { endpoint, restartPath: again });
  const action = { label: context.layout.text('message.try-again'), href: again };
  return context.errors.show(endpoint, 'login-declined', {
    values: { provider: identityProvider.name },
    action,
  });
}

/** @see OAuth 2.1 draft 13 §4.1.2.1 */
function toClientError(error: IdentityProviderError): OAuthError {
  const { code, message, retryAfter } = error;
  if (code === 'access_denied') {
    return new OAuthError('access_denied', 'The user declined at the identity provider.', {
      reason: message,
    });
  }
  if (isUnavailable(error)) return temporarilyUnavailable(message, retryAfter ?? DEFAULT_RETRY_AFTER);
  return new OAuthError('server_error', 'The login at the identity provider failed. Try again.', {
    reason: message,
  });
}
