/** First-run setup: a one-time link with a form that creates the first account. */
import { type HttpResponse, queryOf } from '@portcullis/http';
import { type Parameters, readParameters } from '@portcullis/protocol';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import { listedResources } from '../resources/options.ts';
import { loginPath } from '../ui/account-tabs.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { translate } from '../ui/translations.ts';
import { emailKey } from '../users/accounts.ts';
import { validateNewPassword } from '../users/new-password.ts';
import { PASSWORD_ALONE } from '../users/sessions.ts';
import { hasLocalLogin, type LocalLogin } from './local-login.ts';
import { readyPage, type SetupErrors, setupPage } from './setup-view.ts';

/** The link's token is the CSRF protection: only its holder can submit the form. */
export function createSetupRoutes(
  pages: PageRouter,
  { firstAccount, deviceCookies, passkeys }: LocalLogin,
): readonly Route[] {
  const { store, options, csrfTokens, sessions } = pages;

  const show = (
    { layout }: PageContext,
    token: string,
    email: string,
    errors: SetupErrors | null,
  ): Promise<HttpResponse> => {
    const status = errors === null ? 200 : 400;
    return respondPage(setupPage(layout, { token, email, errors }), { script: true, status });
  };

  /** The link creates the first account only; after that, users log in. */
  const rejectToken = async ({ errors, layout }: PageContext): Promise<HttpResponse> => {
    if ((await store.listAccounts('', 1)).length === 0) return errors.show('/setup', 'used-link');
    const action = { label: layout.text('sign-in.submit'), href: loginPath('account', false) };
    return errors.show('/setup', 'already-set-up', { action });
  };

  return [
    pages.route('GET', '/setup', async (context, request) => {
      const token = readParameters(queryOf(request)).one('token');
      const user = await sessions.find(request);
      if (token === undefined && user !== null) {
        const signOutToken = csrfTokens.issue('logout', user.sessionHash);
        const offersPasskey = passkeys !== null && (await hasLocalLogin(context, user));
        const { email } = user.account;
        const servers = listedResources(options).map((resource) => ({
          name: translate(resource, context.layout.language).name,
          url: resource.resource,
        }));
        const page = readyPage(context.layout, { email, offersPasskey, servers, token: signOutToken });
        return respondPage(page, { script: true });
      }
      const isOpen = token !== undefined && (await firstAccount.isValidToken(token));
      return isOpen ? show(context, token, '', null) : rejectToken(context);
    }),

    pages.form('/setup', async ({ context, request, connection, form }) => {
      const token = form.one('token') ?? '';
      if (!(await firstAccount.isValidToken(token))) return rejectToken(context);
      const email = form.one('email') ?? '';
      const issues = validateSetupForm(form);
      if (issues !== null) return show(context, token, email, issues);
      const account = await firstAccount.create(token, email, form.required('password'));
      if (account === null) return rejectToken(context);
      const started = await sessions.start(request, connection, account, { methods: PASSWORD_ALONE });
      if (started === null) return respondRedirect(loginPath('account', false));
      return respondRedirect('/setup', [started.cookie, deviceCookies.issue(request, account)]);
    }),
  ];
}

function validateSetupForm(form: Parameters): SetupErrors | null {
  const key = emailKey(form.one('email') ?? '');
  const password = validateNewPassword(form, key ?? '');
  const email = key === null ? 'setup.error.email' : null;
  return email === null && password === null ? null : { email, password };
}
