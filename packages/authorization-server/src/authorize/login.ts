/** Sign-in as a step of a flow. */
import { readForm } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { SignInHand } from '../accounts/sign-in.ts';
import { respondPage } from '../pages/respond.ts';
import { signInPage } from '../pages/sign-in.ts';
import type { Route } from '../routes.ts';
import { advance, pagePath } from './advance.ts';
import { appName } from './app-name.ts';
import { type FlowUnderWay, findFlow } from './flows.ts';
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

  const show = (flow: FlowUnderWay, complaint?: Complaint): Promise<Response> => {
    const page = signInPage(rooms.frame, {
      appName: appName(flow.client),
      flow: flow.transaction.id,
      token: formTokens.mint('login', ...flow.bound),
      email: complaint?.email ?? '',
      wrong: complaint?.wrong ?? null,
    });
    const { status = 200, retryAfter } = complaint ?? {};
    return respondPage(page, {
      status,
      headers: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
    });
  };

  return [
    edge.route('GET', '/login', async (request) => {
      const flow = await findFlow(rooms, request, readParameters(new URL(request.url).searchParams));
      if ('missing' in flow) return edge.refuse('/login', flow.missing);
      return flow.subject === null ? show(flow) : advance(rooms, flow);
    }),

    edge.route('POST', '/login', async (request, peer) => {
      const form = await readForm(request);
      const flow = await findFlow(rooms, request, form);
      if ('missing' in flow) return edge.refuse('/login', flow.missing);
      const isOurs = formTokens.matches(form.one('token'), 'login', ...flow.bound);
      if (!isOurs || isForeignForm(request, configuration.issuer)) {
        const action = { label: 'Sign in again', href: pagePath('login', flow.transaction.id) };
        return edge.refuse('/login', 'stale-form', { action });
      }
      const email = form.one('email') ?? '';
      const password = form.one('password') ?? '';
      if (email === '' || password === '') {
        return show(flow, { email, wrong: 'Enter your email and your password.', status: 400 });
      }
      const outcome = await signIn(email, password, peer.address);
      if (outcome.kind !== 'signed-in') return show(flow, complain(email, outcome));

      const { account } = outcome;
      const cookie = await sessions.open(request, peer, account.id);
      await configuration.store.signInTransaction(flow.transaction.id, account.id);
      return advance(rooms, { ...flow, subject: account.id }, [cookie]);
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

function inWords(seconds: number): string {
  if (seconds === 1) return '1 second';
  if (seconds < 100) return `${seconds} seconds`;
  return `${Math.ceil(seconds / 60)} minutes`;
}
