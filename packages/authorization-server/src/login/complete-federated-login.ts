/** Arriving from a third party: whoever it has proven is let in, and goes on with what they left for, or gets back what came. */
import type { ConnectionInfo, HttpRequest, HttpResponse } from '@portcullis/http';
import { OAuthError, readParameters } from '@portcullis/protocol';
import { continueTransaction } from '../authorization/continue-transaction.ts';
import type { ConsentDecision } from '../authorization/next-step.ts';
import {
  type BrowserTransaction,
  type FoundTransaction,
  findTransaction,
  TRANSACTION_PARAMETER,
} from '../authorization/transactions.ts';
import { isUserAllowed } from '../federation/federated-user.ts';
import type { FederatedLoginResult } from '../federation/federation.ts';
import { coveredScopes, type IdentityProvider } from '../federation/identity-provider.ts';
import type { PageContext } from '../page-context.ts';
import type { AccountRecord, FederatedLoginRecord } from '../store/index.ts';
import { type AccountSection, accountPaths } from '../ui/account-tabs.ts';
import { respondRedirect } from '../ui/respond-page.ts';

/** An answer of the third party in the browser that left for it. */
export interface FederatedCallback {
  readonly request: HttpRequest;
  readonly connection: ConnectionInfo;
  readonly state: string;
  readonly identityProvider: IdentityProvider;
  readonly departure: FederatedLoginRecord;
}

/** The flow that somebody left for; `null` when they left for a page of their own. */
export async function findWaitingTransaction(
  context: PageContext,
  { request, departure }: FederatedCallback,
): Promise<FoundTransaction | null> {
  if (departure.transactionId === null) return null;
  const named = new URLSearchParams({ [TRANSACTION_PARAMETER]: departure.transactionId });
  return findTransaction(context, request, readParameters(named));
}

/** Somebody is there, proven by the third party. */
export async function completeFederatedLogin(
  context: PageContext,
  back: FederatedCallback,
  arrival: FederatedLoginResult,
): Promise<HttpResponse> {
  const { events, sessions, federation: upstream } = context;
  const { request, connection, departure, identityProvider } = back;
  const account = await admit(context, arrival);
  const transaction = await orGiveBack(context, account.id, arrival, findWaitingTransaction(context, back));
  if (transaction !== null && 'missing' in transaction) {
    await upstream.discard(account.id, arrival);
    return context.errors.refuse(`/callback/${identityProvider.id}`, transaction.missing);
  }
  const cookie = await orGiveBack(
    context,
    account.id,
    arrival,
    sessions.start(request, connection, account.id),
  );
  events({
    type: 'login.succeeded',
    accountId: account.id,
    identityProvider: identityProvider.id,
    ...(transaction !== null && { transactionId: transaction.record.id }),
  });
  if (transaction === null) {
    // They only wanted to say who they are: what came with it is tokenResponse back.
    await upstream.discard(account.id, arrival);
    return respondRedirect(accountPaths[pageOf(departure)], [cookie]);
  }
  return finish(context, back, { transaction, account, arrival, cookie });
}

/** What came is tokenResponse back to the third party when the step fails that would have kept it. */
async function orGiveBack<T>(
  { federation: upstream }: PageContext,
  accountId: string | null,
  arrival: FederatedLoginResult,
  step: Promise<T>,
): Promise<T> {
  try {
    return await step;
  } catch (error) {
    await upstream.discard(accountId, arrival);
    throw error;
  }
}

/** @throws OAuthError `access_denied` for whoever may not come in */
async function admit(context: PageContext, arrival: FederatedLoginResult): Promise<AccountRecord> {
  const { identityProvider, user } = arrival;
  // Of whom nobody lets in, no account is made.
  const account = isUserAllowed(identityProvider.allowedUsers, user)
    ? await orGiveBack(context, null, arrival, context.federation.linkedUsers.resolve(user, identityProvider))
    : null;
  if (account !== null && account.disabledAt === null) return account;
  await context.federation.discard(account?.id ?? null, arrival);
  throw new OAuthError('access_denied', 'This person may not sign in here.', {
    reason: account === null ? 'not among the people who may sign in' : 'the account is disabled',
  });
}

interface Arrived {
  readonly transaction: BrowserTransaction;
  readonly account: AccountRecord;
  readonly arrival: FederatedLoginResult;
  /** Of the session that was opened. */
  readonly cookie: string;
}

async function finish(
  context: PageContext,
  { departure }: FederatedCallback,
  { transaction, account, arrival, cookie }: Arrived,
): Promise<HttpResponse> {
  const approving = decisionOf(context, transaction, departure, account, arrival);
  const decision = await orGiveBack(context, account.id, arrival, approving);
  const bond = await context.federation.saveTokens(transaction.record.id, account.id, arrival);
  if (bond === null) return context.errors.refuse('/callback', 'gone');
  const record = { ...transaction.record, accountId: account.id, linkedGrantId: bond };
  const { identityProvider } = arrival;
  return continueTransaction(
    context,
    { ...transaction, record, identityProvider, accountId: account.id, decision },
    [cookie],
  );
}

/**
 * What was allowed before leaving, as far as what came back carries it. An answer is of whoever gave it: when somebody else
 * came back, or there is a workspace to choose, the person is asked now that they are known.
 */
async function decisionOf(
  context: PageContext,
  { record: transaction }: BrowserTransaction,
  { accountId, approvedScopes: approved, workspace }: FederatedLoginRecord,
  account: AccountRecord,
  { identityProvider, tokenResponse }: FederatedLoginResult,
): Promise<ConsentDecision | null> {
  if (accountId !== null && accountId !== account.id) return null;
  const [resource = ''] = transaction.resources;
  if (accountId === null && (await context.options.workspaces(account.id, resource)).length > 0) return null;
  const scopes = coveredScopes(identityProvider, approved, tokenResponse.scopes);
  if (scopes.length === 0 && approved.length > 0) {
    throw new OAuthError('access_denied', 'The third party was not allowed what the scopes asked for need.');
  }
  return { scopes, workspace, source: 'user' };
}

/** The page of their own that somebody left for. */
export function pageOf({ returnTo: page }: FederatedLoginRecord): AccountSection {
  return page !== null && Object.hasOwn(accountPaths, page) ? (page as AccountSection) : 'connections';
}
