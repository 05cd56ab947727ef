/** Changing one's password, on the pages of one's own account. */
import type { Parameters } from '@portcullis/protocol';
import type { ChangePassword } from '../accounts/change-password.ts';
import type { User } from '../accounts/sessions.ts';
import type { Origin } from '../accounts/sign-in.ts';
import { answerOptions, askToWait } from '../authorize/complaint.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { judgePassword } from '../pages/chosen-password.ts';
import { type PasswordPage, passwordPage } from '../pages/password.ts';
import { type PageOptions, respondPage, respondRedirect } from '../pages/respond.ts';
import type { Route } from '../routes.ts';
import { newsPath } from './news.ts';
import { createSignedIn } from './signed-in.ts';

const NO_ISSUES: PasswordPage['wrong'] = { password: null, passwordAgain: null };

export function createPasswordPage(rooms: Rooms, change: ChangePassword): readonly Route[] {
  const { configuration, frame } = rooms;
  const signedIn = createSignedIn(rooms, 'account', 'own');

  const show = async (
    user: User,
    issues: Partial<Pick<PasswordPage, 'wrong' | 'wrongCurrent' | 'endOthers'>>,
    answer: PageOptions = {},
  ) => {
    const { id, email } = user.account;
    const mayLackPassword = (await configuration.store.listPasskeys(id)).length > 0;
    const page = { email, mayLackPassword, wrong: NO_ISSUES, wrongCurrent: null, endOthers: true, ...issues };
    return respondPage(passwordPage(frame, { ...page, token: signedIn.token(user) }), answer);
  };

  const changeIt = async (user: User, form: Parameters, origin: Origin) => {
    const { account, sessionHash } = user;
    const endOthers = form.one('others') === 'end';
    const issues = judgePassword(form, account.emailKey);
    if (issues !== null) return show(user, { wrong: issues, endOthers }, { status: 400 });
    const outcome = await change({
      account,
      current: form.one('current') ?? '',
      password: form.required('password'),
      kept: endOthers ? sessionHash : null,
      origin,
    });
    if (outcome.kind === 'changed') return respondRedirect(newsPath('password-changed'), [outcome.cookie]);
    if (outcome.kind === 'refused') {
      return show(user, { wrongCurrent: frame.text('password.wrong.current'), endOthers }, { status: 400 });
    }
    const wait = askToWait(frame, outcome.seconds);
    return show(user, { wrongCurrent: wait.wrong, endOthers }, answerOptions(wait));
  };

  return [
    signedIn.page('/account/password', ({ user }) => show(user, {})),
    signedIn.form('/account/password', ({ user, parameters, request, peer }) =>
      changeIt(user, parameters, { request, peer }),
    ),
  ];
}
