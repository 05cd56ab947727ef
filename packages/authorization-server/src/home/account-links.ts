/** Invitations and resets: a one-time link, a choice how to sign in, and the owner is in. */
import { readForm } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import { judgePassword, type PasswordFaults } from '../accounts/chosen-password.ts';
import { SHORTEST_PASSWORD } from '../accounts/password-rules.ts';
import type { Passwords } from '../accounts/passwords.ts';
import { isForeignForm } from '../authorize/form-tokens.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { accountLinkPage } from '../pages/account-link.ts';
import { respondPage, respondRedirect } from '../pages/respond.ts';
import type { AccountLinkRecord, AccountRecord } from '../ports/index.ts';
import type { Peer, Route } from '../routes.ts';
import { hashSecret } from '../secrets.ts';
import { newsPath } from './news.ts';

/** A link that works, and whose it is. */
interface OpenLink {
  readonly token: string;
  readonly record: AccountLinkRecord;
  readonly account: AccountRecord;
}

/** Where the owner is led then. */
const THEN = { invitation: '/setup', reset: newsPath('reset') } as const;

/** The token of the link proves who may use the form, so it needs no other. */
export function createAccountLinks(rooms: Rooms, passwords: Passwords): readonly Route[] {
  const { configuration, edge, frame, sessions } = rooms;
  const { store, clock, events } = configuration;

  const find = async (token: string | undefined): Promise<OpenLink | null> => {
    if (token === undefined) return null;
    const record = await store.findAccountLink(hashSecret(token), clock());
    const account = record === null ? null : await store.findAccount(record.accountId);
    return record === null || account === null ? null : { token, record, account };
  };

  const show = ({ token, record, account }: OpenLink, wrong: PasswordFaults | null): Promise<Response> => {
    const { purpose } = record;
    const page = { purpose, token, email: account.email, shortestPassword: SHORTEST_PASSWORD, wrong };
    return respondPage(accountLinkPage(frame, page), { status: wrong === null ? 200 : 400 });
  };

  const use = async (request: Request, peer: Peer, link: OpenLink, password: string): Promise<Response> => {
    const { record, account } = link;
    const chosen = { passwordHash: await passwords.hash(password), passkey: null };
    // Point of no return: the link is spent, and every way in but this one.
    if (!(await store.useAccountLink(record.hash, chosen, clock()))) {
      return edge.refuse(`/${record.purpose}`, 'spent-link');
    }
    events({ type: 'account.link-used', accountId: account.id });
    return respondRedirect(THEN[record.purpose], [await sessions.open(request, peer, account.id)]);
  };

  const routesOf = (purpose: AccountLinkRecord['purpose']): readonly Route[] => [
    edge.route('GET', `/${purpose}`, async (request) => {
      const link = await find(readParameters(new URL(request.url).searchParams).one('token'));
      return link?.record.purpose === purpose ? show(link, null) : edge.refuse(`/${purpose}`, 'spent-link');
    }),

    edge.route('POST', `/${purpose}`, async (request, peer) => {
      const form = await readForm(request);
      if (isForeignForm(request, configuration.issuer)) return edge.refuse(`/${purpose}`, 'stale-form');
      const link = await find(form.one('token'));
      if (link?.record.purpose !== purpose) return edge.refuse(`/${purpose}`, 'spent-link');
      const faults = judgePassword(form, link.account.emailKey);
      return faults === null ? use(request, peer, link, form.required('password')) : show(link, faults);
    }),
  ];
  return [...routesOf('invitation'), ...routesOf('reset')];
}
