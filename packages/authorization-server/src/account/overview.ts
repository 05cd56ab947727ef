/** A person's own account: where they are signed in, and signing out there. */

import type { Rooms } from '../authorize/rooms.ts';
import { hasLocalLogin } from '../login/has-local-login.ts';
import type { Route } from '../routes.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import type { Passkeys } from '../users/passkeys.ts';
import type { SecondFactors } from '../users/second-factors.ts';
import { createAccountRoutes } from './account-routes.ts';
import { accountNoticePath, readAccountNotice } from './notices.ts';
import { accountPage, type LoginSettings } from './overview-view.ts';

/** How one signs in here. */
interface LocalLoginMethods {
  readonly factors: SecondFactors;
  /** `null` where there are none. */
  readonly passkeys: Passkeys | null;
}

/** @param ways `null` where people sign in at the operator's application */
export function createAccountOverviewRoutes(rooms: Rooms, ways: LocalLoginMethods | null): readonly Route[] {
  const { configuration, formTokens, layout } = rooms;
  const { store, clock, events } = configuration;
  const signedIn = createAccountRoutes(rooms, 'account');
  const describeSignIn = async (
    { factors, passkeys }: LocalLoginMethods,
    accountId: string,
  ): Promise<LoginSettings> => ({
    recoveryCodes: (await factors.isEnabled(accountId)) ? await factors.countRecoveryCodes(accountId) : null,
    passkeys: passkeys === null ? null : await store.listPasskeys(accountId),
  });
  return [
    signedIn.page('/account', async ({ user, parameters }) => {
      const sessions = await store.listSessions(user.account.id, clock());
      const browsers = sessions.map(({ hash, browser, address, createdAt }) => ({
        id: hash,
        name: browser,
        address,
        since: createdAt,
        isThisOne: hash === user.sessionHash,
      }));
      browsers.sort((one, other) => Number(other.isThisOne) - Number(one.isThisOne));
      const page = accountPage(layout, {
        email: user.account.email,
        sessions: browsers,
        login:
          ways !== null && (await hasLocalLogin(rooms, user))
            ? await describeSignIn(ways, user.account.id)
            : null,
        now: clock(),
        notice: readAccountNotice(parameters.one('news')),
        logoutToken: formTokens.mint('logout', user.sessionHash),
        token: signedIn.csrfToken(user),
      });
      return respondPage(page);
    }),

    signedIn.form('/account/sessions', async ({ user, parameters }) => {
      const { id: accountId } = user.account;
      const chosen = parameters.required('session');
      const own = await store.listSessions(accountId, clock());
      const ended = own.filter(
        ({ hash }) => hash !== user.sessionHash && (chosen === 'others' || hash === chosen),
      );
      await Promise.all(ended.map(({ hash }) => store.endSession(hash)));
      events({ type: 'session.ended', accountId, count: ended.length });
      return respondRedirect(accountNoticePath('signed-out'));
    }),
  ];
}
