/** Sign-in, for the flow of an app or for the pages of one's own account. */

import { type HttpResponse, queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { Rooms } from '../authorize/rooms.ts';
import type { Route } from '../routes.ts';
import { type FormError, formErrorOptions, tooManyAttempts } from '../ui/form-error.ts';
import type { Layout } from '../ui/layout.ts';
import { redirectByPage } from '../ui/message-page.ts';
import { respondPage } from '../ui/respond-page.ts';
import type { Passkeys } from '../users/passkeys.ts';
import type { CompleteLogin } from './complete-login.ts';
import { readLoginForm } from './login-form.ts';
import { findLoginTarget, type LoginTarget } from './login-target.ts';
import { loginPage } from './login-view.ts';
import type { AuthenticateByPassword } from './password.ts';

/** What is said of a sign-in that did not succeed. */
interface LoginErrors extends Omit<FormError, 'message'> {
  readonly email: string;
  /** With the password. */
  readonly passwordError: string | null;
  /** With anything else. */
  readonly otherError?: string;
}

/** What signing in works with. */
interface LoginDependencies {
  readonly signIn: AuthenticateByPassword;
  /** `null` where there are none. */
  readonly passkeys: Passkeys | null;
  readonly completeLogin: CompleteLogin;
}

export function createLoginRoutes(
  rooms: Rooms,
  { signIn, passkeys, completeLogin }: LoginDependencies,
): readonly Route[] {
  const { chargeAuthorizationRequest: checkOpening, configuration, edge, layout, formTokens } = rooms;
  const providers = [...configuration.identityProviders.values()].map(({ id, name }) => ({ id, name }));

  const show = (loginTarget: LoginTarget, formError: LoginErrors | null): Promise<HttpResponse> => {
    const page = loginPage(layout, {
      purpose: loginTarget.purpose,
      fields: loginTarget.fields,
      token: formTokens.mint('login', ...loginTarget.binding),
      email: formError?.email ?? '',
      passwordError: formError?.passwordError ?? null,
      otherError: formError?.otherError ?? null,
      hasLocalLogin: configuration.localAccounts,
      passkeyOptions: passkeys === null ? null : passkeys.requestOptions(loginTarget.binding),
      providers,
    });
    return respondPage(page, {
      ...formErrorOptions(formError),
      cookies: loginTarget.cookies,
      script: configuration.localAccounts && passkeys !== null,
    });
  };

  const showError = (loginTarget: LoginTarget, trouble: string) =>
    show(loginTarget, { email: '', passwordError: null, otherError: trouble, status: 400 });

  return [
    edge.route('GET', '/login', async (request) => {
      const loginTarget = await findLoginTarget(rooms, request, readParameters(queryOf(request)));
      if ('missing' in loginTarget) return edge.refuse('/login', loginTarget.missing);
      return loginTarget.isSignedIn ? loginTarget.resume() : show(loginTarget, null);
    }),

    ...[...configuration.identityProviders.values()].map((identityProvider) =>
      edge.route('POST', `/login/${identityProvider.id}`, async (request, connection) => {
        const found = await readLoginForm(rooms, request, `/login/${identityProvider.id}`);
        if ('refusal' in found) return found.refusal;
        // A stranger's departure is kept as a stranger's request is.
        if (!found.loginTarget.isSignedIn) await checkOpening(connection);
        const answer = await found.loginTarget.startFederatedLogin(identityProvider);
        return answer.headers['location']?.startsWith('/') ? answer : redirectByPage(layout, answer);
      }),
    ),

    edge.route('POST', '/login', async (request, connection) => {
      const found = await readLoginForm(rooms, request, '/login');
      if ('refusal' in found) return found.refusal;
      const { form, loginTarget } = found;
      // Nobody has a password here: who posts one has not seen our page.
      if (!configuration.localAccounts) return edge.refuse('/login', 'bad-form');
      const email = form.one('email') ?? '';
      const password = form.one('password') ?? '';
      if (email === '' || password === '') {
        return show(loginTarget, { email, passwordError: layout.text('sign-in.wrong.empty'), status: 400 });
      }
      const outcome = await signIn(email, password, { request, connection });
      if (outcome.kind !== 'signed-in') return show(loginTarget, describeLoginError(layout, email, outcome));

      return completeLogin(request, connection, loginTarget, outcome.account, 'one');
    }),

    ...(passkeys === null || !configuration.localAccounts
      ? []
      : [createPasskeyLoginRoute(rooms, passkeys, completeLogin, showError)]),
  ];
}

/** The same words whether the account is unknown, disabled, or has another password. */
function describeLoginError(
  layout: Layout,
  email: string,
  outcome: { kind: 'refused' } | { kind: 'wait'; seconds: number },
): LoginErrors {
  if (outcome.kind === 'wait') {
    const { message, ...more } = tooManyAttempts(layout, outcome.seconds);
    return { email, passwordError: message, ...more };
  }
  return { email, passwordError: layout.text('sign-in.wrong.refused'), status: 400 };
}

/** Shows the sign-in page with what went wrong. */
type ShowLogin = (loginTarget: LoginTarget, formError: string) => Promise<HttpResponse>;

export function createPasskeyLoginRoute(
  rooms: Rooms,
  passkeys: Passkeys,
  completeLogin: CompleteLogin,
  show: ShowLogin,
): Route {
  const { configuration, edge, layout } = rooms;
  return edge.route('POST', '/login/passkey', async (request, connection) => {
    const found = await readLoginForm(rooms, request, '/login/passkey');
    if ('refusal' in found) return found.refusal;
    const { form, loginTarget } = found;
    const signedIn = await passkeys.verifyLogin(form.one('credential') ?? '', loginTarget.binding);
    if (signedIn === null) {
      configuration.events({ type: 'login.failed' });
      return show(loginTarget, layout.text('passkey.refused'));
    }
    return completeLogin(
      request,
      connection,
      loginTarget,
      signedIn.account,
      signedIn.isVerified ? 'both' : 'one',
    );
  });
}
