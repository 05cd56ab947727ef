/** Arriving from a third party: whoever it has proven is let in, and goes on with what they left for, or gets back what came. */
import type { ConnectionInfo, HttpRequest, HttpResponse } from '@portcullis/http';
import { OAuthError, readParameters } from '@portcullis/protocol';
import { isUserAllowed } from '../federation/federated-user.ts';
import type { FederatedLoginResult } from '../federation/federation.ts';
import { coveredScopes, type IdentityProvider } from '../federation/identity-provider.ts';
import type { AccountRecord, FederatedLoginRecord } from '../store/index.ts';
import { type AccountSection, accountPaths } from '../ui/account-tabs.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import { advance } from './advance.ts';
import type { Approval, FlowUnderWay } from './flow.ts';
import { type FoundFlow, findFlow } from './flows.ts';
import type { Rooms } from './rooms.ts';

/** An answer of the third party in the browser that left for it. */
export interface Return {
  readonly request: HttpRequest;
  readonly connection: ConnectionInfo;
  readonly state: string;
  readonly identityProvider: IdentityProvider;
  readonly departure: FederatedLoginRecord;
}

/** The flow that somebody left for; `null` when they left for a page of their own. */
export async function findWaiting(rooms: Rooms, { request, departure }: Return): Promise<FoundFlow | null> {
  if (departure.transactionId === null) return null;
  const named = new URLSearchParams({ flow: departure.transactionId });
  return findFlow(rooms, request, readParameters(named));
}

/** Somebody is there, proven by the third party. */
export async function arrive(
  rooms: Rooms,
  back: Return,
  arrival: FederatedLoginResult,
): Promise<HttpResponse> {
  const { configuration, sessions, upstream } = rooms;
  const { request, connection, departure, identityProvider } = back;
  const account = await admit(rooms, arrival);
  const flow = await orGiveBack(rooms, account.id, arrival, findWaiting(rooms, back));
  if (flow !== null && 'missing' in flow) {
    await upstream.discard(account.id, arrival);
    return rooms.edge.refuse(`/callback/${identityProvider.id}`, flow.missing);
  }
  const cookie = await orGiveBack(
    rooms,
    account.id,
    arrival,
    sessions.start(request, connection, account.id),
  );
  configuration.events({
    type: 'login.succeeded',
    accountId: account.id,
    identityProvider: identityProvider.id,
    ...(flow !== null && { transactionId: flow.transaction.id }),
  });
  if (flow === null) {
    // They only wanted to say who they are: what came with it is given back.
    await upstream.discard(account.id, arrival);
    return respondRedirect(accountPaths[pageOf(departure)], [cookie]);
  }
  return finish(rooms, back, { flow, account, arrival, cookie });
}

/** What came is given back to the third party when the step fails that would have kept it. */
async function orGiveBack<T>(
  { upstream }: Rooms,
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
async function admit(rooms: Rooms, arrival: FederatedLoginResult): Promise<AccountRecord> {
  const { identityProvider, user } = arrival;
  // Of whom nobody lets in, no account is made.
  const account = isUserAllowed(identityProvider.allowedUsers, user)
    ? await orGiveBack(rooms, null, arrival, rooms.upstream.linkedUsers.resolve(user, identityProvider))
    : null;
  if (account !== null && account.disabledAt === null) return account;
  await rooms.upstream.discard(account?.id ?? null, arrival);
  throw new OAuthError('access_denied', 'This person may not sign in here.', {
    reason: account === null ? 'not among the people who may sign in' : 'the account is disabled',
  });
}

interface Arrived {
  readonly flow: FlowUnderWay;
  readonly account: AccountRecord;
  readonly arrival: FederatedLoginResult;
  /** Of the session that was opened. */
  readonly cookie: string;
}

async function finish(
  rooms: Rooms,
  { departure }: Return,
  { flow, account, arrival, cookie }: Arrived,
): Promise<HttpResponse> {
  const approving = approvalOf(rooms, flow, departure, account, arrival);
  const approval = await orGiveBack(rooms, account.id, arrival, approving);
  const bond = await rooms.upstream.saveTokens(flow.transaction.id, account.id, arrival);
  if (bond === null) return rooms.edge.refuse('/callback', 'gone');
  const transaction = { ...flow.transaction, accountId: account.id, linkedGrantId: bond };
  const { identityProvider } = arrival;
  return advance(rooms, { ...flow, transaction, identityProvider, subject: account.id, approval }, [cookie]);
}

/**
 * What was allowed before leaving, as far as what came back carries it. An answer is of whoever gave it: when somebody else
 * came back, or there is a workspace to choose, the person is asked now that they are known.
 */
async function approvalOf(
  rooms: Rooms,
  { transaction }: FlowUnderWay,
  { accountId, approvedScopes: approved, workspace }: FederatedLoginRecord,
  account: AccountRecord,
  { identityProvider, given }: FederatedLoginResult,
): Promise<Approval | null> {
  if (accountId !== null && accountId !== account.id) return null;
  const [resource = ''] = transaction.resources;
  if (accountId === null && (await rooms.configuration.workspaces(account.id, resource)).length > 0)
    return null;
  const scopes = coveredScopes(identityProvider, approved, given.scopes);
  if (scopes.length === 0 && approved.length > 0) {
    throw new OAuthError('access_denied', 'The third party was not allowed what the scopes asked for need.');
  }
  return { scopes, workspace, by: 'answer' };
}

/** The page of their own that somebody left for. */
export function pageOf({ returnTo: page }: FederatedLoginRecord): AccountSection {
  return page !== null && Object.hasOwn(accountPaths, page) ? (page as AccountSection) : 'connections';
}
