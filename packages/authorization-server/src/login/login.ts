/** The login endpoint: GET shows the login page, POST accepts a password, a passkey or the choice of an identity provider. */
import type { HttpResponse } from '@portcullis/http';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import { createLoginThrottle } from '../rate-limit/login-throttle.ts';
import { siteOf } from '../rate-limit/policies.ts';
import { type FormError, formErrorOptions, tooManyAttempts } from '../ui/form-error.ts';
import type { Layout } from '../ui/layout.ts';
import { redirectByPage } from '../ui/message-page.ts';
import { respondPage } from '../ui/respond-page.ts';
import type { Passkeys } from '../users/passkeys.ts';
import { PASSWORD_ALONE } from '../users/sessions.ts';
import type { CompleteLogin } from './complete-login.ts';
import { findLikelyMethod } from './likely-method.ts';
import type { LocalLogin } from './local-login.ts';
import { type LoginVisit, loginFormRoute, loginPageRoute } from './login-routes.ts';
import type { LoginTarget } from './login-target.ts';
import { forgottenPasswordPage, type LoginPage, loginPage } from './login-view.ts';

/** What the login page shows after a form, or after a link that was used for a new password. */
interface Shown extends Pick<LoginPage, 'email' | 'likely' | 'isReset'> {
  /** At the password field. */
  readonly passwordError: FormError | null;
  /** Above the form. */
  readonly otherError: FormError | null;
}

export function createLoginRoutes(
  pages: PageRouter,
  { authenticate, passkeys, deviceCookies }: LocalLogin,
  completeLogin: CompleteLogin,
): readonly Route[] {
  const { options, csrfTokens, store } = pages;
  const providers = [...options.identityProviders.values()].map(({ id, name, provider }) => ({
    id,
    name,
    issuer: provider.issuer,
  }));

  const findLocalLogin = async (): Promise<LoginPage['localLogin']> => {
    if (!options.localAccounts) return 'none';
    if (providers.length > 0) return (await store.hasLocalAccounts()) ? 'possible' : 'unlikely';
    // While the store is unavailable, the page is the usual one.
    return store.listAccounts('', 1).then(
      ({ length }) => (length > 0 ? 'possible' : 'impossible'),
      () => 'possible',
    );
  };

  const show = async (
    { layout }: PageContext,
    loginTarget: LoginTarget,
    {
      email = '',
      likely = 'password',
      isReset = false,
      passwordError = null,
      otherError = null,
    }: Partial<Shown>,
  ): Promise<HttpResponse> => {
    const page = loginPage(layout, {
      purpose: loginTarget.purpose,
      fields: loginTarget.fields,
      token: csrfTokens.issue('login', ...loginTarget.binding),
      email,
      passwordError: passwordError?.message ?? null,
      otherError: otherError?.message ?? null,
      isReset,
      localLogin: await findLocalLogin(),
      likely,
      restartPath: loginTarget.restartPath,
      passkeyOptions: passkeys === null ? null : passkeys.requestOptions(loginTarget.binding),
      providers,
      signInLinks: options.sendsMail && options.signInLinks,
    });
    return respondPage(page, {
      ...formErrorOptions(passwordError ?? otherError),
      cookies: loginTarget.cookies,
      script: options.localAccounts,
    });
  };

  const showError: ShowLogin = ({ context, loginTarget }, otherError) =>
    show(context, loginTarget, { otherError });

  return [
    loginPageRoute(pages, '/login', (context, loginTarget, parameters) =>
      loginTarget.isSignedIn
        ? loginTarget.resume()
        : show(context, loginTarget, {
            // Where identity providers are offered, an address selects what the page shows.
            email: providers.length === 0 ? (loginTarget.email ?? '') : '',
            isReset: parameters.one('news') === 'reset',
          }),
    ),

    ...createAsideRoutes(pages),
    ...createProviderLoginRoutes(pages),

    loginFormRoute(pages, '/login', async (visit) => {
      const { context, request, connection, loginTarget, form } = visit;
      const { errors, layout } = context;
      // No local accounts: our login page has no such form.
      if (!options.localAccounts) return errors.show('/login', 'bad-form');
      const email = form.one('email') ?? '';
      const password = form.one('password') ?? '';
      // Where identity providers are offered, the page asks for the address first.
      if (providers.length > 0 && email !== '' && password === '') {
        const likely = await findLikelyMethod(context, deviceCookies, request, email);
        return show(context, loginTarget, { email, likely });
      }
      if (email === '' || password === '') {
        const passwordError = { message: layout.text('sign-in.error.empty'), status: 400 };
        return show(context, loginTarget, { email, passwordError });
      }
      const outcome = await authenticate(email, password, { request, connection });
      if (outcome.kind !== 'signed-in')
        return show(context, loginTarget, { email, passwordError: describeLoginError(layout, outcome) });

      return completeLogin(visit, outcome.account, PASSWORD_ALONE);
    }),

    ...(passkeys === null || !options.localAccounts
      ? []
      : [createPasskeyLoginRoute(pages, { passkeys, deviceCookies }, completeLogin, showError)]),
  ];
}

/** The same message for an unknown account, a disabled account and a wrong password, so that accounts cannot be enumerated. */
function describeLoginError(
  layout: Layout,
  outcome: { kind: 'refused' } | { kind: 'throttled'; retryAfter: number },
): FormError {
  return outcome.kind === 'throttled'
    ? tooManyAttempts(layout, outcome.retryAfter)
    : { message: layout.text('sign-in.error.refused'), status: 400 };
}

/** Shows the login page with an error. */
type ShowLogin = (visit: LoginVisit, formError: FormError) => Promise<HttpResponse>;

function createPasskeyLoginRoute(
  pages: PageRouter,
  { passkeys, deviceCookies }: Pick<LocalLogin, 'deviceCookies'> & { readonly passkeys: Passkeys },
  completeLogin: CompleteLogin,
  show: ShowLogin,
): Route {
  const throttle = pages.limits.keep('sign-in by passkey', () => createLoginThrottle(pages, 'passkey'));
  return loginFormRoute(pages, '/login/passkey', async (visit) => {
    const { context, request, connection, form, loginTarget } = visit;
    const { layout } = context;
    const signedIn = await passkeys.verifyLogin(form.one('credential') ?? '', loginTarget.binding);
    if (signedIn === null) {
      context.events({ type: 'login.failed' });
      return show(visit, { message: layout.text('passkey.refused'), status: 400 });
    }
    const { account } = signedIn;
    const device = deviceCookies.findDevice(request, account);
    const attempt = await throttle({ account: account.id, connection, device }, async () => true);
    if (attempt.kind === 'throttled') return show(visit, tooManyAttempts(layout, attempt.retryAfter));
    // The authenticator checked the user, by a PIN or a fingerprint: possession and one more.
    const methods = signedIn.isVerified ? ['hwk', 'user', 'mfa'] : ['hwk'];
    return completeLogin(visit, account, methods);
  });
}

/** Instead of a login: help with a forgotten password, and cancelling. */
function createAsideRoutes(pages: PageRouter): readonly Route[] {
  const cancel = loginFormRoute(pages, '/login/cancel', async ({ context: { layout }, loginTarget }) => {
    const { purpose } = loginTarget;
    const response = await loginTarget.cancel();
    if (!('appName' in purpose)) return response;
    return redirectByPage(layout, response, {
      heading: layout.text('declined.heading', { app: purpose.appName }),
      sentences: [layout.text('declined.why', { server: purpose.serverName })],
    });
  });
  const forgotten = loginPageRoute(pages, '/login/forgotten', ({ layout }, { restartPath, cookies }) =>
    respondPage(forgottenPasswordPage(layout, restartPath), { cookies }),
  );
  // Without mail, an administrator helps.
  return pages.options.sendsMail ? [cancel] : [forgotten, cancel];
}

/** The choice of an identity provider. */
function createProviderLoginRoutes(pages: PageRouter): readonly Route[] {
  const { chargeAuthorizationRequest, options } = pages;
  return [...options.identityProviders.values()].map((identityProvider) =>
    loginFormRoute(pages, `/login/${identityProvider.id}`, async ({ context, connection, loginTarget }) => {
      // Without a session, a federated login is rate limited like an authorization request.
      if (!loginTarget.isSignedIn) await chargeAuthorizationRequest(siteOf(connection));
      const response = await loginTarget.startFederatedLogin(identityProvider);
      return response.headers['location']?.startsWith('/')
        ? response
        : redirectByPage(context.layout, response);
    }),
  );
}
