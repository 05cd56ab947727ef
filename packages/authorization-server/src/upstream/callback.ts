/** Coming back from a third party: the browser, the state and the answer are judged, and whoever it is goes on where they left. */
import { type Answer, type Asked, queryOf, readForm, withCookies } from '@portcullis/http';
import { OAuthError, type Parameters, readParameters, unavailable } from '@portcullis/protocol';
import { advance, refuseFlow } from '../authorize/advance.ts';
import { loginPath } from '../authorize/errands.ts';
import type { Approval, FlowUnderWay } from '../authorize/flow.ts';
import { findFlow } from '../authorize/flows.ts';
import { refuseFault } from '../authorize/leave.ts';
import { readError } from '../authorize/refuse-request.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { respondRedirect } from '../pages/respond.ts';
import { type HomePage, homePaths } from '../pages/tabs.ts';
import type { AccountRecord, DepartureRecord } from '../ports/index.ts';
import type { Peer, Route } from '../routes.ts';
import { COME_AGAIN_AFTER, isAway, ThirdPartyFault } from './fault.ts';
import { isAdmitted } from './person.ts';
import { carriedScopes, type ThirdParty } from './third-party.ts';
import type { Arrival } from './upstream.ts';
import type { DepartureSecrets } from './wire.ts';

/** An answer of the third party in the browser that left for it. */
interface Return {
  readonly request: Asked;
  readonly peer: Peer;
  readonly parameters: Parameters;
  readonly state: string;
  readonly thirdParty: ThirdParty;
  readonly departure: DepartureRecord;
}

/** Each third party answers at an address of its own. */
export function createCallbacks(rooms: Rooms): readonly Route[] {
  return [...rooms.configuration.thirdParties.values()].flatMap((thirdParty) => {
    const path = `/callback/${thirdParty.id}`;
    return [
      rooms.edge.route('GET', path, (request, peer) => receive(rooms, request, peer, thirdParty)),
      ...(thirdParty.responseMode === 'form_post'
        ? [rooms.edge.route('POST', path, (request) => relay(rooms, request, thirdParty))]
        : []),
    ];
  });
}

/** What an authorization response consists of; whatever else is posted goes nowhere. */
const ANSWER = ['code', 'state', 'iss', 'error'];

/**
 * Octets of an address. All recipients SHOULD support as many, so whatever stands before this server lets it through.
 * @see RFC 9110 §4.1
 */
const LONGEST_ADDRESS = 8_000;

/**
 * An answer as a form, which another site made this browser post: without our cookies, for they stay `SameSite=Lax`. Nothing is
 * read of it. The browser is sent to the same address by GET, as if the answer had come by query, and judged there.
 * @see OAuth 2.0 Form Post Response Mode §4, RFC 6265bis §5.6.7.1
 */
async function relay(
  { configuration, edge }: Rooms,
  request: Asked,
  { id, name: provider }: ThirdParty,
): Promise<Answer> {
  const path = `/callback/${id}`;
  const form = await readForm(request);
  const query = new URLSearchParams();
  for (const name of ANSWER) {
    const value = form.one(name);
    if (value !== undefined) query.set(name, value);
  }
  const location = `${path}?${query}`;
  const { length } = new URL(location, configuration.issuer).href;
  return length > LONGEST_ADDRESS
    ? edge.refuse(path, 'long-answer', { values: { provider } })
    : respondRedirect(location);
}

async function receive(rooms: Rooms, request: Asked, peer: Peer, thirdParty: ThirdParty): Promise<Answer> {
  const { departures } = rooms.upstream;
  const endpoint = `/callback/${thirdParty.id}`;
  const parameters = readParameters(queryOf(request));
  const state = parameters.one('state');
  if (state === undefined) return rooms.edge.refuse(endpoint, 'gone');
  const departure = await departures.find(request, thirdParty, state);
  if (departure === 'unknown') return rooms.edge.refuse(endpoint, 'gone');
  // Whoever did not leave here was led here by somebody else: nothing of it is used.
  if (typeof departure === 'string') return rooms.edge.refuse(endpoint, departure);
  const answer = await goOn(rooms, { request, peer, parameters, state, thirdParty, departure });
  return withCookies(answer, [departures.forget(departure)]);
}

async function goOn(rooms: Rooms, back: Return): Promise<Answer> {
  const { departure, thirdParty } = back;
  const endpoint = `/callback/${thirdParty.id}`;
  // The client and its redirect URI are judged before anything is spent, and again before the last hop.
  const flow = await findWaiting(rooms, back);
  if (flow !== null && 'missing' in flow) return rooms.edge.refuse(endpoint, flow.missing);
  const secrets = await rooms.upstream.departures.take(departure);
  if (secrets === null) return rooms.edge.refuse(endpoint, 'gone');
  try {
    const arrival = await redeem(rooms, back, secrets);
    return await arrive(rooms, back, arrival);
  } catch (error) {
    return refuse(rooms, back, flow, error);
  }
}

async function findWaiting(rooms: Rooms, { request, departure }: Return) {
  if (departure.transactionId === null) return null;
  const named = new URLSearchParams({ flow: departure.transactionId });
  return findFlow(rooms, request, readParameters(named));
}

async function redeem(
  rooms: Rooms,
  { request, thirdParty, departure, state }: Return,
  secrets: DepartureSecrets,
): Promise<Arrival> {
  const wire = rooms.upstream.wireOf(thirdParty);
  const answer = new URL(request.url).searchParams;
  return { thirdParty, ...(await wire.redeem(answer, departure.approved, state, secrets)) };
}

/** Somebody is there, proven by the third party. */
async function arrive(rooms: Rooms, back: Return, arrival: Arrival): Promise<Answer> {
  const { configuration, sessions, upstream } = rooms;
  const { request, peer, departure, thirdParty } = back;
  const account = await admit(rooms, arrival);
  const flow = await orGiveBack(rooms, account.id, arrival, findWaiting(rooms, back));
  if (flow !== null && 'missing' in flow) {
    await upstream.discard(account.id, arrival);
    return rooms.edge.refuse(`/callback/${thirdParty.id}`, flow.missing);
  }
  const cookie = await orGiveBack(rooms, account.id, arrival, sessions.open(request, peer, account.id));
  configuration.events({ type: 'account.signed-in', accountId: account.id, thirdParty: thirdParty.id });
  if (flow === null) {
    // They only wanted to say who they are: what came with it is given back.
    await upstream.discard(account.id, arrival);
    return respondRedirect(homePaths[pageOf(departure)], [cookie]);
  }
  return finish(rooms, back, { flow, account, arrival, cookie });
}

/** What came is given back to the third party when the step fails that would have kept it. */
async function orGiveBack<T>(
  { upstream }: Rooms,
  accountId: string | null,
  arrival: Arrival,
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
async function admit(rooms: Rooms, arrival: Arrival): Promise<AccountRecord> {
  const { thirdParty, person } = arrival;
  // Of whom nobody lets in, no account is made.
  const account = isAdmitted(thirdParty.people, person)
    ? await orGiveBack(rooms, null, arrival, rooms.upstream.people.resolve(person, thirdParty))
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
  readonly arrival: Arrival;
  /** Of the session that was opened. */
  readonly cookie: string;
}

async function finish(
  rooms: Rooms,
  { departure }: Return,
  { flow, account, arrival, cookie }: Arrived,
): Promise<Answer> {
  const approving = approvalOf(rooms, flow, departure, account, arrival);
  const approval = await orGiveBack(rooms, account.id, arrival, approving);
  const bond = await rooms.upstream.bind(flow.transaction.id, account.id, arrival);
  if (bond === null) return rooms.edge.refuse('/callback', 'gone');
  const transaction = { ...flow.transaction, accountId: account.id, bond };
  const { thirdParty } = arrival;
  return advance(rooms, { ...flow, transaction, thirdParty, subject: account.id, approval }, [cookie]);
}

/**
 * What was allowed before leaving, as far as what came back carries it. An answer is of whoever gave it: when somebody else
 * came back, or there is a workspace to choose, the person is asked now that they are known.
 */
async function approvalOf(
  rooms: Rooms,
  { transaction }: FlowUnderWay,
  { accountId, approved, workspace }: DepartureRecord,
  account: AccountRecord,
  { thirdParty, given }: Arrival,
): Promise<Approval | null> {
  if (accountId !== null && accountId !== account.id) return null;
  const [resource = ''] = transaction.resources;
  if (accountId === null && (await rooms.configuration.workspaces(account.id, resource)).length > 0)
    return null;
  const scopes = carriedScopes(thirdParty, approved, given.scopes);
  if (scopes.length === 0 && approved.length > 0) {
    throw new OAuthError('access_denied', 'The third party was not allowed what the scopes asked for need.');
  }
  return { scopes, workspace, by: 'answer' };
}

function pageOf({ page }: DepartureRecord): HomePage {
  return page !== null && Object.hasOwn(homePaths, page) ? (page as HomePage) : 'connections';
}

/** What went wrong goes to the client by redirect, in our words and never in theirs; who waits for no client reads a page. */
async function refuse(
  rooms: Rooms,
  back: Return,
  flow: FlowUnderWay | null,
  cause: unknown,
): Promise<Answer> {
  const { thirdParty } = back;
  const error = cause instanceof ThirdPartyFault ? explain(cause) : readError(cause);
  rooms.configuration.events({
    type: 'third-party.refused',
    thirdParty: thirdParty.id,
    reason: error.reason ?? error.description,
    ...(flow !== null && { flowId: flow.transaction.id, clientId: flow.client.id }),
  });
  if (flow !== null && error.code !== 'invalid_request') return refuseFlow(rooms, flow, error);
  if (cause instanceof ThirdPartyFault) return refuseVisit(rooms, back, cause);
  if (error.status >= 500 || error.code === 'invalid_request') throw cause;
  return rooms.edge.refuse(`/callback/${thirdParty.id}`, 'no-entry');
}

/** Nobody was signed in there, and no client waits. */
function refuseVisit(
  rooms: Rooms,
  { thirdParty, departure }: Return,
  fault: ThirdPartyFault,
): Promise<Answer> {
  const endpoint = `/callback/${thirdParty.id}`;
  const again = loginPath(pageOf(departure));
  if (fault.code !== 'access_denied') return refuseFault(rooms, thirdParty, fault, { endpoint, again });
  const action = { label: rooms.frame.text('notice.again'), href: again };
  return rooms.edge.refuse(endpoint, 'declined-there', { values: { provider: thirdParty.name }, action });
}

/** @see OAuth 2.1 draft 13 §4.1.2.1 */
function explain(fault: ThirdPartyFault): OAuthError {
  const { code, message, retryAfter } = fault;
  if (code === 'access_denied') {
    return new OAuthError('access_denied', 'The person declined at the third party.', { reason: message });
  }
  if (isAway(fault)) return unavailable(message, retryAfter ?? COME_AGAIN_AFTER);
  return new OAuthError('server_error', 'Signing in at the third party did not succeed. Try again.', {
    reason: message,
  });
}
