/** Sign-in, for the flow of an app or for the pages of one's own account. */
import { type HttpResponse, queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { Passkeys } from '../accounts/passkeys.ts';
import type { SignInHand } from '../accounts/sign-in.ts';
import type { Frame } from '../pages/layout.ts';
import { leadOnward } from '../pages/onward.ts';
import { respondPage } from '../pages/respond.ts';
import { signInPage } from '../pages/sign-in.ts';
import type { Route } from '../routes.ts';
import { answerOptions, askToWait, type Complaint } from './complaint.ts';
import type { Errand } from './errand.ts';
import { findErrand } from './errands.ts';
import { createPasskeyLogin } from './passkey-login.ts';
import type { Rooms } from './rooms.ts';
import { readSignInForm } from './sign-in-form.ts';
import type { Welcome } from './welcome.ts';

/** What is said of a sign-in that did not succeed. */
interface SignInComplaint extends Omit<Complaint, 'wrong'> {
  readonly email: string;
  /** With the password. */
  readonly wrong: string | null;
  /** With anything else. */
  readonly trouble?: string;
}

/** What signing in works with. */
interface LoginHands {
  readonly signIn: SignInHand;
  /** `null` where there are none. */
  readonly passkeys: Passkeys | null;
  readonly welcome: Welcome;
}

export function createLogin(rooms: Rooms, { signIn, passkeys, welcome }: LoginHands): readonly Route[] {
  const { checkOpening, configuration, edge, frame, formTokens } = rooms;
  const providers = [...configuration.identityProviders.values()].map(({ id, name }) => ({ id, name }));

  const show = (errand: Errand, complaint: SignInComplaint | null): Promise<HttpResponse> => {
    const page = signInPage(frame, {
      purpose: errand.purpose,
      fields: errand.fields,
      token: formTokens.mint('login', ...errand.bound),
      email: complaint?.email ?? '',
      wrong: complaint?.wrong ?? null,
      trouble: complaint?.trouble ?? null,
      isLocal: configuration.localAccounts,
      passkeyOptions: passkeys === null ? null : passkeys.requestOptions(errand.bound),
      providers,
    });
    return respondPage(page, {
      ...answerOptions(complaint),
      cookies: errand.cookies,
      script: configuration.localAccounts && passkeys !== null,
    });
  };

  const showTrouble = (errand: Errand, trouble: string) =>
    show(errand, { email: '', wrong: null, trouble, status: 400 });

  return [
    edge.route('GET', '/login', async (request) => {
      const errand = await findErrand(rooms, request, readParameters(queryOf(request)));
      if ('missing' in errand) return edge.refuse('/login', errand.missing);
      return errand.isSignedIn ? errand.proceed() : show(errand, null);
    }),

    ...[...configuration.identityProviders.values()].map((identityProvider) =>
      edge.route('POST', `/login/${identityProvider.id}`, async (request, peer) => {
        const found = await readSignInForm(rooms, request, `/login/${identityProvider.id}`);
        if ('refusal' in found) return found.refusal;
        // A stranger's departure is kept as a stranger's request is.
        if (!found.errand.isSignedIn) await checkOpening(peer);
        const answer = await found.errand.goTo(identityProvider);
        return answer.headers['location']?.startsWith('/') ? answer : leadOnward(frame, answer);
      }),
    ),

    edge.route('POST', '/login', async (request, peer) => {
      const found = await readSignInForm(rooms, request, '/login');
      if ('refusal' in found) return found.refusal;
      const { form, errand } = found;
      // Nobody has a password here: who posts one has not seen our page.
      if (!configuration.localAccounts) return edge.refuse('/login', 'bad-form');
      const email = form.one('email') ?? '';
      const password = form.one('password') ?? '';
      if (email === '' || password === '') {
        return show(errand, { email, wrong: frame.text('sign-in.wrong.empty'), status: 400 });
      }
      const outcome = await signIn(email, password, { request, peer });
      if (outcome.kind !== 'signed-in') return show(errand, complain(frame, email, outcome));

      return welcome(request, peer, errand, outcome.account, 'one');
    }),

    ...(passkeys === null || !configuration.localAccounts
      ? []
      : [createPasskeyLogin(rooms, passkeys, welcome, showTrouble)]),
  ];
}

/** The same words whether the account is unknown, disabled, or has another password. */
function complain(
  frame: Frame,
  email: string,
  outcome: { kind: 'refused' } | { kind: 'wait'; seconds: number },
): SignInComplaint {
  if (outcome.kind === 'wait') return { email, ...askToWait(frame, outcome.seconds) };
  return { email, wrong: frame.text('sign-in.wrong.refused'), status: 400 };
}
