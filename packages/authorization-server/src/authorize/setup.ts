/** The first start: a one-time link, a form, the first account. */
import { type HttpResponse, queryOf, readForm } from '@portcullis/http';
import { type Parameters, readParameters } from '@portcullis/protocol';
import { emailKey } from '../accounts/email.ts';
import type { FirstAccount } from '../accounts/first-account.ts';
import type { KnownBrowsers } from '../accounts/known-browsers.ts';
import { judgePassword } from '../pages/chosen-password.ts';
import { respondPage, respondRedirect } from '../pages/respond.ts';
import { readyPage, type SetupIssues, setupPage } from '../pages/setup.ts';
import type { Route } from '../routes.ts';
import { loginPath } from './errands.ts';
import { isForeignForm } from './form-tokens.ts';
import type { Rooms } from './rooms.ts';
import { signsInHere } from './signs-in-here.ts';

const NO_ISSUES: SetupIssues = { email: null, password: null, passwordAgain: null };

/** What setting up works with. */
interface SetupHands {
  readonly firstAccount: FirstAccount;
  readonly knownBrowsers: KnownBrowsers;
  /** Whether people who sign in here can have passkeys. */
  readonly hasPasskeys: boolean;
}

/** The token of the link proves who may use the form, so it needs no other. */
export function createSetup(
  rooms: Rooms,
  { firstAccount, knownBrowsers, hasPasskeys }: SetupHands,
): readonly Route[] {
  const { configuration, edge, formTokens, frame, sessions } = rooms;

  const show = (token: string, email: string, wrong: SetupIssues): Promise<HttpResponse> => {
    const status = wrong === NO_ISSUES ? 200 : 400;
    return respondPage(setupPage(frame, { token, email, wrong }), {
      status,
    });
  };

  /** The link is for the first account alone: whoever has that one signs in. */
  const refuse = async (): Promise<HttpResponse> => {
    if (!(await configuration.store.hasAccounts())) return edge.refuse('/setup', 'spent-link');
    const action = { label: frame.text('sign-in.submit'), href: loginPath('account', false) };
    return edge.refuse('/setup', 'set-up', { action });
  };

  return [
    edge.route('GET', '/setup', async (request) => {
      const token = readParameters(queryOf(request)).one('token');
      const user = await sessions.find(request);
      if (token === undefined && user !== null) {
        const signOutToken = formTokens.mint('logout', user.sessionHash);
        const offersPasskey = hasPasskeys && (await signsInHere(rooms, user));
        const { email } = user.account;
        return respondPage(readyPage(frame, { email, offersPasskey, token: signOutToken }));
      }
      const isOpen = token !== undefined && (await firstAccount.isOpen(token));
      return isOpen ? show(token, '', NO_ISSUES) : refuse();
    }),

    edge.route('POST', '/setup', async (request, peer) => {
      const form = await readForm(request);
      const token = form.one('token') ?? '';
      if (isForeignForm(request, configuration.issuer)) return edge.refuse('/setup', 'stale-form');
      if (!(await firstAccount.isOpen(token))) return refuse();
      const email = form.one('email') ?? '';
      const issues = judge(form);
      if (issues !== NO_ISSUES) return show(token, email, issues);
      const account = await firstAccount.create(token, email, form.required('password'));
      if (account === null) return refuse();
      const session = await sessions.open(request, peer, account.id);
      return respondRedirect('/setup', [session, knownBrowsers.mark(request, account)]);
    }),
  ];
}

function judge(form: Parameters): SetupIssues {
  const key = emailKey(form.one('email') ?? '');
  const issues = judgePassword(form, key ?? '');
  if (key !== null && issues === null) return NO_ISSUES;
  const email = key === null ? 'setup.wrong.email' : null;
  return { email, password: issues?.password ?? null, passwordAgain: issues?.passwordAgain ?? null };
}
