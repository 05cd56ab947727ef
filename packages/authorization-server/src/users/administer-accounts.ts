/** Account administration: add, list, disable, enable, remove and reset accounts. */
import { USER_CLAIMS } from '@portcullis/protocol';
import type { ServerContext, StoreContext } from '../context.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import type { AccountLinkRecord, AccountRecord, AccountRole } from '../store/index.ts';
import { createAccountRecord, emailKey, findAccountsByVerifiedEmail } from './accounts.ts';
import { unusableHash } from './passwords.ts';
import { saveProfile } from './save-profile.ts';
import {
  claimGroups,
  claimText,
  findGroupsIssue,
  type ReleasedClaims,
  readUserClaims,
} from './user-claims.ts';

/** Lifetimes of one-time links, in seconds. */
const LINK_LIFETIMES = { invitation: 7 * 86_400, reset: 86_400 } as const;

/** A one-time link with which its holder sets the credentials of an account. */
export interface AccountLink {
  readonly link: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

/** The link, or why there is none. */
type CreatedLink = AccountLink | { readonly refused: 'unknown' | 'disabled' | 'no-local-accounts' };

/** Begins the token of a link that is mailed on a request for the address; no other token has a dot. */
const MAILED = 'mailed.';

/** Whether a link came by mail alone: it proves one factor, so that a second one remains. */
export function isMailedLink(token: string): boolean {
  return token.startsWith(MAILED);
}

/** An account as administrators see it. */
export type ListedAccount = Pick<
  AccountRecord,
  'id' | 'email' | 'emailKey' | 'createdAt' | 'disabledAt' | 'role'
>;

/** What servers may learn of the owner of a local account. */
interface AccountProfile {
  /** Display name; empty: none. */
  readonly name?: string;
  /** Empty: none. */
  readonly groups?: readonly string[];
}

/** A group, and where the membership comes from. */
interface OriginatedGroup {
  readonly name: string;
  /** `operator`: set by `describe`; `sign-in`: claims of the last sign-in; `scim`: provisioned by the identity provider. */
  readonly origin: 'operator' | 'sign-in' | 'scim';
}

/** What administration needs: a store, but no running server. */
export type AccountAdministrationContext = StoreContext &
  Pick<ServerContext['options'], 'issuer'> & {
    /** The option: without local accounts, none is created, and no link. Default true. */
    readonly localAccounts?: boolean;
  };

/**
 * Administers the accounts of a store. Accounts are named by identifier, or by e-mail address: of a local account, or as an identity
 * provider verified it at the last login. Each method throws for an address of several accounts, and names them.
 */
export interface AccountAdministration {
  /**
   * Creates an account and the link with which its owner chooses credentials.
   * @param isInvited whether the owner gets an invitation by mail: its link replaces this one
   */
  add(
    email: string,
    isInvited?: boolean,
  ): Promise<
    | (AccountLink & { readonly accountId: string })
    | { readonly refused: 'no-address' | 'exists' | 'no-local-accounts' }
  >;
  /** The account of a name; `null` for an unknown one. */
  find(account: string): Promise<ListedAccount | null>;
  /** The groups of an account with their origin; empty for an unknown one. @param id of the account */
  groups(id: string): Promise<readonly OriginatedGroup[]>;
  /** What access tokens may contain about the user of an account; empty for an unknown one. @param id of the account */
  claims(id: string): Promise<ReleasedClaims>;
  /** Accounts ordered by `emailKey`, after that in `after`, at most `limit`. */
  list(after?: string, limit?: number): Promise<readonly ListedAccount[]>;
  /**
   * Sets name and groups of a local account, for servers that ask for them; what is left out stays. Accounts of identity
   * providers get theirs at each login. What a user loses with a group ends at the next call and the next refresh.
   * @param endsAccess whether the grants of a user who loses a group end at once, with everything that depends on them
   * @returns `false` for an unknown account
   * @throws Error for groups that a user cannot have, as `findGroupsIssue` says
   */
  describe(account: string, profile: AccountProfile, endsAccess?: boolean): Promise<boolean>;
  /** Changes what an account may administer; `null`: nothing. @returns `false` for an unknown account */
  setRole(account: string, role: AccountRole | null): Promise<boolean>;
  /** Ends the sessions and revokes the grants and tokens of an account; it cannot log in until it is enabled. @returns `false` for an unknown account */
  disable(account: string): Promise<boolean>;
  /** Allows logins again. Revoked grants and ended sessions stay so. @returns `false` for an unknown account */
  enable(account: string): Promise<boolean>;
  /**
   * Deletes an account and everything stored for it, and revokes its grants. The audit log keeps its identifier. A user of an
   * identity provider gets a new account at the next login: to block them, disable the account instead.
   * @returns `false` for an unknown account
   */
  remove(account: string): Promise<boolean>;
  /**
   * Creates a link with which the owner chooses new credentials. Using it ends all sessions and removes all other credentials.
   * @param isMailed whether it is mailed on request: then the second factor remains
   */
  reset(email: string, isMailed?: boolean): Promise<CreatedLink>;
  /**
   * Like `reset` with a mailed link, for an owner who has not signed in yet: the link is valid longer. Its mail may be late, so that
   * a second factor that was set up meanwhile remains.
   */
  invite(email: string): Promise<CreatedLink>;
}

/** Administers the accounts of a store, with or without a server beside it. */
export function createAccountAdministration(context: AccountAdministrationContext): AccountAdministration {
  const { issuer, store, clock, events, localAccounts = true } = context;
  const find = (name: string) => findNamedAccount(store, name);
  const makeLink = (accountId: string, purpose: AccountLinkRecord['purpose'], isMailed = false) => {
    const token = isMailed ? `${MAILED}${newSecret()}` : newSecret();
    const createdAt = clock();
    const expiresAt = createdAt + LINK_LIFETIMES[purpose];
    const hash = hashSecret(token);
    const record: AccountLinkRecord = { hash, accountId, purpose, isMailed, createdAt, expiresAt };
    return { record, created: { link: `${new URL(issuer).origin}/${purpose}?token=${token}`, expiresAt } };
  };
  /** The link replaces earlier ones of the account, a mailed link only mailed ones. Users without an e-mail key log in at an identity provider only. */
  const saveLink = async (
    named: string,
    purpose: AccountLinkRecord['purpose'],
    isMailed = false,
  ): Promise<CreatedLink> => {
    const account = await findLocalAccount(store, named);
    if (account === null) return { refused: 'unknown' };
    if (!localAccounts) return { refused: 'no-local-accounts' };
    if (account.disabledAt !== null) return { refused: 'disabled' };
    const { record, created } = makeLink(account.id, purpose, isMailed);
    await store.saveAccountLink(record);
    if (purpose === 'reset') events({ type: 'account.reset_link_created', accountId: account.id });
    return created;
  };
  const change = async (
    type: 'account.disabled' | 'account.enabled' | 'account.removed',
    named: string,
    save: (id: string) => Promise<boolean>,
  ): Promise<boolean> => {
    const account = await find(named);
    if (account === null || !(await save(account.id))) return false;
    events({ type, accountId: account.id });
    return true;
  };

  const endGrants = async (accountId: string) => {
    const count = await store.revokeAccountGrants(accountId, null, clock());
    if (count > 0) events({ type: 'grant.revoked', accountId, count, reason: 'operator' });
  };
  return {
    async add(email, isInvited = false) {
      if (!localAccounts) return { refused: 'no-local-accounts' };
      const key = emailKey(email);
      if (key === null) return { refused: 'no-address' };
      const account = createAccountRecord(email.trim(), key, unusableHash(), clock());
      const { record, created } = makeLink(account.id, 'invitation', isInvited);
      if (!(await store.createAccount(account, record))) return { refused: 'exists' };
      events({ type: 'account.created', accountId: account.id });
      if (isInvited) events({ type: 'account.invitation_requested', accountId: account.id });
      return { ...created, accountId: account.id };
    },
    async find(named) {
      const account = await find(named);
      return account && listed(account);
    },
    async groups(id) {
      const [account, profile] = await Promise.all([store.findAccount(id), store.findProfile(id)]);
      if (account === null) return [];
      const origin = account.emailKey.includes('@') ? 'operator' : 'sign-in';
      const { groups = [], provisionedGroups = [] } = profile ?? {};
      return [
        ...provisionedGroups.map((name) => ({ name, origin: 'scim' as const })),
        ...groups.map((name) => ({ name, origin }) as const),
      ];
    },
    claims: (id) => readUserClaims(store, id, USER_CLAIMS),
    async list(after = '', limit = 100) {
      return (await store.listAccounts(after, limit)).map(listed);
    },
    async describe(named, { name, groups }, endsAccess = false) {
      const issue = findGroupsIssue(groups ?? []);
      if (issue !== null) throw new Error(issue);
      const account = await findLocalAccount(store, named);
      if (account === null) return false;
      const { id } = account;
      const before = await store.findProfile(id);
      const { groups: earlier } = await readUserClaims(store, id, ['groups']);
      const isSaved = await saveProfile(
        context,
        id,
        {
          email: null,
          name: name === undefined ? (before?.name ?? null) : claimText(name),
          groups: groups === undefined ? (before?.groups ?? []) : claimGroups(groups),
        },
        null,
      );
      const { groups: current = [] } = await readUserClaims(store, id, ['groups']);
      if (endsAccess && earlier?.some((group) => !current.includes(group)) === true) await endGrants(id);
      return isSaved;
    },
    async setRole(named, role) {
      const account = await find(named);
      if (account === null || !(await store.setAccountRole(account.id, role))) return false;
      if (account.role !== role)
        events({ type: 'account.role_changed', accountId: account.id, role, previousRole: account.role });
      return true;
    },
    disable: (named) => change('account.disabled', named, (id) => store.disableAccount(id, clock())),
    enable: (named) => change('account.enabled', named, (id) => store.enableAccount(id)),
    // Point of no return: the account and its grants are gone.
    remove: (named) => change('account.removed', named, (id) => store.removeAccount(id, clock())),
    reset: (named, isMailed) => saveLink(named, 'reset', isMailed),
    invite: (named) => saveLink(named, 'invitation', true),
  };
}

/**
 * Finds an account by identifier or e-mail address.
 * @throws Error for an address of several accounts, which it names
 */
export async function findNamedAccount(
  store: ServerContext['store'],
  named: string,
): Promise<AccountRecord | null> {
  const key = emailKey(named);
  if (key === null) return findById(store, named);
  const local = await store.findAccountByEmail(key);
  const federated = await findAccountsByVerifiedEmail(store, key);
  const all = local === null ? federated : [local, ...federated];
  const [found = null, another] = all;
  if (another === undefined) return found;
  const names = all.map(({ id, email }) => `${id} (${email})`);
  throw new Error(`Several accounts have the address ${key}. Name one by its ID: ${names.join(', ')}`);
}

async function findLocalAccount(store: ServerContext['store'], named: string): Promise<AccountRecord | null> {
  const key = emailKey(named);
  const account = key === null ? await findById(store, named) : await store.findAccountByEmail(key);
  return account?.emailKey.includes('@') === true ? account : null;
}

async function findById(store: ServerContext['store'], named: string): Promise<AccountRecord | null> {
  return named.startsWith('user_') ? store.findAccount(named) : null;
}

function listed({ id, email, emailKey, createdAt, disabledAt, role }: AccountRecord): ListedAccount {
  return { id, email, emailKey, createdAt, disabledAt, role };
}
