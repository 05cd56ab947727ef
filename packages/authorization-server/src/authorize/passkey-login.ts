/** Signing in with a passkey: the answer of the browser comes as a form, like every other. */
import type { HttpResponse } from '@portcullis/http';
import type { Passkeys } from '../accounts/passkeys.ts';
import type { Route } from '../routes.ts';
import type { Errand } from './errand.ts';
import type { Rooms } from './rooms.ts';
import { readSignInForm } from './sign-in-form.ts';
import type { Welcome } from './welcome.ts';

/** Shows the sign-in page with what went wrong. */
type ShowLogin = (errand: Errand, complaint: string) => Promise<HttpResponse>;

export function createPasskeyLogin(
  rooms: Rooms,
  passkeys: Passkeys,
  welcome: Welcome,
  show: ShowLogin,
): Route {
  const { configuration, edge, frame } = rooms;
  return edge.route('POST', '/login/passkey', async (request, peer) => {
    const found = await readSignInForm(rooms, request, '/login/passkey');
    if ('refusal' in found) return found.refusal;
    const { form, errand } = found;
    const signedIn = await passkeys.signIn(form.one('credential') ?? '', errand.bound);
    if (signedIn === null) {
      configuration.events({ type: 'login.failed' });
      return show(errand, frame.text('passkey.refused'));
    }
    return welcome(request, peer, errand, signedIn.account, signedIn.isVerified ? 'both' : 'one');
  });
}
