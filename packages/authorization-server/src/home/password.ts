/** Changing one's password, on the pages of one's own account. */
import type { Parameters } from '@portcullis/protocol';
import type { ChangePassword } from '../accounts/change-password.ts';
import type { Person } from '../accounts/sessions.ts';
import type { Origin } from '../accounts/sign-in.ts';
import { answerOptions, askToWait } from '../authorize/complaint.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { judgePassword } from '../pages/chosen-password.ts';
import { type PasswordPage, passwordPage } from '../pages/password.ts';
import { type PageOptions, respondPage, respondRedirect } from '../pages/respond.ts';
import type { Route } from '../routes.ts';
import { newsPath } from './news.ts';
import { createSignedIn } from './signed-in.ts';

const NO_FAULTS: PasswordPage['wrong'] = { password: null, passwordAgain: null };

export function createPasswordPage(rooms: Rooms, change: ChangePassword): readonly Route[] {
  const { configuration, frame } = rooms;
  const signedIn = createSignedIn(rooms, 'account', 'own');

  const show = async (
    person: Person,
    faults: Partial<Pick<PasswordPage, 'wrong' | 'wrongCurrent' | 'endOthers'>>,
    answer: PageOptions = {},
  ) => {
    const { id, email } = person.account;
    const mayLackPassword = (await configuration.store.listPasskeys(id)).length > 0;
    const page = { email, mayLackPassword, wrong: NO_FAULTS, wrongCurrent: null, endOthers: true, ...faults };
    return respondPage(passwordPage(frame, { ...page, token: signedIn.token(person) }), answer);
  };

  const changeIt = async (person: Person, form: Parameters, origin: Origin) => {
    const { account, sessionHash } = person;
    const endOthers = form.one('others') === 'end';
    const faults = judgePassword(form, account.emailKey);
    if (faults !== null) return show(person, { wrong: faults, endOthers }, { status: 400 });
    const outcome = await change({
      account,
      current: form.one('current') ?? '',
      password: form.required('password'),
      kept: endOthers ? sessionHash : null,
      origin,
    });
    if (outcome.kind === 'changed') return respondRedirect(newsPath('password-changed'), [outcome.cookie]);
    if (outcome.kind === 'refused') {
      return show(person, { wrongCurrent: frame.text('password.wrong.current'), endOthers }, { status: 400 });
    }
    const wait = askToWait(frame, outcome.seconds);
    return show(person, { wrongCurrent: wait.wrong, endOthers }, answerOptions(wait));
  };

  return [
    signedIn.page('/account/password', ({ person }) => show(person, {})),
    signedIn.form('/account/password', ({ person, parameters, request, peer }) =>
      changeIt(person, parameters, { request, peer }),
    ),
  ];
}
