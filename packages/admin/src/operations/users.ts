/** Operations on user accounts: one-time links, state, role, sessions and second factors. */
import { type AccountLink, findGroupsIssue, type ListedAccount } from '@portcullis/authorization-server';
import type { SessionRecord } from '@portcullis/authorization-server/store';
import * as z from 'zod';
import { NO_LOCAL_ACCOUNTS } from './accounts.ts';
import { type Administration, type AdminRequest, recordChange } from './administration.ts';
import { found, OperationError } from './errors.ts';

export const roleSchema = z.enum(['operator', 'viewer']);

/** An account with what its page shows. */
export interface UserDetails extends ListedAccount {
  readonly name: string | null;
  readonly groups: readonly string[];
  /** The groups with their origin: one may come from several. */
  readonly memberships: Awaited<ReturnType<Administration['accounts']['groups']>>;
  /** The address that an identity provider verified, or of the local account; `null`: none. */
  readonly verifiedEmail: string | null;
  readonly secondFactors: { readonly totp: boolean; readonly passkeys: number };
}

/** @param named an identifier or an email address @throws OperationError */
export async function findUser(
  { accounts }: Pick<Administration, 'accounts'>,
  named: string,
): Promise<ListedAccount> {
  const account = await accounts.find(named).catch((cause: unknown) => {
    throw new OperationError('conflict', cause instanceof Error ? cause.message : String(cause), { cause });
  });
  return found(account, `account ${named}`);
}

export async function showUser(admin: Administration, named: string): Promise<UserDetails> {
  const account = await findUser(admin, named);
  const [{ name = null, email = null, groups = [] }, memberships, totp, passkeys] = await Promise.all([
    admin.accounts.claims(account.id),
    admin.accounts.groups(account.id),
    admin.store.findTotpFactor(account.id),
    admin.store.listPasskeys(account.id),
  ]);
  const secondFactors = { totp: totp !== null, passkeys: passkeys.length };
  return { ...account, name, groups, memberships, verifiedEmail: email, secondFactors };
}

/** An account that was created. */
export interface InvitedUser {
  readonly account: ListedAccount;
  /** For its owner; `null`: it is mailed. */
  readonly link: AccountLink | null;
}

/** What of a profile was given. @throws OperationError for groups that a user cannot have */
function profileOf({ name, groups }: Pick<NewUser, 'name' | 'groups'>) {
  const issue = findGroupsIssue(groups ?? []);
  if (issue !== null) throw new OperationError('invalid', issue);
  return { ...(name !== undefined && { name }), ...(groups !== undefined && { groups }) };
}

const profile = {
  name: z.string().max(200).optional().describe('empty: none'),
  groups: z.array(z.string().max(200)).max(100).optional(),
};

export const newUser = {
  email: z.string().max(300),
  role: roleSchema.nullable().default(null),
  ...profile,
};

/** An account to create. */
type NewUser = Readonly<z.output<z.ZodObject<typeof newUser>>>;

/** Creates an account and the link for its owner, which is mailed if mail is configured. */
export async function inviteUser(
  request: AdminRequest,
  { email, role, name, groups }: NewUser,
): Promise<InvitedUser> {
  const { admin } = request;
  const described = profileOf({ name, groups });
  const created = await admin.accounts.add(email, admin.sendsMail);
  if ('refused' in created) {
    const { refused } = created;
    if (refused === 'no-address')
      throw new OperationError('invalid', 'The email must be an address such as you@example.com.');
    const exists = `There is an account for ${email} already: create a reset link for it.`;
    throw new OperationError('conflict', refused === 'exists' ? exists : NO_LOCAL_ACCOUNTS);
  }
  // By its identifier: a user of an identity provider may have the same address.
  const { accountId, ...link } = created;
  if (role !== null) await admin.accounts.setRole(accountId, role);
  await admin.accounts.describe(accountId, described);
  const account = await findUser(admin, accountId);
  const after = { email: account.email, role, ...described };
  recordChange(request, 'users.invite', account.id, { after });
  return { link: admin.sendsMail ? null : link, account };
}

export const userChanges = {
  role: roleSchema.nullable().optional().describe('null: it administers nothing'),
  ...profile,
  now: z
    .boolean()
    .default(false)
    .describe('whether all connections of a user who loses a group end at once; otherwise at the next call'),
};

/** What an operator may change of an account. */
export type UserChanges = Readonly<z.input<z.ZodObject<typeof userChanges>>>;

export async function updateUser(
  request: AdminRequest,
  named: string,
  { role, name, groups, now }: UserChanges,
): Promise<UserDetails> {
  const { admin, operator } = request;
  const before = await showUser(admin, named);
  const isOther = role !== undefined && role !== before.role;
  // Only operators change this, so one always remains.
  if (before.id === operator.accountId && (isOther || groups !== undefined))
    throw new OperationError(
      'conflict',
      'You cannot change your own role or groups: another operator can do this.',
    );
  const changes = profileOf({ name, groups });
  if (Object.keys(changes).length > 0 && !(await admin.accounts.describe(before.id, changes, now)))
    throw new OperationError(
      'conflict',
      'Name and groups of this account are those of its identity provider: change them there.',
    );
  if (role !== undefined) found(await admin.accounts.setRole(before.id, role), `account ${named}`);
  const after = await showUser(admin, before.id);
  recordChange(request, 'users.update', before.id, {
    before: { role: before.role, name: before.name, groups: before.groups },
    after: { role: after.role, name: after.name, groups: after.groups },
  });
  return after;
}

export async function changeUserState(
  request: AdminRequest,
  named: string,
  change: 'disable' | 'enable' | 'remove',
): Promise<ListedAccount> {
  const { admin, operator } = request;
  const before = await findUser(admin, named);
  if (change !== 'enable' && before.id === operator.accountId)
    throw new OperationError('conflict', 'You cannot lock yourself out: another operator can do this.');
  found(await admin.accounts[change](before.id), `account ${named}`);
  const after = change === 'remove' ? null : await findUser(admin, before.id);
  recordChange(request, `users.${change}`, before.id, {
    before: { email: before.email, disabledAt: before.disabledAt },
    after: after && { email: after.email, disabledAt: after.disabledAt },
  });
  return after ?? before;
}

/** A copied session or token of an operator does not replace the credentials of its user: the account page asks for one of them. */
function checkOtherUser({ operator }: AdminRequest, id: string): void {
  if (id === operator.accountId)
    throw new OperationError(
      'conflict',
      'You cannot reset your own credentials here: change them on the account page, or ask another operator.',
    );
}

const RESET_REFUSALS = {
  disabled: 'The account is disabled: enable it first.',
  unknown: 'The account signs in at an identity provider: nothing is reset here.',
  'no-local-accounts': NO_LOCAL_ACCOUNTS,
} as const;

/** Creates a link with which the owner of a local account chooses new credentials. */
export async function createResetLink(request: AdminRequest, named: string): Promise<AccountLink> {
  const { admin } = request;
  const account = await findUser(admin, named);
  checkOtherUser(request, account.id);
  const created = await admin.accounts.reset(account.id);
  if ('refused' in created) throw new OperationError('conflict', RESET_REFUSALS[created.refused]);
  recordChange(request, 'users.reset', account.id, { after: { expiresAt: created.expiresAt } });
  return created;
}

export async function listUserSessions(
  admin: Administration,
  named: string,
): Promise<readonly SessionRecord[]> {
  const { id } = await findUser(admin, named);
  return admin.store.listSessions(id, admin.clock());
}

/** @returns how many */
export async function endUserSessions(request: AdminRequest, named: string): Promise<number> {
  const { admin } = request;
  const { id } = await findUser(admin, named);
  const count = await admin.store.endSessions(id, null);
  if (count > 0) admin.events({ type: 'session.ended', accountId: id, count, reason: 'operator' });
  recordChange(request, 'users.end_sessions', id, { before: { sessions: count }, after: { sessions: 0 } });
  return count;
}

/** Removes the second factors of a user who has lost them. */
export async function resetSecondFactor(request: AdminRequest, named: string): Promise<UserDetails> {
  const { admin } = request;
  const before = await showUser(admin, named);
  checkOtherUser(request, before.id);
  const { store } = admin;
  if (await store.removeTotpFactor(before.id))
    admin.events({ type: 'second_factor.disabled', accountId: before.id, reason: 'operator' });
  for (const { id } of await store.listPasskeys(before.id))
    if (await store.removePasskey(before.id, id))
      admin.events({ type: 'passkey.removed', accountId: before.id, passkeyId: id, reason: 'operator' });
  const after = await showUser(admin, before.id);
  recordChange(request, 'users.reset_second_factor', before.id, {
    before: before.secondFactors,
    after: after.secondFactors,
  });
  return after;
}
