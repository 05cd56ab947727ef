/** Signing in with a passkey: the answer of the browser comes as a form, like every other. */
import { type Answer, readForm } from '@portcullis/http';
import type { Passkeys } from '../accounts/passkeys.ts';
import type { Route } from '../routes.ts';
import type { Errand } from './errand.ts';
import { findErrand } from './errands.ts';
import { isForeignForm } from './form-tokens.ts';
import type { Rooms } from './rooms.ts';
import type { Welcome } from './welcome.ts';

/** Shows the sign-in page with what went wrong. */
type ShowLogin = (errand: Errand, complaint: string) => Promise<Answer>;

export function createPasskeyLogin(
  rooms: Rooms,
  passkeys: Passkeys,
  welcome: Welcome,
  show: ShowLogin,
): Route {
  const { configuration, edge, formTokens, frame } = rooms;
  return edge.route('POST', '/login/passkey', async (request, peer) => {
    const form = await readForm(request);
    const errand = await findErrand(rooms, request, form);
    if ('missing' in errand) return edge.refuse('/login/passkey', errand.missing);
    const isOurs = formTokens.matches(form.one('token'), 'login', ...errand.bound);
    if (!isOurs || isForeignForm(request, configuration.issuer)) {
      const action = { label: rooms.frame.text('sign-in.again'), href: errand.path };
      return edge.refuse('/login/passkey', 'stale-form', { action });
    }
    const signedIn = await passkeys.signIn(form.one('credential') ?? '', errand.bound);
    if (signedIn === null) {
      configuration.events({ type: 'account.sign-in-refused' });
      return show(errand, frame.text('passkey.refused'));
    }
    return welcome(request, peer, errand, signedIn.account, signedIn.isVerified ? 'both' : 'one');
  });
}
