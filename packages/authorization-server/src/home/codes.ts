/** Codes from an app: switched on by a code of the app, switched off by a button. */
import type { SecondFactors } from '../accounts/second-factors.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { recoveryCodesPage, setUpCodesPage } from '../pages/codes.ts';
import { respondPage, respondRedirect } from '../pages/respond.ts';
import type { Route } from '../routes.ts';
import { newsPath } from './news.ts';
import { createSignedIn } from './signed-in.ts';

export function createCodes(rooms: Rooms, factors: SecondFactors): readonly Route[] {
  const { configuration, frame } = rooms;
  const { events } = configuration;
  const signedIn = createSignedIn(rooms, 'account', 'delicate');
  return [
    signedIn.page('/account/codes', async ({ person }) => {
      const setup = factors.begin(person.account);
      return respondPage(setUpCodesPage(frame, { ...setup, token: signedIn.token(person), wrong: null }));
    }),

    signedIn.form('/account/codes', async ({ person, parameters }) => {
      const { account } = person;
      const sealed = parameters.one('sealed') ?? '';
      const codes = await factors.confirm(account, sealed, parameters.one('code') ?? '');
      if (codes !== null) {
        events({ type: 'second-factor.on', accountId: account.id });
        return respondPage(recoveryCodesPage(frame, { codes }));
      }
      const setup = factors.resume(account, sealed) ?? factors.begin(account);
      const wrong = frame.text('code.wrong-setup');
      return respondPage(setUpCodesPage(frame, { ...setup, token: signedIn.token(person), wrong }), {
        status: 400,
      });
    }),

    signedIn.form('/account/codes/off', async ({ person }) => {
      const { id: accountId } = person.account;
      if (await factors.turnOff(accountId)) events({ type: 'second-factor.off', accountId });
      return respondRedirect(newsPath('codes-off'));
    }),
  ];
}
