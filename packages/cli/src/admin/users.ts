/** `portcullis users`: manages user accounts. */
import { allAccounts } from '@portcullis/admin/operations';
import {
  type AccountAdministration,
  type AccountLink,
  type ConnectionAdministration,
  createAccountAdministration,
  createConnectionAdministration,
  type ListedAccount,
} from '@portcullis/authorization-server';
import type { AccountRole } from '@portcullis/authorization-server/store';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import type { SettingName } from '../settings/schema.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { dayOf, timeOf, timeOrNull } from '../terminal/times.ts';
import { findInstallation } from './installation.ts';
import { REVOCATION_DELAY_NOTICE } from './revocation-delay-notice.ts';
import { ADMIN_SETTINGS, addSubcommand } from './subcommand.ts';
import { issuerOf, withStore } from './with-store.ts';

/** Runs a subcommand. @param command how to run this program again @returns its output */
type Action = (
  accounts: AccountAdministration,
  email: string,
  asJson: boolean,
  command: string,
  flags: Flags,
  connections: ConnectionAdministration,
  role: string,
  sendsMail: boolean,
) => Promise<string>;

interface UsersCommand {
  readonly name: string;
  readonly takes: 'email' | 'email and role' | 'nothing';
  readonly summary: string;
  /** Further sentences for its help. */
  readonly more?: string;
  /** Whether it supports `--json`. */
  readonly json?: true;
  /** Options of its own. */
  readonly options?: readonly (readonly [flags: string, description: string])[];
  readonly act: Action;
}

const commands: readonly UsersCommand[] = [
  {
    name: 'add',
    takes: 'email',
    summary: 'create an account and a one-time sign-in link for its owner',
    more: 'With the setting mail, the owner gets the link by mail.',
    json: true,
    act: add,
  },
  {
    name: 'describe',
    takes: 'email',
    summary: 'set the name and groups of a local account, for servers that ask for them',
    more: 'What you leave out stays as it is; an empty text removes it. Access tokens issued from then on contain them, and one that names a group that its user has lost ends at the next call where the server asks.',
    options: [
      ['--name <name>', 'name of the owner'],
      ['--groups <list>', 'groups of the owner, separated by commas'],
      ['--now', 'if a group is lost, end all connections of the account at once: its apps ask again'],
    ],
    act: describeAccount,
  },
  {
    name: 'show',
    takes: 'email',
    summary: 'show an account, and which apps may act for its owner',
    json: true,
    act: show,
  },
  { name: 'list', takes: 'nothing', summary: 'list the accounts', json: true, act: list },
  {
    name: 'role',
    takes: 'email and role',
    summary: 'let an account see the installation, change it, or neither',
    more: 'An operator may change everything through the admin API and its MCP server, a viewer only see it. It takes effect at once.',
    act: setRole,
  },
  {
    name: 'disable',
    takes: 'email',
    summary: 'end all sessions and access of an account immediately, and block sign-in',
    more: REVOCATION_DELAY_NOTICE,
    act: async (accounts, email) =>
      `${confirm(await accounts.disable(email), email, 'is disabled; its sessions and all access it granted have ended')}${REVOCATION_DELAY_NOTICE}\n`,
  },
  {
    name: 'enable',
    takes: 'email',
    summary: 'let the owner of a disabled account sign in again',
    act: async (accounts, email) => confirm(await accounts.enable(email), email, 'can sign in again'),
  },
  {
    name: 'remove',
    takes: 'email',
    summary: 'remove an account and everything stored for its owner',
    more: `The access it granted ends, and its provider tokens are revoked at the identity provider. The audit log keeps the account ID. ${REVOCATION_DELAY_NOTICE}`,
    act: async (accounts, email) =>
      `${confirm(await accounts.remove(email), email, 'is removed; all access it granted has ended')}${REVOCATION_DELAY_NOTICE}\n`,
  },
  {
    name: 'reset',
    takes: 'email',
    summary: 'create a one-time link for an owner who cannot sign in',
    json: true,
    act: reset,
  },
];

type Flags = Readonly<Partial<Record<SettingName, string>>> & {
  readonly json?: true;
  readonly name?: string;
  readonly groups?: string;
  readonly now?: true;
};

export function defineUsers(program: Command, processContext: ProcessContext): void {
  const group = program
    .command('users')
    .summary('add, list, show, disable, enable, remove and reset user accounts, and set their roles');
  for (const { name, takes, summary, more, json, options = [], act } of commands) {
    const command = addSubcommand(group, name, summary, ADMIN_SETTINGS, more);
    if (takes !== 'nothing') command.argument('<email>', 'email address or ID of the account');
    if (takes === 'email and role') command.argument('<role>', `${ROLES.join(', ')} or none`);
    if (json) command.option('--json', 'as JSON');
    for (const [option, description] of options) command.option(option, description);
    command.action(async () => {
      const flags: Flags = command.opts();
      const installation = await findInstallation(flags, processContext);
      const issuer = issuerOf(installation.settings);
      processContext.write(
        await withStore(installation, (tools) =>
          act(
            createAccountAdministration({ ...tools, issuer }),
            command.args[0] ?? '',
            flags.json === true,
            processContext.command,
            flags,
            createConnectionAdministration(tools),
            command.args[1] ?? '',
            installation.settings.mail !== null,
          ),
        ),
      );
    });
  }
}

async function add(
  accounts: AccountAdministration,
  email: string,
  asJson: boolean,
  command: string,
  _flags: Flags,
  _connections: ConnectionAdministration,
  _role: string,
  sendsMail: boolean,
): Promise<string> {
  const result = await accounts.add(email, sendsMail);
  if (!('refused' in result) && sendsMail)
    return asJson
      ? `${cleanJson({ accountId: result.accountId, isInvited: true })}\n`
      : `Account created. A running server sends ${cleanLine(email)} an invitation: ${command} mail status\n`;
  if (!('refused' in result))
    return linkText(
      result,
      asJson,
      'Account created. Its owner chooses how to sign in with this one-time link',
    );
  if (result.refused === 'no-address')
    throw new Error('The email must be an address such as you@example.com');
  throw new Error(
    `There is already an account for ${email}. For another link, run ${command} users reset ${email}`,
  );
}

const ROLES: readonly AccountRole[] = ['operator', 'viewer'];

async function setRole(
  accounts: AccountAdministration,
  email: string,
  _asJson: boolean,
  _command: string,
  _flags: Flags,
  _connections: ConnectionAdministration,
  named: string,
): Promise<string> {
  const role = ROLES.find((one) => one === named) ?? null;
  if (role === null && named !== 'none') throw new Error(`The role must be ${ROLES.join(', ')} or none`);
  const isFound = await accounts.setRole(email, role);
  return confirm(isFound, email, role === null ? 'administers nothing now' : `is ${named} now`);
}

async function describeAccount(
  accounts: AccountAdministration,
  email: string,
  _asJson: boolean,
  _command: string,
  { name, groups, now }: Flags,
): Promise<string> {
  if (name === undefined && groups === undefined) throw new Error('Add --name, --groups or both');
  const named = groups?.split(',').map((group) => group.trim());
  const profile = {
    ...(name !== undefined && { name }),
    ...(named !== undefined && { groups: named }),
  };
  const isFound = await accounts.describe(email, profile, now === true);
  return confirm(
    isFound,
    email,
    now ? 'is updated; if it lost a group, its connections have ended' : 'is updated',
  );
}

async function reset(accounts: AccountAdministration, email: string, asJson: boolean): Promise<string> {
  const result = await accounts.reset(email);
  if (!('refused' in result))
    return linkText(result, asJson, 'The owner chooses a new way to sign in with this one-time link');
  if (result.refused === 'unknown') throw noAccount(email);
  throw new Error(`The account of ${email} is disabled: enable it first`);
}

/** Prints the link on a line of its own, so that it can be copied. It grants access to the account. */
function linkText({ link, expiresAt }: AccountLink, asJson: boolean, sentence: string): string {
  if (asJson) return `${cleanJson({ link, expiresAt: timeOf(expiresAt) })}\n`;
  const until = new Date(expiresAt * 1000).toISOString().slice(0, 16).replace('T', ' ');
  return `${sentence}, valid until ${until} UTC:\n${link}\n`;
}

async function show(
  accounts: AccountAdministration,
  email: string,
  asJson: boolean,
  command: string,
  _flags: Flags,
  connections: ConnectionAdministration,
): Promise<string> {
  const account = await accounts.find(email);
  if (account === null) throw noAccount(email);
  const grants = (await connections.list(account.id)) ?? [];
  const lastUsedAt = grants[0]?.lastUsedAt ?? null;
  if (asJson) {
    const used = { connections: grants.length, lastUsedAt: timeOrNull(lastUsedAt) };
    return `${cleanJson({ ...withTimes(account), ...used })}\n`;
  }
  const facts = [
    ['account', account.id],
    ['created', timeOf(account.createdAt)],
    ['state', account.disabledAt === null ? 'enabled' : `disabled since ${timeOf(account.disabledAt)}`],
    ...(account.role === null ? [] : [['role', account.role] as const]),
    ['sign-in', account.emailKey.includes('@') ? 'here' : 'at an identity provider'],
    ['apps', lastUsedAt === null ? 'none' : `${grants.length}, last used ${timeOf(lastUsedAt)}`],
    ['more', `${command} connections list ${account.id}, ${command} events --user ${account.id}`],
  ];
  return `${cleanLine(account.email)}\n${columns(facts.map(([name = '', text = '']) => [`  ${name}`, text]))}`;
}

async function list(accounts: AccountAdministration, _email: string, asJson: boolean): Promise<string> {
  const all = await Array.fromAsync(allAccounts(accounts));
  if (asJson) {
    return `${cleanJson(all.map(withTimes))}\n`;
  }
  return all.length === 0 ? 'There are no accounts yet.\n' : all.map(lineOf).join('');
}

function withTimes({ id, email, createdAt, disabledAt, role }: ListedAccount): object {
  return { id, email, createdAt: timeOf(createdAt), disabledAt: timeOrNull(disabledAt), role };
}

function lineOf({ id, email, emailKey, createdAt, disabledAt }: ListedAccount): string {
  // Users of an identity provider have no email address here, so the account ID identifies them.
  const named = emailKey.includes('@') ? email : `${email}  ${id}`;
  const state = disabledAt === null ? 'enabled ' : 'disabled';
  return `${dayOf(createdAt)}  ${state}  ${cleanLine(named)}\n`;
}

function confirm(found: boolean, email: string, what: string): string {
  if (!found) throw noAccount(email);
  return `The account of ${email} ${what}.\n`;
}

function noAccount(email: string): Error {
  return new Error(`There is no account for ${email}: portcullis users list shows all, with their IDs`);
}
