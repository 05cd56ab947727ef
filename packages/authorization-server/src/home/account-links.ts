/** Invitations and resets: a one-time link, a choice how to sign in, and the owner is in. */
import { type HttpRequest, type HttpResponse, queryOf, readForm } from '@portcullis/http';
import { type Parameters, readParameters } from '@portcullis/protocol';
import type { KnownBrowsers } from '../accounts/known-browsers.ts';
import type { Passkeys } from '../accounts/passkeys.ts';
import { type Passwords, unusableHash } from '../accounts/passwords.ts';
import { isForeignForm } from '../authorize/form-tokens.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { accountLinkPage } from '../pages/account-link.ts';
import { judgePassword, type PasswordIssues } from '../pages/chosen-password.ts';
import { respondPage, respondRedirect } from '../pages/respond.ts';
import type { AccountLinkRecord, AccountRecord, PasskeyRecord } from '../ports/index.ts';
import type { Peer, Route } from '../routes.ts';
import { hashSecret } from '../secrets.ts';
import { newsPath } from './news.ts';
import { suggestedName } from './passkeys.ts';

/** A link that works, and whose it is. */
interface OpenLink {
  readonly token: string;
  readonly record: AccountLinkRecord;
  readonly account: AccountRecord;
}

type Chosen = { readonly passwordHash: string; readonly passkey: PasskeyRecord | null };

/** Whoever has the link may use it, in any browser; a passkey that was made for it is for no other. */
function boundTo({ record }: OpenLink): readonly string[] {
  return ['link', record.hash];
}

/** Where the owner is led then. */
const THEN = { invitation: '/setup', reset: newsPath('reset') } as const;

/** What choosing how to sign in works with. */
interface LinkHands {
  readonly passwords: Passwords;
  /** `null` where there are none. */
  readonly passkeys: Passkeys | null;
  readonly knownBrowsers: KnownBrowsers;
}

/** The token of the link proves who may use the form, so it needs no other. */
export function createAccountLinks(
  rooms: Rooms,
  { passwords, passkeys, knownBrowsers }: LinkHands,
): readonly Route[] {
  const { configuration, edge, frame, sessions } = rooms;
  const { store, clock, events } = configuration;

  const find = async (token: string | undefined): Promise<OpenLink | null> => {
    if (token === undefined) return null;
    const record = await store.findAccountLink(hashSecret(token), clock());
    const account = record === null ? null : await store.findAccount(record.accountId);
    return record === null || account === null ? null : { token, record, account };
  };

  const show = (
    link: OpenLink,
    wrong: PasswordIssues | null,
    trouble: string | null = null,
  ): Promise<HttpResponse> => {
    const { token, record, account } = link;
    const page = accountLinkPage(frame, {
      purpose: record.purpose,
      token,
      email: account.email,
      wrong,
      trouble,
      passkeyOptions: passkeys?.creationOptions(account, [], boundTo(link)) ?? null,
    });
    const status = wrong === null && trouble === null ? 200 : 400;
    return respondPage(page, { status, script: passkeys !== null });
  };

  const use = async (request: HttpRequest, peer: Peer, { record, account }: OpenLink, chosen: Chosen) => {
    // Point of no return: the link is spent, and every way in but this one.
    if (!(await store.useAccountLink(record.hash, chosen, clock()))) {
      return edge.refuse(`/${record.purpose}`, 'spent-link');
    }
    events({ type: 'account.link_used', accountId: account.id });
    const known = knownBrowsers.mark(request, { ...account, passwordHash: chosen.passwordHash });
    return respondRedirect(THEN[record.purpose], [await sessions.open(request, peer, account.id), known]);
  };

  const usePassword = async (request: HttpRequest, peer: Peer, link: OpenLink, form: Parameters) => {
    const issues = judgePassword(form, link.account.emailKey);
    if (issues !== null) return show(link, issues);
    const passwordHash = await passwords.hash(form.required('password'), link.account.emailKey);
    return use(request, peer, link, { passwordHash, passkey: null });
  };

  const usePasskey = async (request: HttpRequest, peer: Peer, link: OpenLink, answer: string) => {
    const name = suggestedName(frame, request);
    const passkey = (await passkeys?.judgeNew(link.account, answer, name, boundTo(link))) ?? null;
    if (passkey === null) return show(link, null, frame.text('passkey.not-used'));
    return use(request, peer, link, { passwordHash: unusableHash(), passkey });
  };

  const routesOf = (purpose: AccountLinkRecord['purpose']): readonly Route[] => [
    edge.route('GET', `/${purpose}`, async (request) => {
      const link = await find(readParameters(queryOf(request)).one('token'));
      return link?.record.purpose === purpose ? show(link, null) : edge.refuse(`/${purpose}`, 'spent-link');
    }),

    edge.route('POST', `/${purpose}`, async (request, peer) => {
      const form = await readForm(request);
      if (isForeignForm(request, configuration.issuer)) return edge.refuse(`/${purpose}`, 'stale-form');
      const link = await find(form.one('token'));
      if (link?.record.purpose !== purpose) return edge.refuse(`/${purpose}`, 'spent-link');
      const answer = form.one('credential');
      return answer === undefined
        ? usePassword(request, peer, link, form)
        : usePasskey(request, peer, link, answer);
    }),
  ];
  return [...routesOf('invitation'), ...routesOf('reset')];
}
