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
import type { FederatedLoginResult } from '../federation/federation.ts';
import type { IdentityProvider } from '../federation/identity-provider.ts';
import type { FederatedLoginSecrets } from '../federation/provider-client.ts';
import { DEFAULT_RETRY_AFTER, IdentityProviderError, isUnavailable } from '../federation/provider-error.ts';
import type { Route } from '../routes.ts';
import { loginPath } from '../ui/account-tabs.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import { isTooLong } from './address.ts';
import { refuseFlow } from './advance.ts';
import { arrive, findWaiting, pageOf, type Return } from './arrive.ts';
import type { FlowUnderWay } from './flow.ts';
import { refuseIssue } from './leave.ts';
import { readError } from './refuse-request.ts';
import type { Rooms } from './rooms.ts';

/** Each third party answers at an address of its own. */
export function createCallbacks(rooms: Rooms): readonly Route[] {
  return [...rooms.configuration.identityProviders.values()].flatMap((identityProvider) => {
    const path = `/callback/${identityProvider.id}`;
    return [
      rooms.edge.route('GET', path, (request, connection) =>
        receive(rooms, request, connection, identityProvider),
      ),
      ...(identityProvider.responseMode === 'form_post'
        ? [rooms.edge.route('POST', path, (request) => relay(rooms, request, identityProvider))]
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
  { configuration, edge }: Rooms,
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
  return isTooLong(location, configuration.issuer)
    ? edge.refuse(path, 'response-too-long', { values: { provider } })
    : respondRedirect(location);
}

async function receive(
  rooms: Rooms,
  request: HttpRequest,
  connection: ConnectionInfo,
  identityProvider: IdentityProvider,
): Promise<HttpResponse> {
  const { logins: departures } = rooms.upstream;
  const endpoint = `/callback/${identityProvider.id}`;
  const state = readParameters(queryOf(request)).one('state');
  if (state === undefined) return rooms.edge.refuse(endpoint, 'gone');
  const departure = await departures.find(request, identityProvider, state);
  if (departure === 'unknown') return rooms.edge.refuse(endpoint, 'gone');
  // Whoever did not leave here was led here by somebody else: nothing of it is used.
  if (typeof departure === 'string') return rooms.edge.refuse(endpoint, departure);
  const answer = await goOn(rooms, { request, connection, state, identityProvider, departure });
  return withCookies(answer, [departures.clearCookie(departure)]);
}

async function goOn(rooms: Rooms, back: Return): Promise<HttpResponse> {
  const { departure, identityProvider } = back;
  const endpoint = `/callback/${identityProvider.id}`;
  // The client and its redirect URI are judged before anything is spent, and again before the last hop.
  const flow = await findWaiting(rooms, back);
  if (flow !== null && 'missing' in flow) return rooms.edge.refuse(endpoint, flow.missing);
  const secrets = await rooms.upstream.logins.consume(departure);
  if (secrets === null) return rooms.edge.refuse(endpoint, 'gone');
  try {
    const arrival = await redeem(rooms, back, secrets);
    return await arrive(rooms, back, arrival);
  } catch (error) {
    return refuse(rooms, back, flow, error);
  }
}

async function redeem(
  rooms: Rooms,
  { request, identityProvider, departure, state }: Return,
  secrets: FederatedLoginSecrets,
): Promise<FederatedLoginResult> {
  const wire = rooms.upstream.clientFor(identityProvider);
  const answer = new URL(request.url).searchParams;
  return { identityProvider, ...(await wire.redeemCode(answer, departure.approvedScopes, state, secrets)) };
}

/** What went wrong goes to the client by redirect, in our words and never in theirs; who waits for no client reads a page. */
async function refuse(
  rooms: Rooms,
  back: Return,
  flow: FlowUnderWay | null,
  cause: unknown,
): Promise<HttpResponse> {
  const { identityProvider } = back;
  const error = cause instanceof IdentityProviderError ? explain(cause) : readError(cause);
  rooms.configuration.events({
    type: 'federated_login.failed',
    identityProvider: identityProvider.id,
    reason: error.reason ?? error.description,
    ...(flow !== null && { transactionId: flow.transaction.id, clientId: flow.client.id }),
  });
  if (flow !== null && error.code !== 'invalid_request') return refuseFlow(rooms, flow, error);
  if (cause instanceof IdentityProviderError) return refuseVisit(rooms, back, cause);
  if (error.status >= 500 || error.code === 'invalid_request') throw cause;
  return rooms.edge.refuse(`/callback/${identityProvider.id}`, 'login-not-allowed');
}

/** Nobody was signed in there, and no client waits. */
function refuseVisit(
  rooms: Rooms,
  { identityProvider, departure }: Return,
  issue: IdentityProviderError,
): Promise<HttpResponse> {
  const endpoint = `/callback/${identityProvider.id}`;
  const again = loginPath(pageOf(departure));
  if (issue.code !== 'access_denied') return refuseIssue(rooms, identityProvider, issue, { endpoint, again });
  const action = { label: rooms.layout.text('message.try-again'), href: again };
  return rooms.edge.refuse(endpoint, 'login-declined', {
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
