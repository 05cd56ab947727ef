/** The password page: changes the password after checking the current one, with the same throttling as a login. */
import type { Parameters } from '@portcullis/protocol';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import type { LocalLogin } from '../login/local-login.ts';
import type { LoginSource } from '../login/password.ts';
import type { AccountRecord } from '../store/index.ts';
import { formErrorOptions, tooManyAttempts } from '../ui/form-error.ts';
import { type PageOptions, respondPage, respondRedirect } from '../ui/respond-page.ts';
import { validateNewPassword } from '../users/new-password.ts';
import type { User } from '../users/sessions.ts';
import { createAccountRoutes } from './account-routes.ts';
import { accountNoticePath } from './overview-view.ts';
import { type PasswordPage, passwordPage } from './password-view.ts';

const NO_ERRORS: PasswordPage['errors'] = { password: null, passwordAgain: null };

export function createPasswordRoutes(pages: PageRouter, local: LocalLogin): readonly Route[] {
  const { store } = pages;
  const routes = createAccountRoutes(pages, 'account', 'own');

  const show = async (
    { layout }: PageContext,
    user: User,
    errors: Partial<Pick<PasswordPage, 'errors' | 'currentError' | 'endOthers'>>,
    pageOptions: PageOptions = {},
  ) => {
    const { id, email } = user.account;
    const mayLackPassword = (await store.listPasskeys(id)).length > 0;
    const page = {
      email,
      mayLackPassword,
      errors: NO_ERRORS,
      currentError: null,
      endOthers: true,
      ...errors,
    };
    return respondPage(passwordPage(layout, { ...page, token: routes.csrfToken(user) }), {
      ...pageOptions,
      script: true,
    });
  };

  const changeIt = async (context: PageContext, user: User, form: Parameters, origin: LoginSource) => {
    const { layout } = context;
    const { account, sessionHash } = user;
    const endOthers = form.one('others') === 'end';
    const errors = validateNewPassword(form, account.emailKey);
    if (errors !== null) return show(context, user, { errors, endOthers }, { status: 400 });
    const outcome = await changePassword(pages, local, {
      account,
      current: form.one('current') ?? '',
      password: form.required('password'),
      exceptSession: endOthers ? sessionHash : null,
      origin,
    });
    if (outcome.kind === 'changed')
      return respondRedirect(accountNoticePath('password-changed'), [outcome.cookie]);
    if (outcome.kind === 'refused') {
      return show(
        context,
        user,
        { currentError: layout.text('password.error.current'), endOthers },
        { status: 400 },
      );
    }
    const wait = tooManyAttempts(layout, outcome.retryAfter);
    return show(context, user, { currentError: wait.message, endOthers }, formErrorOptions(wait));
  };

  return [
    routes.page('/account/password', ({ context, user }) => show(context, user, {})),
    routes.form('/account/password', ({ context, user, parameters, request, connection }) =>
      changeIt(context, user, parameters, { request, connection }),
    ),
  ];
}

/** Changed, wrong current password, or throttled. */
type PasswordChange =
  /** With the `Set-Cookie` value of a device cookie for the new password. */
  | { readonly kind: 'changed'; readonly cookie: string }
  | { readonly kind: 'refused' }
  | { readonly kind: 'throttled'; readonly retryAfter: number };

interface PasswordChangeRequest {
  readonly account: AccountRecord;
  readonly current: string;
  /** Already validated against the password rules. */
  readonly password: string;
  /** The only session that remains; `null`: all remain. */
  readonly exceptSession: string | null;
  readonly origin: LoginSource;
}

/** The current password is throttled like a login. */
async function changePassword(
  { store, events }: PageRouter,
  { passwords, authenticate, deviceCookies }: LocalLogin,
  { account, current, password, exceptSession, origin }: PasswordChangeRequest,
): Promise<PasswordChange> {
  const checked = await authenticate(account.email, current, origin);
  if (checked.kind !== 'signed-in') return checked;
  const newHash = await passwords.hash(password, account.emailKey);
  // Point of no return: exactly the verified password is replaced, not one that a reset has set since.
  const { passwordHash: oldHash } = checked.account;
  if (!(await store.changePassword(account.id, oldHash, newHash, exceptSession))) return { kind: 'refused' };
  events({ type: 'password.changed', accountId: account.id });
  const cookie = deviceCookies.issue(origin.request, { ...checked.account, passwordHash: newHash });
  return { kind: 'changed', cookie };
}
