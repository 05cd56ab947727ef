/** The authorization endpoint: from the parameters of a request to an open transaction, or a refusal. */
import {
  type ConnectionInfo,
  type HttpRequest,
  type HttpResponse,
  queryOf,
  readFormBody,
} from '@portcullis/http';
import {
  type AuthorizationRequest,
  checkAuthorizationRequest,
  checkRedirectUri,
  OAuthError,
  type Parameters,
  readParameters,
} from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { Route } from '../http/router.ts';
import { exceedsUrlLimit, MAX_URL_LENGTH } from '../http/url-limit.ts';
import type { PageContext } from '../page-context.ts';
import { networkOf } from '../rate-limit/policies.ts';
import { hashSecret, newIdentifier, newSecret } from '../secrets.ts';
import type { AuthorizationTransactionRecord } from '../store/index.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import type { User } from '../users/sessions.ts';
import { type ClientRequest, rejectRequest } from './error-response.ts';
import { advance } from './issue-code.ts';
import { subjectOf } from './next-step.ts';
import { findRememberedConsent } from './recall.ts';
import { maximumScopeOf, resolveScopes } from './resolve-scopes.ts';
import type { ConsentDecision } from './transaction.ts';

export function createAuthorize(context: PageContext): readonly Route[] {
  const { chargeAuthorizationRequest, errors, sessions } = context;
  return [
    errors.route('GET', '/authorize', async (request, connection) => {
      const parameters = readParameters(queryOf(request));
      const admitted = await admit(context, parameters, connection);
      const user = await sessions.find(request).catch(() => null);
      await chargeAuthorizationRequest(user?.account.id ?? networkOf(connection));
      try {
        return await open(context, request, { ...admitted, parameters, user });
      } catch (error) {
        return rejectRequest(context, admitted, user, error);
      }
    }),
    errors.route('POST', '/authorize', async (request) => {
      const location = `/authorize?${repeat(await readFormBody(request))}`;
      if (exceedsUrlLimit(location, context.options.issuer)) throw tooLong();
      return respondRedirect(location);
    }),
  ];
}

function tooLong(): OAuthError {
  return new OAuthError(
    'invalid_request',
    `Ask with less: as a query, the request may not make an address of more than ${MAX_URL_LENGTH} octets.`,
    { status: 413 },
  );
}

/** Before this judgement every error is a page: there is nowhere to redirect to yet. @see OAuth 2.1 draft 13 §4.1.2.1 */
async function admit(
  { options, findClient }: PageContext,
  parameters: Parameters,
  connection: ConnectionInfo,
): Promise<ClientRequest> {
  const client = await findClient(parameters.required('client_id'), 'start', networkOf(connection));
  if (client === null)
    throw new OAuthError('invalid_client', 'The client_id is unknown: register the client first.');
  const requested = parameters.one('redirect_uri');
  const target = checkRedirectUri(client.metadata.redirect_uris, requested, options.redirects);
  return { client, target, state: readState(parameters) };
}

/** The state that a response carries, even one that says that the state was at fault. */
function readState(parameters: Parameters): string | undefined {
  const states = parameters.all('state');
  return states.length === 1 ? states[0] : undefined;
}

interface Beginning extends ClientRequest {
  readonly parameters: Parameters;
  readonly user: User | null;
}

/** Judges what is asked for, opens its transaction, and shows the first page; who answered before gets a code at once. */
async function open(context: PageContext, request: HttpRequest, beginning: Beginning): Promise<HttpResponse> {
  const { options, store, events, transactionCookie: browser } = context;
  const { client, target, user } = beginning;
  if (!client.metadata.grant_types.includes('authorization_code')) {
    throw new OAuthError(
      'unauthorized_client',
      'This client is not registered for the grant authorization_code.',
    );
  }
  const asked = checkAuthorizationRequest(beginning.parameters);
  const { resource, scopes } = resolveScopes(
    options.resources,
    asked,
    maximumScopeOf(client, options.registration?.scope ?? 'hint'),
  );
  const { identityProvider, isSatisfied: admits } = await context.federation.resolveLoginMethod(null, user);
  const isFresh = asked.prompt.has('login') || asked.prompt.has('select_account');
  const decision =
    user === null || !admits || identityProvider !== null || isFresh || asked.prompt.has('consent')
      ? null
      : await findRememberedConsent(context, request, {
          accountId: user.account.id,
          client,
          target,
          resource,
          scopes,
        });
  checkSilent(asked, user, decision);

  const cookie = browser.read(request) ?? newSecret();
  const transaction = beginTransaction(context, beginning, {
    asked,
    scopes,
    resource: resource.resource,
    browserHash: hashSecret(cookie),
    accountId: isFresh ? null : (user?.account.id ?? null),
    forceLogin: isFresh,
  });
  const subject = subjectOf(transaction, admits ? (user?.account.id ?? null) : null);
  // What is answered from memory ends with this very request: nobody comes back to it.
  if (decision === null) await store.openTransaction(transaction);
  events({
    type: 'authorization.started',
    transactionId: transaction.id,
    clientId: client.id,
    resource: resource.resource,
    scopes,
  });
  const setCookie = browser.write(cookie, options.lifetimes.transaction);
  const cookies = decision === null ? [setCookie] : [];
  return advance(
    context,
    { record: transaction, client, target, identityProvider, accountId: subject, decision },
    cookies,
  );
}

interface Judged
  extends Pick<AuthorizationTransactionRecord, 'scopes' | 'browserHash' | 'accountId' | 'forceLogin'> {
  readonly asked: AuthorizationRequest;
  readonly resource: string;
}

/** What was asked for, with nothing answered yet. */
function beginTransaction(
  { clock, options: { lifetimes } }: ServerContext,
  { client, target, parameters }: Beginning,
  { asked, resource, ...judged }: Judged,
): AuthorizationTransactionRecord {
  const createdAt = clock();
  return {
    ...judged,
    id: newIdentifier('flow'),
    clientId: client.id,
    redirectUri: target.uri,
    redirectUriSent: parameters.one('redirect_uri') !== undefined,
    state: asked.state ?? null,
    codeChallenge: asked.codeChallenge,
    resources: [resource],
    approvedScopes: null,
    identityProvider: null,
    linkedGrantId: null,
    createdAt,
    expiresAt: createdAt + lifetimes.transaction,
  };
}

/** `prompt=none` asks for an answer without any page: only what is remembered can be one. */
function checkSilent(
  { prompt }: AuthorizationRequest,
  user: User | null,
  decision: ConsentDecision | null,
): void {
  if (!prompt.has('none') || decision !== null) return;
  throw user === null
    ? new OAuthError('login_required', 'Nobody is signed in: ask again without prompt=none.')
    : new OAuthError('consent_required', 'The person has to be asked: ask again without prompt=none.');
}

const PARAMETERS = [
  'client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state', 'code_challenge',
  'code_challenge_method', 'resource', 'prompt', 'request', 'request_uri',
]; // biome-ignore format: one list

/** A posted request comes from another site without its cookies; repeated as a GET, it comes with them. */
function repeat(parameters: Parameters): string {
  const pairs = PARAMETERS.flatMap((name) =>
    parameters.all(name).map((value): [string, string] => [name, value]),
  );
  return new URLSearchParams(pairs).toString();
}
