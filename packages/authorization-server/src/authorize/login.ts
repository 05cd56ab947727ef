/** Sign-in, for the flow of an app or for the pages of one's own account. */
import { readForm } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { SignInHand } from '../accounts/sign-in.ts';
import { respondPage } from '../pages/respond.ts';
import { signInPage } from '../pages/sign-in.ts';
import { duration } from '../pages/times.ts';
import type { Route } from '../routes.ts';
import { type Errand, findErrand } from './errands.ts';
import { isForeignForm } from './form-tokens.ts';
import type { Rooms } from './rooms.ts';

/** What is said of a sign-in that did not succeed. */
interface Complaint {
  readonly email: string;
  readonly wrong: string;
  readonly status: number;
  readonly retryAfter?: number;
}

export function createLogin(rooms: Rooms, signIn: SignInHand): readonly Route[] {
  const { configuration, edge, sessions, formTokens } = rooms;

  const show = (errand: Errand, complaint?: Complaint): Promise<Response> => {
    const page = signInPage(rooms.frame, {
      appName: errand.appName,
      fields: errand.fields,
      token: formTokens.mint('login', ...errand.bound),
      email: complaint?.email ?? '',
      wrong: complaint?.wrong ?? null,
    });
    const { status = 200, retryAfter } = complaint ?? {};
    const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
    return respondPage(page, { status, headers, cookies: errand.cookies });
  };

  return [
    edge.route('GET', '/login', async (request) => {
      const errand = await findErrand(rooms, request, readParameters(new URL(request.url).searchParams));
      if ('missing' in errand) return edge.refuse('/login', errand.missing);
      return errand.isSignedIn ? errand.proceed() : show(errand);
    }),

    edge.route('POST', '/login', async (request, peer) => {
      const form = await readForm(request);
      const errand = await findErrand(rooms, request, form);
      if ('missing' in errand) return edge.refuse('/login', errand.missing);
      const isOurs = formTokens.matches(form.one('token'), 'login', ...errand.bound);
      if (!isOurs || isForeignForm(request, configuration.issuer)) {
        const action = { label: 'Sign in again', href: errand.path };
        return edge.refuse('/login', 'stale-form', { action });
      }
      const email = form.one('email') ?? '';
      const password = form.one('password') ?? '';
      if (email === '' || password === '') {
        return show(errand, { email, wrong: 'Enter your email and your password.', status: 400 });
      }
      const outcome = await signIn(email, password, peer.address);
      if (outcome.kind !== 'signed-in') return show(errand, complain(email, outcome));

      const { account } = outcome;
      return errand.proceedAs(account.id, await sessions.open(request, peer, account.id));
    }),
  ];
}

/** The same words whether the account is unknown, disabled, or has another password. */
function complain(
  email: string,
  outcome: { kind: 'refused' } | { kind: 'wait'; seconds: number },
): Complaint {
  if (outcome.kind === 'refused') {
    return { email, wrong: 'This email and password do not match.', status: 400 };
  }
  const wrong = `Too many attempts. Try again in ${inWords(outcome.seconds)}.`;
  return { email, wrong, status: 429, retryAfter: outcome.seconds };
}

/** Never less than it takes. */
function inWords(seconds: number): string {
  return seconds < 60 ? duration(seconds) : duration(Math.ceil(seconds / 60) * 60);
}
