/** The authorization endpoint on one page: from the parameters of GET /authorize to a page, a redirect or a code. */
import {
  type ConnectionInfo,
  type HttpRequest,
  type HttpResponse,
  queryOf,
  readFormBody,
} from '@portcullis/http';
import { AUTHORIZATION_PARAMETERS, OAuthError, type Parameters, readParameters } from '@portcullis/protocol';
import { MAX_URL_LENGTH, redirectFormToGet } from '../http/form-to-get.ts';
import { uiLocaleCookies } from '../http/language.ts';
import type { Route } from '../http/router.ts';
import { siteOf } from '../rate-limit/policies.ts';
import type { User } from '../users/sessions.ts';
import {
  checkPromptNone,
  checkPushed,
  checkRequest,
  checkSigned,
  requiresFreshLogin,
} from './check-request.ts';
import { continueTransaction } from './continue-transaction.ts';
import { type ClientRequest, rejectRequest } from './error-response.ts';
import type { PageContext, PageRouter } from './page-context.ts';
import { findRememberedConsent } from './remembered-consent.ts';
import { resolveClient, resolveRedirectTarget } from './resolve-client.ts';
import { resolveScopes } from './resolve-scopes.ts';
import { openTransaction } from './transactions.ts';

export function createAuthorizationRoutes(pages: PageRouter): readonly Route[] {
  return [
    { ...pages.route('GET', '/authorize', authorize), head: false },
    pages.route('POST', '/authorize', repeatAsGet),
  ];
}

/**
 * ```
 * readParameters → readReferences → resolveClient → resolveRedirectTarget ⇒ RedirectTarget    before it, errors are pages
 *                                                                     └▶ startTransaction    after it, errors redirect with iss
 * ```
 * @see OAuth 2.1 draft 13 §4.1.1 and §4.1.2.1, RFC 6749 §4.1.1
 */
async function authorize(
  context: PageContext,
  request: HttpRequest,
  connection: ConnectionInfo,
): Promise<HttpResponse> {
  const { options, sessions, chargeAuthorizationRequest } = context;
  const { client, parameters, isSigned, consume } = await resolveRequest(context, request, connection);
  const requestedUri = parameters.one('redirect_uri');
  const target = resolveRedirectTarget(client, requestedUri, options.redirects);
  const clientRequest: ClientRequest = { client, target, ...readErrorResponse(parameters) };
  const { user, error: sessionError } = await sessions.find(request).then(
    (found) => ({ user: found, error: null }),
    (error: unknown) => ({ user: null, error }),
  );
  await chargeAuthorizationRequest(user?.account.id ?? siteOf(connection));
  try {
    // Without a page, an outage would look like a user who has signed out.
    if (sessionError !== null && clientRequest.isSilent) throw sessionError;
    return await startTransaction(context, request, connection, {
      ...clientRequest,
      parameters,
      isSigned,
      consume,
      user,
    });
  } catch (error) {
    return rejectRequest(context, clientRequest, user, error);
  }
}

/**
 * The client and the parameters of a request: as pushed, as signed by the client, or as they are. Nothing is merged.
 * @throws OAuthError shown on a page
 * @see RFC 9126 §4, RFC 9101 §5
 */
async function resolveRequest(
  context: PageContext,
  request: HttpRequest,
  connection: ConnectionInfo,
): Promise<Pick<AuthorizationAttempt, 'client' | 'parameters' | 'isSigned' | 'consume'>> {
  const given = readParameters(queryOf(request));
  const reference = given.all('request_uri');
  const [requestUri = ''] = reference.length === 1 ? reference : [];
  const client = await resolveClient(context, given, connection);
  // If `request` is present, `request_uri` MUST NOT be. RFC 9101 §5
  if (reference.length > 0 && given.all('request').length > 0)
    throw new OAuthError('invalid_request', 'Send request or request_uri, but not both.');
  if (!context.pushedRequests.isOwn(requestUri)) {
    const parameters = await context.readRequestObject(client, given, connection);
    return { client, parameters, isSigned: given.one('request') !== undefined, consume: null };
  }
  const { clientId, parameters, consume } = context.pushedRequests.read(requestUri);
  if (clientId === client.id) return { client, parameters, isSigned: true, consume };
  throw new OAuthError('invalid_request', 'The request_uri belongs to another client.');
}

/**
 * ```
 * checkRequest → resolveScopes → findRememberedConsent → openTransaction → continueTransaction: nextStep → respond
 * ```
 * A request that a remembered consent covers gets its code at once; any other becomes a transaction, continued by POST /login,
 * the identity provider's callback and POST /consent, each of which ends in `continueTransaction`.
 */
async function startTransaction(
  context: PageContext,
  request: HttpRequest,
  connection: ConnectionInfo,
  attempt: AuthorizationAttempt,
): Promise<HttpResponse> {
  const { options, federation } = context;
  const { client, target, parameters, isSigned, consume, user } = attempt;
  checkPushed(client, consume);
  checkSigned(client, isSigned);
  if (consume !== null) await consume();
  const authorizationRequest = checkRequest(client, parameters);
  const { resource, scopes } = resolveScopes(options, client, authorizationRequest);
  const { identityProvider, isSatisfied } = await federation.resolveLoginMethod(null, user);
  const { prompt, uiLocales } = authorizationRequest;
  const signedIn = requiresFreshLogin(authorizationRequest, user, context.clock()) ? null : user;
  const accountId = isSatisfied ? (signedIn?.account.id ?? null) : null;
  const decision =
    accountId === null ||
    identityProvider !== null ||
    context.connections.neededFor(resource.resource).length > 0
      ? null
      : await findRememberedConsent(context, request, prompt, {
          accountId,
          client,
          target,
          resource,
          scopes,
        });
  checkPromptNone(prompt, signedIn, decision);
  const { transaction, cookies } = await openTransaction(context, request, {
    ...attempt,
    connection,
    authorizationRequest,
    resource: resource.resource,
    scopes,
    identityProvider,
    accountId,
    decision,
  });
  const uiLocale = uiLocaleCookies(request, uiLocales, options.issuer, options.lifetimes.transaction);
  return continueTransaction(context, transaction, [...cookies, ...uiLocale]);
}

/** An authorization request of a known client, before its parameters are checked. */
interface AuthorizationAttempt extends ClientRequest {
  readonly parameters: Parameters;
  /** Whether they are those of a request object; for a pushed request that was checked before. */
  readonly isSigned: boolean;
  /** Marks a pushed request as used; `null`: it was not pushed. */
  readonly consume: (() => Promise<void>) | null;
  /** Who is signed in in this browser. */
  readonly user: User | null;
}

/** What an error response depends on, even one about these parameters: a parameter that was sent repeatedly counts as missing. */
function readErrorResponse(parameters: Parameters): Pick<ClientRequest, 'state' | 'isSilent'> {
  const single = (name: string) => {
    const values = parameters.all(name);
    return values.length === 1 ? values[0] : undefined;
  };
  return { state: single('state'), isSilent: single('prompt') === 'none' };
}

/** The authorization server MUST support GET and MAY support POST. @see RFC 6749 §3.1 */
async function repeatAsGet({ options }: PageContext, request: HttpRequest): Promise<HttpResponse> {
  const form = await readFormBody(request);
  const response = redirectFormToGet('/authorize', AUTHORIZATION_PARAMETERS, form, options.issuer);
  if (response !== null) return response;
  const description = `The request is too long: as a query, its URL may have at most ${MAX_URL_LENGTH} octets.`;
  throw new OAuthError('invalid_request', description, { status: 413 });
}
