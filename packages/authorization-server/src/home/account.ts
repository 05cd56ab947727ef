/** A person's own account: where they are signed in, and signing out there. */
import type { SecondFactors } from '../accounts/second-factors.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { accountPage } from '../pages/account.ts';
import { respondPage, respondRedirect } from '../pages/respond.ts';
import type { Route } from '../routes.ts';
import { newsPath, readNews } from './news.ts';
import { createSignedIn } from './signed-in.ts';

/** @param hasPasskeys whether passkeys can be had here */
export function createAccount(rooms: Rooms, factors: SecondFactors, hasPasskeys: boolean): readonly Route[] {
  const { configuration, formTokens, frame } = rooms;
  const { store, clock, events } = configuration;
  const signedIn = createSignedIn(rooms, 'account');
  return [
    signedIn.page('/account', async ({ person, parameters }) => {
      const sessions = await store.listSessions(person.account.id, clock());
      const browsers = sessions.map(({ hash, browser, address, createdAt }) => ({
        id: hash,
        name: browser,
        address,
        since: createdAt,
        isThisOne: hash === person.sessionHash,
      }));
      browsers.sort((one, other) => Number(other.isThisOne) - Number(one.isThisOne));
      const page = accountPage(frame, {
        email: person.account.email,
        browsers,
        recoveryCodes: (await factors.isOn(person.account.id))
          ? await factors.countRecoveryCodes(person.account.id)
          : null,
        passkeys: hasPasskeys ? await store.listPasskeys(person.account.id) : null,
        now: clock(),
        news: readNews(parameters.one('news')),
        logoutToken: formTokens.mint('logout', person.sessionHash),
        token: signedIn.token(person),
      });
      return respondPage(page);
    }),

    signedIn.form('/account/sessions', async ({ person, parameters }) => {
      const { id: accountId } = person.account;
      const chosen = parameters.required('session');
      const own = await store.listSessions(accountId, clock());
      const ended = own.filter(
        ({ hash }) => hash !== person.sessionHash && (chosen === 'others' || hash === chosen),
      );
      await Promise.all(ended.map(({ hash }) => store.endSession(hash)));
      events({ type: 'sessions.ended', accountId, count: ended.length });
      return respondRedirect(newsPath('signed-out'));
    }),
  ];
}
