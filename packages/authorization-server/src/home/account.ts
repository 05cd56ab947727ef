/** A person's own account: where they are signed in, and signing out there. */
import type { Passkeys } from '../accounts/passkeys.ts';
import type { SecondFactors } from '../accounts/second-factors.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { signsInHere } from '../authorize/signs-in-here.ts';
import { accountPage, type SignInSettings } from '../pages/account.ts';
import { respondPage, respondRedirect } from '../pages/respond.ts';
import type { Route } from '../routes.ts';
import { newsPath, readNews } from './news.ts';
import { createSignedIn } from './signed-in.ts';

/** How one signs in here. */
interface WaysIn {
  readonly factors: SecondFactors;
  /** `null` where there are none. */
  readonly passkeys: Passkeys | null;
}

/** @param ways `null` where people sign in at the operator's application */
export function createAccount(rooms: Rooms, ways: WaysIn | null): readonly Route[] {
  const { configuration, formTokens, frame } = rooms;
  const { store, clock, events } = configuration;
  const signedIn = createSignedIn(rooms, 'account');
  const describeSignIn = async (
    { factors, passkeys }: WaysIn,
    accountId: string,
  ): Promise<SignInSettings> => ({
    recoveryCodes: (await factors.isOn(accountId)) ? await factors.countRecoveryCodes(accountId) : null,
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
      const page = accountPage(frame, {
        email: user.account.email,
        browsers,
        signIn:
          ways !== null && (await signsInHere(rooms, user))
            ? await describeSignIn(ways, user.account.id)
            : null,
        now: clock(),
        news: readNews(parameters.one('news')),
        logoutToken: formTokens.mint('logout', user.sessionHash),
        token: signedIn.token(user),
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
      return respondRedirect(newsPath('signed-out'));
    }),
  ];
}
