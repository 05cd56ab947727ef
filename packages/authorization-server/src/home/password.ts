/** Changing one's password, on the pages of one's own account. */
import type { Parameters } from '@portcullis/protocol';
import type { ChangePassword } from '../accounts/change-password.ts';
import { judgePassword } from '../accounts/chosen-password.ts';
import type { Person } from '../accounts/sessions.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { type PasswordPage, passwordPage } from '../pages/password.ts';
import { respondPage, respondRedirect } from '../pages/respond.ts';
import { waitInWords } from '../pages/times.ts';
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
    answer: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
  ) => {
    const { id, email } = person.account;
    const mayLackPassword = (await configuration.store.listPasskeys(id)).length > 0;
    const page = { email, mayLackPassword, wrong: NO_FAULTS, wrongCurrent: null, endOthers: true, ...faults };
    return respondPage(passwordPage(frame, { ...page, token: signedIn.token(person) }), answer);
  };

  const changeIt = async (person: Person, form: Parameters, address: string | undefined) => {
    const { account, sessionHash } = person;
    const endOthers = form.one('others') === 'end';
    const faults = judgePassword(form, account.emailKey);
    if (faults !== null) return show(person, { wrong: faults, endOthers }, { status: 400 });
    const outcome = await change({
      account,
      current: form.one('current') ?? '',
      password: form.required('password'),
      kept: endOthers ? sessionHash : null,
      address,
    });
    if (outcome.kind === 'changed') return respondRedirect(newsPath('password-changed'));
    if (outcome.kind === 'refused') {
      return show(person, { wrongCurrent: frame.text('password.wrong.current'), endOthers }, { status: 400 });
    }
    const time = waitInWords(outcome.seconds, frame.language);
    const headers = { 'retry-after': String(outcome.seconds) };
    const wrongCurrent = frame.text('sign-in.wrong.wait', { time });
    return show(person, { wrongCurrent, endOthers }, { status: 429, headers });
  };

  return [
    signedIn.page('/account/password', ({ person }) => show(person, {})),
    signedIn.form('/account/password', ({ person, parameters, peer }) =>
      changeIt(person, parameters, peer.address),
    ),
  ];
}
