/** Signing in with a passkey: the answer of the browser comes as a form, like every other. */
import type { HttpResponse } from '@portcullis/http';
import type { Rooms } from '../authorize/rooms.ts';
import type { Route } from '../routes.ts';
import type { Passkeys } from '../users/passkeys.ts';
import type { CompleteLogin } from './complete-login.ts';
import { readLoginForm } from './login-form.ts';
import type { LoginTarget } from './login-target.ts';

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
