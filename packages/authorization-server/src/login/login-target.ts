/** What somebody signs in for, as the pages and hands of signing in know it. */

import type { HttpRequest, HttpResponse } from '@portcullis/http';
import type { Parameters } from '@portcullis/protocol';
import { advance, pagePath } from '../authorize/advance.ts';
import { appName } from '../authorize/app-name.ts';
import { findFlow } from '../authorize/flows.ts';
import { leaveFor } from '../authorize/leave.ts';
import type { Rooms } from '../authorize/rooms.ts';
import type { IdentityProvider } from '../federation/identity-provider.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import { type AccountSection, accountPaths, loginPath } from '../ui/account-tabs.ts';
import type { ErrorPage } from '../ui/error-pages.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import type { LoginPurpose } from './login-view.ts';

/** An errand in the browser that sent the request. */
export interface LoginTarget {
  /** The app that waits, or the page of their own account that somebody comes for. */
  readonly purpose: LoginPurpose;
  /** The authorization request that waits; `null`: none does. */
  readonly transactionId: string | null;
  /** What a form carries so that the errand is found again. */
  readonly fields: Readonly<Record<string, string>>;
  /** What forms of this errand in this browser are bound to. */
  readonly binding: readonly string[];
  /** Whether whoever has to be signed in is. */
  readonly isSignedIn: boolean;
  /** Whether they have to show anew who they are, signed in or not. */
  readonly requiresFreshLogin: boolean;
  /** Where one begins again. */
  readonly restartPath: string;
  /** Cookies that the page has to set. */
  readonly cookies: readonly string[];
  /** Goes on, for the person that is signed in. */
  resume(): Promise<HttpResponse>;
  /** Goes on for somebody who has just signed in, by a session whose cookie has to be set, maybe with others. */
  resumeAs(accountId: string, cookies: readonly string[]): Promise<HttpResponse>;
  /** Goes on for somebody who chose to sign in by a third party. */
  startFederatedLogin(identityProvider: IdentityProvider): Promise<HttpResponse>;
}

export type FoundLoginTarget = LoginTarget | { readonly missing: ErrorPage };

/** Finds the errand that the parameters name: a `flow`, or else a page to go `to`. */
export async function findLoginTarget(
  rooms: Rooms,
  request: HttpRequest,
  parameters: Parameters,
): Promise<FoundLoginTarget> {
  return parameters.one('flow') === undefined
    ? findAccountPageTarget(rooms, request, parameters)
    : findTransactionTarget(rooms, request, parameters);
}

async function findTransactionTarget(
  rooms: Rooms,
  request: HttpRequest,
  parameters: Parameters,
): Promise<FoundLoginTarget> {
  const flow = await findFlow(rooms, request, parameters);
  if ('missing' in flow) return flow;
  const { id, forceLogin } = flow.transaction;
  const again = parameters.one('again') !== undefined;
  return {
    purpose: { appName: appName(flow.client, rooms.layout) },
    transactionId: id,
    fields: { flow: id },
    binding: flow.bound,
    // Who signs in by a third party is asked first, and named afterwards.
    isSignedIn: (flow.subject !== null || flow.identityProvider !== null) && !again,
    requiresFreshLogin: forceLogin || again,
    restartPath: pagePath('login', id),
    cookies: [],
    resume: () => advance(rooms, flow),
    async resumeAs(accountId, cookies) {
      await rooms.configuration.store.setTransactionAccount(id, accountId);
      return advance(rooms, { ...flow, identityProvider: null, subject: accountId }, cookies);
    },
    async startFederatedLogin(identityProvider) {
      await rooms.configuration.store.setTransactionIdentityProvider(id, identityProvider.id);
      return advance(rooms, { ...flow, identityProvider, subject: null });
    },
  };
}

/** For so long after signing in one may change how one signs in. Seconds. */
export const RECENT_LOGIN_SECONDS = 900;

async function findAccountPageTarget(
  rooms: Rooms,
  request: HttpRequest,
  parameters: Parameters,
): Promise<FoundLoginTarget> {
  const { configuration, browser, sessions } = rooms;
  const carried = browser.read(request);
  if (carried === null && request.method === 'POST') return { missing: 'no-cookie' };
  const cookie = carried ?? newSecret();
  const user = await sessions.find(request);
  const to = readAccountSection(parameters.one('to'));
  const again = parameters.one('again') === undefined ? {} : { again: 'yes' };
  const fields = { to, ...again };
  const path = loginPath(to, 'again' in again);
  const age = user === null ? Number.POSITIVE_INFINITY : configuration.clock() - user.signedInAt;
  return {
    purpose: { to: user !== null && 'again' in again ? 'once-more' : to },
    transactionId: null,
    fields,
    binding: ['visit', hashSecret(cookie), user?.sessionHash ?? ''],
    isSignedIn: 'again' in again ? age < RECENT_LOGIN_SECONDS : user !== null,
    requiresFreshLogin: 'again' in again,
    restartPath: path,
    cookies: carried === null ? [browser.write(cookie, configuration.lifetimes.transaction)] : [],
    resume: async () => respondRedirect(accountPaths[to]),
    resumeAs: async (_accountId, set) => respondRedirect(accountPaths[to], set),
    startFederatedLogin(identityProvider) {
      const loginTarget = {
        transactionId: null,
        returnTo: to,
        accountId: user?.account.id ?? null,
        approvedScopes: [],
        workspace: null,
        isFresh: 'again' in again,
        until: Number.MAX_SAFE_INTEGER,
      };
      return leaveFor(rooms, identityProvider, loginTarget, {
        endpoint: `/login/${identityProvider.id}`,
        again: path,
      });
    },
  };
}

function readAccountSection(name: string | undefined): AccountSection {
  return name !== undefined && Object.hasOwn(accountPaths, name) ? (name as AccountSection) : 'connections';
}
