/** What mails contain beside their texts: recipients, names of apps, and links, which are created when a mail is sent. */
import type { FindClient } from '../clients/find-client.ts';
import type { ServerContext } from '../context.ts';
import { displayName } from '../display-name.ts';
import type { EncryptedJson } from '../encryption/encrypted-json.ts';
import type { FederationOptions } from '../federation/provider/identity-provider.ts';
import type { AuditEventRecord } from '../store/index.ts';
import { type AccountLink, createAccountAdministration } from '../users/administer-accounts.ts';
import { findApprovers } from './find-approvers.ts';
import { type Notice, type NoticeKind, noticeOf } from './notices.ts';
import { SIGN_IN_LINK_PATH, type SignInLink, signInLinkOf } from './sign-in-links.ts';

/** Links and names for mails about audit events. */
export interface MailedLinks {
  /** The address of an account: its own, or as its identity provider verified it; `null`: it has none, or is disabled or gone. */
  findAddress(accountId: string): Promise<string | null>;
  /**
   * The language of the newest session of an account; `null`: not known.
   * @param except a session that may be that of an attacker
   */
  findLanguage(accountId: string, except: string | null): Promise<string | null>;
  /** The accounts of users who decide about a call by one of some groups, at most 100. Reads all profiles. */
  findApprovers(groups: readonly string[]): Promise<readonly string[]>;
  /** A one-time link; it replaces those that were mailed earlier. @returns `null`: the account is disabled or gone */
  createAccountLink(accountId: string, purpose: 'invitation' | 'reset'): Promise<AccountLink | null>;
  /** What its user is told of an event, and the link "this was not me"; `null`: nothing. */
  createNotice(event: AuditEventRecord): { readonly kind: NoticeKind; readonly link: string } | null;
  /** The link that an event requested, for the browser that requested it; `null`: the event is no such request. */
  createSignInLink(event: AuditEventRecord): AccountLink | null;
  /** The name of a client, safe to show; `null`: it has none, or is gone. */
  findAppName(clientId: string): Promise<string | null>;
}

/** Mails about one approval. */
const MAX_APPROVERS = 100;

export const NOTICE_PATH = '/notice';

/** What the links of mails contain, encrypted, so that nothing is stored. */
export interface LinkTokens {
  readonly notices: EncryptedJson<Notice>;
  readonly signInLinks: EncryptedJson<SignInLink>;
}

export function createMailedLinks(
  context: ServerContext<FederationOptions>,
  findClient: FindClient,
  { notices, signInLinks }: LinkTokens,
): MailedLinks {
  const { store, options, clock } = context;
  const { origin } = new URL(options.issuer);
  const accounts = createAccountAdministration({ ...context, ...options });
  return {
    async findAddress(accountId) {
      const account = await store.findAccount(accountId);
      if (account === null || account.disabledAt !== null) return null;
      if (account.emailKey.includes('@')) return account.emailKey;
      return (await store.findProfile(accountId))?.email ?? null;
    },
    async findLanguage(accountId, except) {
      const sessions = await store.listSessions(accountId, clock());
      return (
        sessions.find(({ hash, language }) => hash !== except && language !== undefined)?.language ?? null
      );
    },
    findApprovers: (groups) => findApprovers(store, groups, options.identityProviders.keys(), MAX_APPROVERS),
    async createAccountLink(accountId, purpose) {
      const made = await (purpose === 'reset' ? accounts.reset(accountId, true) : accounts.invite(accountId));
      return 'refused' in made ? null : made;
    },
    createNotice(event) {
      const notice = noticeOf(event);
      if (notice === null) return null;
      const token = notices.encrypt(notice);
      return { kind: notice.kind, link: `${origin}${NOTICE_PATH}?token=${token}` };
    },
    createSignInLink(event) {
      const link = signInLinkOf(event);
      if (link === null) return null;
      const url = `${origin}${SIGN_IN_LINK_PATH}?token=${signInLinks.encrypt(link)}`;
      return { link: url, expiresAt: link.until };
    },
    async findAppName(clientId) {
      const client = await findClient(clientId, 'resume').catch(() => null);
      const name = displayName(client?.metadata.client_name ?? '');
      return name === '' ? null : name;
    },
  };
}
