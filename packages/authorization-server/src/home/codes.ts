/** Codes from an app: switched on by a code of the app, switched off by a button. */

import type { KnownBrowsers } from '../accounts/known-browsers.ts';
import type { SecondFactors } from '../accounts/second-factors.ts';
import type { User } from '../accounts/sessions.ts';
import type { SharedAttempts } from '../accounts/shared-attempts.ts';
import { answerOptions, askToWait, type Complaint } from '../authorize/complaint.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { recoveryCodesPage, renewCodesPage, setUpCodesPage } from '../pages/codes.ts';
import { respondPage, respondRedirect } from '../pages/respond.ts';
import { homePaths } from '../pages/tabs.ts';
import type { Route } from '../routes.ts';
import { newsPath } from './news.ts';
import { createSignedIn } from './signed-in.ts';

export function createCodes(
  rooms: Rooms,
  factors: SecondFactors,
  attempts: SharedAttempts,
  knownBrowsers: KnownBrowsers,
): readonly Route[] {
  const { configuration, frame } = rooms;
  const { events } = configuration;
  const signedIn = createSignedIn(rooms, 'account', 'delicate');
  const askBeforeRenewing = (user: User, complaint: Complaint | null) => {
    const page = renewCodesPage(frame, { token: signedIn.token(user), wrong: complaint?.wrong ?? null });
    return respondPage(page, answerOptions(complaint));
  };

  return [
    signedIn.page('/account/codes', async ({ user }) => {
      const setup = factors.begin(user.account);
      return respondPage(setUpCodesPage(frame, { ...setup, token: signedIn.token(user), wrong: null }));
    }),

    signedIn.form('/account/codes', async ({ user, parameters }) => {
      const { account } = user;
      const sealed = parameters.one('sealed') ?? '';
      const codes = await factors.confirm(account, sealed, parameters.one('code') ?? '');
      if (codes !== null) {
        events({ type: 'second_factor.enabled', accountId: account.id });
        return respondPage(recoveryCodesPage(frame, { codes }));
      }
      const setup = factors.resume(account, sealed) ?? factors.begin(account);
      const wrong = frame.text('code.wrong-setup');
      return respondPage(setUpCodesPage(frame, { ...setup, token: signedIn.token(user), wrong }), {
        status: 400,
      });
    }),

    signedIn.page('/account/codes/recovery', async ({ user }) =>
      (await factors.isOn(user.account.id))
        ? askBeforeRenewing(user, null)
        : respondRedirect(homePaths.account),
    ),

    signedIn.form('/account/codes/recovery', async ({ user, parameters, request, peer }) => {
      const { account } = user;
      const attempt = await attempts.begin(account.id, peer.address, knownBrowsers.find(request, account));
      if (attempt.kind === 'wait') return askBeforeRenewing(user, askToWait(frame, attempt.seconds));
      if (!(await attempt.judge(factors.take(account, parameters.one('code') ?? '')))) {
        await attempt.failed();
        return askBeforeRenewing(user, { wrong: frame.text('code.wrong'), status: 400 });
      }
      attempt.succeeded();
      const codes = await factors.renew(account.id);
      if (codes === null) return respondRedirect(homePaths.account);
      events({ type: 'second_factor.recovery_codes_renewed', accountId: account.id });
      return respondPage(recoveryCodesPage(frame, { codes }));
    }),

    signedIn.form('/account/codes/off', async ({ user }) => {
      const { id: accountId } = user.account;
      if (await factors.turnOff(accountId)) events({ type: 'second_factor.disabled', accountId });
      return respondRedirect(newsPath('codes-off'));
    }),
  ];
}
