/** What somebody signs in for: the flow of an app, or the pages of their own account. */
import type { HttpRequest } from '@portcullis/http';
import type { Parameters } from '@portcullis/protocol';
import { respondRedirect } from '../pages/respond.ts';
import type { Situation } from '../pages/situations.ts';
import { type HomePage, homePaths } from '../pages/tabs.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import { advance, pagePath } from './advance.ts';
import { appName } from './app-name.ts';
import type { Errand } from './errand.ts';
import { findFlow } from './flows.ts';
import { leaveFor } from './leave.ts';
import type { Rooms } from './rooms.ts';

export type FoundErrand = Errand | { readonly missing: Situation };

/** Finds the errand that the parameters name: a `flow`, or else a page to go `to`. */
export async function findErrand(
  rooms: Rooms,
  request: HttpRequest,
  parameters: Parameters,
): Promise<FoundErrand> {
  return parameters.one('flow') === undefined
    ? findVisit(rooms, request, parameters)
    : findFlowErrand(rooms, request, parameters);
}

async function findFlowErrand(
  rooms: Rooms,
  request: HttpRequest,
  parameters: Parameters,
): Promise<FoundErrand> {
  const flow = await findFlow(rooms, request, parameters);
  if ('missing' in flow) return flow;
  const { id, freshLogin } = flow.transaction;
  const again = parameters.one('again') !== undefined;
  return {
    purpose: { appName: appName(flow.client, rooms.frame) },
    transactionId: id,
    fields: { flow: id },
    bound: flow.bound,
    // Who signs in by a third party is asked first, and named afterwards.
    isSignedIn: (flow.subject !== null || flow.identityProvider !== null) && !again,
    isFresh: freshLogin || again,
    path: pagePath('login', id),
    cookies: [],
    proceed: () => advance(rooms, flow),
    async proceedAs(accountId, cookies) {
      await rooms.configuration.store.signInTransaction(id, accountId);
      return advance(rooms, { ...flow, identityProvider: null, subject: accountId }, cookies);
    },
    async goTo(identityProvider) {
      await rooms.configuration.store.directTransaction(id, identityProvider.id);
      return advance(rooms, { ...flow, identityProvider, subject: null });
    },
  };
}

/** For so long after signing in one may change how one signs in. Seconds. */
export const RECENT = 900;

async function findVisit(rooms: Rooms, request: HttpRequest, parameters: Parameters): Promise<FoundErrand> {
  const { configuration, browser, sessions } = rooms;
  const carried = browser.read(request);
  if (carried === null && request.method === 'POST') return { missing: 'no-cookie' };
  const cookie = carried ?? newSecret();
  const user = await sessions.find(request);
  const to = readPage(parameters.one('to'));
  const again = parameters.one('again') === undefined ? {} : { again: 'yes' };
  const fields = { to, ...again };
  const path = loginPath(to, 'again' in again);
  const age = user === null ? Number.POSITIVE_INFINITY : configuration.clock() - user.signedInAt;
  return {
    purpose: { to: user !== null && 'again' in again ? 'once-more' : to },
    transactionId: null,
    fields,
    bound: ['visit', hashSecret(cookie), user?.sessionHash ?? ''],
    isSignedIn: 'again' in again ? age < RECENT : user !== null,
    isFresh: 'again' in again,
    path,
    cookies: carried === null ? [browser.write(cookie, configuration.lifetimes.transaction)] : [],
    proceed: async () => respondRedirect(homePaths[to]),
    proceedAs: async (_accountId, set) => respondRedirect(homePaths[to], set),
    goTo(identityProvider) {
      const errand = {
        transactionId: null,
        page: to,
        accountId: user?.account.id ?? null,
        approved: [],
        workspace: null,
        isFresh: 'again' in again,
        until: Number.MAX_SAFE_INTEGER,
      };
      return leaveFor(rooms, identityProvider, errand, {
        endpoint: `/login/${identityProvider.id}`,
        again: path,
      });
    },
  };
}

/** Where one signs in for a page of one's own. @param again even if somebody is signed in since long ago */
export function loginPath(to: HomePage, again = false): string {
  return `/login?to=${to}${again ? '&again=yes' : ''}`;
}

function readPage(name: string | undefined): HomePage {
  return name !== undefined && Object.hasOwn(homePaths, name) ? (name as HomePage) : 'connections';
}
