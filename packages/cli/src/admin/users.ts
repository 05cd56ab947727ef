/** `portcullis users`: manages user accounts. */
import { allAccounts, NO_LOCAL_ACCOUNTS } from '@portcullis/admin/operations';
import {
  type AccountLink,
  createAccountAdministration,
  createConnectionAdministration,
  findGroupsIssue,
  type ListedAccount,
} from '@portcullis/authorization-server';
import type { AccountRole } from '@portcullis/authorization-server/store';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { dayOf, timeOf, timeOrNull } from '../terminal/times.ts';
import { REVOCATION_DELAY_NOTICE } from './revocation-delay-notice.ts';
import { type Output, type StoreTask, storeCommands } from './store-commands.ts';
import { issuerOf } from './with-store.ts';

interface Flags {
  readonly name?: string;
  readonly groups?: string;
  readonly role?: string;
  readonly now?: true;
}

function taskOf({ settings, flags, args, processContext: { command }, ...tools }: StoreTask<Flags>) {
  const [email = '', role = ''] = args;
  const { localAccounts } = settings;
  const accounts = createAccountAdministration({ ...tools, issuer: issuerOf(settings), localAccounts });
  return {
    ...tools,
    accounts,
    flags,
    email,
    role,
    command,
    sendsMail: settings.mail !== null,
    admin: settings.admin,
  };
}

type Task = ReturnType<typeof taskOf>;

export function defineUsers(program: Command, processContext: ProcessContext): void {
  const group = program
    .command('users')
    .summary('add, list, show, disable, enable, remove and reset user accounts, and set their roles');
  const define = storeCommands(group, processContext, taskOf);
  const one = (...about: Parameters<typeof define>) =>
    define(...about).argument('<email>', 'email address or ID of the account');
  const addition = define(
    'add',
    'create an account and a one-time sign-in link for its owner',
    add,
    'With the setting mail, the owner gets the link by mail.',
  ).argument('<email>', 'email address of the owner');
  addProfileOptions(addition).option('--role <role>', 'operator or viewer').option('--json', 'as JSON');
  const description = one(
    'describe',
    'set the name and groups of a local account, for servers that ask for them',
    describeAccount,
    'What you leave out stays as it is; an empty text removes it. Access tokens issued from then on contain them, and one that names a group that its user has lost ends at the next call where the server asks.',
  );
  addProfileOptions(description).option(
    '--now',
    'if a group is lost, end all connections of the account at once: its apps ask again',
  );
  one('show', 'show an account, and which apps may act for its owner', show).option('--json', 'as JSON');
  define('list', 'list the accounts', list).option('--json', 'as JSON');
  one(
    'role',
    'let an account see the installation, change it, or neither',
    setRole,
    'An operator may change everything through the admin API and its MCP server, a viewer only see it. It takes effect at once.',
  ).argument('<role>', `${ROLES.join(', ')} or none`);
  one(
    'disable',
    'end all sessions and access of an account immediately, and block sign-in',
    async ({ accounts, email }) =>
      `${confirm(await accounts.disable(email), email, 'is disabled; its sessions and all access it granted have ended')}${REVOCATION_DELAY_NOTICE}\n`,
    REVOCATION_DELAY_NOTICE,
  );
  one('enable', 'let the owner of a disabled account sign in again', async ({ accounts, email }) =>
    confirm(await accounts.enable(email), email, 'can sign in again'),
  );
  one(
    'remove',
    'remove an account and everything stored for its owner',
    async ({ accounts, email }) =>
      `${confirm(await accounts.remove(email), email, 'is removed; all access it granted has ended')}${REVOCATION_DELAY_NOTICE}\n`,
    `The access it granted ends, and its provider tokens are revoked at the identity provider. The audit log keeps the account ID. ${REVOCATION_DELAY_NOTICE}`,
  );
  one(
    'reset',
    'create a one-time link for an owner who cannot sign in',
    reset,
    'The owner chooses a new password or passkey with it. The passkeys, authenticator app and recovery codes of before are removed then.',
  ).option('--json', 'as JSON');
}

function addProfileOptions(command: Command): Command {
  return command
    .option('--name <name>', 'name of the owner')
    .option('--groups <list>', 'groups of the owner, separated by commas');
}

async function add(task: Task): Promise<Output> {
  const { accounts, email, sendsMail, command, flags } = task;
  const role = flags.role === undefined ? null : readRole(flags.role);
  const profile = profileOf(flags);
  const result = await accounts.add(email, sendsMail);
  if ('refused' in result)
    throw new Error(
      {
        'no-address': 'The email must be an address such as you@example.com',
        exists: `There is already an account for ${email}. ${adviceForExisting(email, command, role)}`,
        'no-local-accounts': NO_LOCAL_ACCOUNTS,
      }[result.refused],
    );
  const { accountId } = result;
  if (role !== null) await accounts.setRole(accountId, role);
  await accounts.describe(accountId, profile);
  const output = sendsMail
    ? {
        json: { accountId, isInvited: true },
        text: `Account created. A running server sends ${cleanLine(email)} an invitation: ${command} mail status\n`,
      }
    : linkOutput(result, 'Account created. Its owner chooses how to sign in with this one-time link');
  const advice = (await lacksOperator(task))
    ? `No account administers this server yet: ${command} users role ${cleanLine(email)} operator\n`
    : '';
  return { json: output.json, text: `${output.text}${advice}` };
}

/** A link for another password is no way to a role. */
function adviceForExisting(email: string, command: string, role: ReturnType<typeof readRole> | null): string {
  return role === null
    ? `For another link, run ${command} users reset ${email}`
    : `For another role, run ${command} users role ${email} ${role}`;
}

/** The setup link made the first account an operator; it ends when an account is added before it is used. */
async function lacksOperator({ accounts, admin }: Task): Promise<boolean> {
  if (admin === null || admin.operators !== undefined) return false;
  for await (const { role } of allAccounts(accounts)) if (role === 'operator') return false;
  return true;
}

const ROLES: readonly AccountRole[] = ['operator', 'viewer'];

function readRole(named: string): AccountRole {
  const role = ROLES.find((one) => one === named);
  if (role === undefined) throw new Error(`The role must be ${ROLES.join(' or ')}`);
  return role;
}

async function setRole({ accounts, email, role: named }: Task): Promise<Output> {
  const role = ROLES.find((one) => one === named) ?? null;
  if (role === null && named !== 'none') throw new Error(`The role must be ${ROLES.join(', ')} or none`);
  const isFound = await accounts.setRole(email, role);
  const what = { operator: 'is now an operator', viewer: 'is now a viewer' };
  return confirm(isFound, email, role === null ? 'administers nothing now' : what[role]);
}

/** Name and groups of options; what is left out is left out. @throws Error for groups that a user cannot have */
export function profileOf({ name, groups }: { readonly name?: unknown; readonly groups?: unknown }) {
  const given = typeof groups === 'string' && groups.split(',').flatMap((group) => group.trim() || []);
  const issue = findGroupsIssue(given || []);
  if (issue !== null) throw new Error(issue);
  return { ...(typeof name === 'string' && { name }), ...(given && { groups: given }) };
}

async function describeAccount({ accounts, email, flags: { name, groups, now } }: Task): Promise<Output> {
  if (name === undefined && groups === undefined) throw new Error('Add --name, --groups or both');
  const isFound = await accounts.describe(email, profileOf({ name, groups }), now === true);
  return confirm(
    isFound,
    email,
    now ? 'is updated; if it lost a group, its connections have ended' : 'is updated',
  );
}

async function reset({ accounts, email }: Task): Promise<Output> {
  const result = await accounts.reset(email);
  if (!('refused' in result))
    return linkOutput(result, 'The owner chooses a new way to sign in with this one-time link');
  if (result.refused === 'unknown') throw noAccount(email);
  if (result.refused === 'no-local-accounts') throw new Error(NO_LOCAL_ACCOUNTS);
  throw new Error(`The account of ${email} is disabled: enable it first`);
}

/** Prints the link on a line of its own, so that it can be copied. It grants access to the account. */
function linkOutput({ link, expiresAt }: AccountLink, sentence: string): Exclude<Output, string> {
  const until = new Date(expiresAt * 1000).toISOString().slice(0, 16).replace('T', ' ');
  return {
    json: { link, expiresAt: timeOf(expiresAt) },
    text: `${sentence}, valid until ${until} UTC:\n${link}\n`,
  };
}

async function show({ accounts, email, command, ...tools }: Task): Promise<Output> {
  const account = await accounts.find(email);
  if (account === null) throw noAccount(email);
  const grants = (await createConnectionAdministration(tools).list(account.id)) ?? [];
  const lastUsedAt = grants[0]?.lastUsedAt ?? null;
  const facts = [
    ['account', account.id],
    ['created', timeOf(account.createdAt)],
    ['state', account.disabledAt === null ? 'enabled' : `disabled since ${timeOf(account.disabledAt)}`],
    ...(account.role === null ? [] : [['role', account.role] as const]),
    ['sign-in', account.emailKey.includes('@') ? 'here' : 'at an identity provider'],
    ['apps', lastUsedAt === null ? 'none' : `${grants.length}, last used ${timeOf(lastUsedAt)}`],
    ['more', `${command} connections list ${account.id}, ${command} events --user ${account.id}`],
  ];
  return {
    json: { ...shown(account), connections: grants.length, lastUsedAt: timeOrNull(lastUsedAt) },
    text: `${cleanLine(account.email)}\n${columns(facts.map(([name = '', text = '']) => [`  ${name}`, text]))}`,
  };
}

async function list({ accounts }: Task): Promise<Output> {
  const all = await Array.fromAsync(allAccounts(accounts));
  const text = all.length === 0 ? 'There are no accounts yet.\n' : all.map(lineOf).join('');
  return { json: all.map(shown), text };
}

function shown({ id, email, createdAt, disabledAt, role }: ListedAccount): object {
  return { id, email, createdAt: timeOf(createdAt), disabledAt: timeOrNull(disabledAt), role };
}

const lineOf = ({ createdAt, emailKey, ...account }: ListedAccount) =>
  accountLine({ ...account, day: dayOf(createdAt), isLocal: emailKey.includes('@') });

/** An account in the list, beside the database and through the admin API. */
export function accountLine({
  id,
  email,
  disabledAt,
  role,
  day,
  isLocal,
}: Pick<ListedAccount, 'id' | 'email' | 'role'> & {
  readonly disabledAt: unknown;
  readonly day: string;
  readonly isLocal: boolean;
}): string {
  // Users of an identity provider have no email address here, so the account ID identifies them.
  const facts = [email, ...(isLocal ? [] : [id]), ...(role === null ? [] : [role])];
  return `${day}  ${disabledAt === null ? 'enabled ' : 'disabled'}  ${facts.map(cleanLine).join('  ')}\n`;
}

function confirm(found: boolean, email: string, what: string): string {
  if (!found) throw noAccount(email);
  return `The account of ${email} ${what}.\n`;
}

function noAccount(email: string): Error {
  return new Error(`There is no account for ${email}: users list shows all, with their IDs`);
}
