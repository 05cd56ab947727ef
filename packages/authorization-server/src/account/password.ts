/** The password page: changes the password after checking the current one, with the same throttling as a login. */
import type { HttpResponse } from '@portcullis/http';
import type { PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import type { LocalLogin } from '../login/local-login.ts';
import { type FormError, formErrorOptions, tooManyAttempts } from '../ui/form-error.ts';
import { type PageOptions, respondPage, respondRedirect } from '../ui/respond-page.ts';
import { validateNewPassword } from '../users/new-password.ts';
import { type AccountRequest, createAccountRoutes } from './account-routes.ts';
import { accountNoticePath } from './overview-view.ts';
import { type PasswordPage, passwordPage } from './password-view.ts';

export function createPasswordRoutes(
  pages: PageRouter,
  { passwords, authenticate, deviceCookies }: LocalLogin,
): readonly Route[] {
  const { store, events } = pages;
  const routes = createAccountRoutes(pages, 'account', 'own');

  const show = async (
    { context: { layout }, user }: AccountRequest,
    shown: Partial<Pick<PasswordPage, 'errors' | 'currentError' | 'endOthers'>>,
    pageOptions: PageOptions = {},
  ): Promise<HttpResponse> => {
    const { id, email } = user.account;
    const page = passwordPage(layout, {
      email,
      mayLackPassword: (await store.listPasskeys(id)).length > 0,
      errors: null,
      currentError: null,
      endOthers: true,
      token: routes.csrfToken(user),
      ...shown,
    });
    return respondPage(page, { ...pageOptions, script: true });
  };

  return [
    routes.page('/account/password', (visit) => show(visit, {})),

    routes.form('/account/password', async (visit) => {
      const { context, user, parameters: form, request, connection } = visit;
      const { account, sessionHash } = user;
      const { layout } = context;
      const endOthers = form.one('others') === 'end';
      const errors = validateNewPassword(form, account.emailKey);
      if (errors !== null) return show(visit, { errors, endOthers }, { status: 400 });
      const refuse = (error: FormError) =>
        show(visit, { currentError: error.message, endOthers }, formErrorOptions(error));
      const wrong = { message: layout.text('password.error.current'), status: 400 };
      const checked = await authenticate(account.email, form.one('current') ?? '', { request, connection });
      if (checked.kind === 'throttled') return refuse(tooManyAttempts(layout, checked.retryAfter));
      if (checked.kind === 'refused') return refuse(wrong);
      const { passwordHash: before } = checked.account;
      const passwordHash = await passwords.hash(form.required('password'), account.emailKey);
      // Point of no return: exactly the verified password is replaced, not one that a reset has set since.
      if (!(await store.changePassword(account.id, before, passwordHash, endOthers ? sessionHash : null)))
        return refuse(wrong);
      events({ type: 'password.changed', accountId: account.id });
      const cookie = deviceCookies.issue(request, { ...checked.account, passwordHash });
      return respondRedirect(accountNoticePath('password-changed'), [cookie]);
    }),
  ];
}
