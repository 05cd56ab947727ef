/** Changing one's password, on the pages of one's own account. */
import type { Parameters } from '@portcullis/protocol';
import type { Rooms } from '../authorize/rooms.ts';
import type { LoginSource } from '../login/password.ts';
import type { Route } from '../routes.ts';
import { formErrorOptions, tooManyAttempts } from '../ui/form-error.ts';
import { type PageOptions, respondPage, respondRedirect } from '../ui/respond-page.ts';
import { validateNewPassword } from '../users/new-password.ts';
import type { User } from '../users/sessions.ts';
import { createAccountRoutes } from './account-routes.ts';
import type { ChangePassword } from './change-password.ts';
import { accountNoticePath } from './notices.ts';
import { type PasswordPage, passwordPage } from './password-view.ts';

const NO_ERRORS: PasswordPage['errors'] = { password: null, passwordAgain: null };

export function createPasswordRoutes(rooms: Rooms, change: ChangePassword): readonly Route[] {
  const { configuration, layout } = rooms;
  const signedIn = createAccountRoutes(rooms, 'account', 'own');

  const show = async (
    user: User,
    errors: Partial<Pick<PasswordPage, 'errors' | 'currentError' | 'endOthers'>>,
    answer: PageOptions = {},
  ) => {
    const { id, email } = user.account;
    const mayLackPassword = (await configuration.store.listPasskeys(id)).length > 0;
    const page = {
      email,
      mayLackPassword,
      errors: NO_ERRORS,
      currentError: null,
      endOthers: true,
      ...errors,
    };
    return respondPage(passwordPage(layout, { ...page, token: signedIn.csrfToken(user) }), answer);
  };

  const changeIt = async (user: User, form: Parameters, origin: LoginSource) => {
    const { account, sessionHash } = user;
    const endOthers = form.one('others') === 'end';
    const errors = validateNewPassword(form, account.emailKey);
    if (errors !== null) return show(user, { errors, endOthers }, { status: 400 });
    const outcome = await change({
      account,
      current: form.one('current') ?? '',
      password: form.required('password'),
      kept: endOthers ? sessionHash : null,
      origin,
    });
    if (outcome.kind === 'changed')
      return respondRedirect(accountNoticePath('password-changed'), [outcome.cookie]);
    if (outcome.kind === 'refused') {
      return show(user, { currentError: layout.text('password.wrong.current'), endOthers }, { status: 400 });
    }
    const wait = tooManyAttempts(layout, outcome.seconds);
    return show(user, { currentError: wait.message, endOthers }, formErrorOptions(wait));
  };

  return [
    signedIn.page('/account/password', ({ user }) => show(user, {})),
    signedIn.form('/account/password', ({ user, parameters, request, connection }) =>
      changeIt(user, parameters, { request, connection }),
    ),
  ];
}
