/** Authorization transactions: opened by GET /authorize, saved in the store, and bound to the browser that opened them. */
import type { ConnectionInfo, HttpRequest } from '@portcullis/http';
import {
  type AuthorizationRequest,
  OAuthError,
  type Parameters,
  type RedirectTarget,
  type Scopes,
  type UserAuthentication,
} from '@portcullis/protocol';
import type { ResolvedClient } from '../clients/client.ts';
import type { ServerContext } from '../context.ts';
import { stateContext } from '../encryption/encryptor.ts';
import type { IdentityProvider } from '../federation/provider/identity-provider.ts';
import type { MissingTransaction } from '../http/error-pages.ts';
import { MAX_OPEN_TRANSACTIONS, MAX_TRANSACTION_OCTETS } from '../rate-limit/policies.ts';
import { createSiteQuota, type SiteQuota } from '../rate-limit/site-quota.ts';
import { hashSecret, matchesSecret, newIdentifier, newSecret } from '../secrets.ts';
import type { AuthorizationTransactionRecord } from '../store/index.ts';
import type { User } from '../users/sessions.ts';
import { authenticationOf, requiresFreshLogin } from './check-request.ts';
import type { ClientRequest } from './error-response.ts';
import { actingAccountOf, type ConsentDecision } from './next-step.ts';
import type { PageContext } from './page-context.ts';
import { restoreTarget } from './resolve-client.ts';

/** An authorization transaction: its record with everything that was proven about it. */
export interface AuthorizationTransaction {
  readonly record: AuthorizationTransactionRecord;
  /** The `state` parameter. */
  readonly state: string | undefined;
  readonly client: ResolvedClient;
  readonly target: RedirectTarget;
  /** Where the user logs in; `null`: with a local account. */
  readonly identityProvider: IdentityProvider | null;
  /** The account that acts; `null` until a user has logged in for this transaction. */
  readonly accountId: string | null;
  /** What the user allowed; `null` until then. */
  readonly decision: ConsentDecision | null;
  /** How and when the user signed in; `null`: not known, or not yet. */
  readonly authentication: UserAuthentication | null;
}

/** An authorization transaction in the browser that opened it. */
export interface BrowserTransaction extends AuthorizationTransaction {
  /** Who is signed in in this browser, whether or not for this transaction. */
  readonly user: User | null;
  /** What the CSRF tokens of its forms are bound to. */
  readonly csrfBinding: readonly string[];
}

export type FoundTransaction = BrowserTransaction | MissingTransaction;

/** The query and form parameter that names a transaction. */
export const TRANSACTION_PARAMETER = 'flow';

/** The page of a transaction. */
export function pagePath(page: 'login' | 'consent', transactionId: string): string {
  return `/${page}?${TRANSACTION_PARAMETER}=${encodeURIComponent(transactionId)}`;
}

interface CheckedRequest extends Pick<ClientRequest, 'client' | 'target'> {
  readonly parameters: Parameters;
  readonly authorizationRequest: AuthorizationRequest;
  readonly resource: string;
  readonly scopes: Scopes;
  readonly user: User | null;
  readonly identityProvider: IdentityProvider | null;
  /** The signed-in account, if it may act here. */
  readonly accountId: string | null;
  readonly decision: ConsentDecision | null;
  readonly connection: ConnectionInfo;
}

/** Transactions in which no user has signed in: anyone can open them, and each occupies a row until it expires. */
export function createTransactionQuota(context: ServerContext): SiteQuota {
  const { store, clock } = context;
  return createSiteQuota(context, {
    max: MAX_OPEN_TRANSACTIONS,
    purpose: 'networks of authorization requests',
    count: () => store.countAnonymousTransactions(clock()),
    countBySite: () => store.countAnonymousTransactionsByNetwork(clock()),
    rows: 'authorization requests without a user',
    exhausted: 'Too many users are signing in. Try again later.',
    retryAfter: 60,
  });
}

/**
 * Opens a transaction, bound to this browser by a cookie. With a remembered consent it ends within this request: then
 * neither a record nor a cookie is stored.
 * @throws OAuthError `invalid_request` if it is too large, 429 or 503 if too many are open
 */
export async function openTransaction(
  context: PageContext,
  request: HttpRequest,
  checked: CheckedRequest,
): Promise<{ readonly transaction: AuthorizationTransaction; readonly cookies: readonly string[] }> {
  const { events, options, browserCookies, encryptor } = context;
  const { client, target, identityProvider, decision } = checked;
  const secret = decision === null ? (browserCookies.read(request)[0] ?? newSecret()) : null;
  const record = createRecord(context, checked, secret);
  const { state } = checked.authorizationRequest;
  if (decision === null) {
    // Some clients put tokens or addresses into their state, so it is not stored in clear.
    const encryptedState =
      state === undefined ? null : encryptor.encryptText(Buffer.from(state), stateContext(record.id));
    await save(context, { ...record, encryptedState }, checked);
  }
  const { resource, scopes } = checked;
  events({
    type: 'authorization.started',
    transactionId: record.id,
    clientId: client.id,
    resource,
    scopes,
  });
  const accountId = actingAccountOf(record, checked.accountId);
  return {
    transaction: {
      record,
      state,
      client,
      target,
      identityProvider,
      accountId,
      decision,
      authentication: authenticationOf(checked.user),
    },
    cookies: secret === null ? [] : browserCookies.write(request, secret, options.lifetimes.transaction),
  };
}

/** Stores a transaction, of a browser without a session within the quota of its site. */
async function save(
  { store, transactionQuota }: PageContext,
  record: AuthorizationTransactionRecord,
  { user, connection, authorizationRequest: { state = '' } }: CheckedRequest,
): Promise<void> {
  const { clientId, redirectUri, acrValues = [] } = record;
  if (Buffer.byteLength([clientId, redirectUri, state, ...acrValues].join(' ')) > MAX_TRANSACTION_OCTETS) {
    const description = `client_id, redirect_uri, state and acr_values may have ${MAX_TRANSACTION_OCTETS} octets together.`;
    throw new OAuthError('invalid_request', description);
  }
  if (user !== null || transactionQuota === null) return store.openTransaction(record, null);
  await transactionQuota.run(connection, (site) => store.openTransaction(record, site ?? ''));
}

/** @param secret of the browser that the transaction is bound to; `null`: it ends within its request */
function createRecord(
  { clock, options }: Pick<PageContext, 'clock' | 'options'>,
  checked: CheckedRequest,
  secret: string | null,
): AuthorizationTransactionRecord {
  const { client, target, parameters, authorizationRequest, resource, scopes, user } = checked;
  const forceLogin = requiresFreshLogin(authorizationRequest, user, clock());
  const createdAt = clock();
  return {
    id: newIdentifier('flow'),
    browserHash: secret === null ? '' : hashSecret(secret),
    clientId: client.id,
    redirectUri: target.uri,
    redirectUriSent: parameters.one('redirect_uri') !== undefined,
    encryptedState: null,
    codeChallenge: authorizationRequest.codeChallenge,
    keyThumbprint: authorizationRequest.keyThumbprint,
    ...(authorizationRequest.acrValues.length > 0 && { acrValues: authorizationRequest.acrValues }),
    resources: [resource],
    scopes,
    accountId: forceLogin ? null : (user?.account.id ?? null),
    forceLogin,
    approvedScopes: null,
    identityProvider: null,
    linkedGrantId: null,
    createdAt,
    expiresAt: createdAt + options.lifetimes.transaction,
  };
}

/** As `createRecord` generates them. */
const TRANSACTION_ID = /^flow_[\w-]{20,40}$/;

/**
 * Finds the transaction that a request names. It is bound to the browser that opened it, so that a link sent to another
 * user (session fixation) reveals nothing and decides nothing.
 * @throws OAuthError `invalid_request` when the client no longer has the redirect URI
 */
export async function findTransaction(
  context: PageContext,
  request: HttpRequest,
  id: string | undefined,
): Promise<FoundTransaction> {
  const { store, clock, options, browserCookies, sessions, federation } = context;
  if (id === undefined) return { missing: 'no-transaction' };
  const record = await store.findTransaction(id, clock());
  if (record === null) {
    const reason = `the authorization transaction was completed, or expired after ${options.lifetimes.transaction} seconds`;
    return { missing: 'gone', reason, ...(TRANSACTION_ID.test(id) && { facts: { transactionId: id } }) };
  }
  const facts = { transactionId: record.id, clientId: record.clientId };
  const restored = decryptState(context, record);
  if (restored === null) {
    const reason = 'its state cannot be decrypted with the master key or a previous one';
    return { missing: 'gone', reason, facts };
  }
  const secrets = browserCookies.read(request);
  if (secrets.length === 0) return { missing: 'no-cookie', facts };
  if (!secrets.some((secret) => matchesSecret(secret, record.browserHash)))
    return { missing: 'other-browser', facts };

  const clientRequest = await restoreClientRequest(context, record);
  if (clientRequest === null) return { missing: 'unknown-app', facts };
  const user = await sessions.find(request);
  const { identityProvider, isSatisfied } = await federation.resolveLoginMethod(
    record.identityProvider,
    user,
  );
  const signedIn = isSatisfied ? (user?.account.id ?? null) : null;
  return {
    record,
    ...restored,
    ...clientRequest,
    user,
    identityProvider,
    accountId: actingAccountOf(record, signedIn),
    decision: null,
    authentication: authenticationOf(user),
    // With the digest, a decision about one version of the client's metadata document does not apply to another.
    csrfBinding: [record.id, record.browserHash, user?.sessionHash ?? '', clientRequest.client.digest ?? ''],
  };
}

/** Proves client and redirect URI again: both may have changed since the transaction was opened. */
async function restoreClientRequest(
  { findClient, options }: Pick<PageContext, 'options' | 'findClient'>,
  { clientId, redirectUri }: AuthorizationTransactionRecord,
): Promise<Pick<ClientRequest, 'client' | 'target'> | null> {
  const client = await findClient(clientId, 'resume');
  if (client === null) return null;
  return { client, target: restoreTarget(client, redirectUri, options) };
}

/** The state of a stored transaction; `null` if it was encrypted under a master key that this process does not have. */
function decryptState(
  { encryptor }: Pick<PageContext, 'encryptor'>,
  { id, encryptedState }: AuthorizationTransactionRecord,
): Pick<AuthorizationTransaction, 'state'> | null {
  if (encryptedState === null) return { state: undefined };
  const state = encryptor.decryptText(encryptedState, stateContext(id));
  return state && { state: state.toString() };
}
