/** `portcullis users`: the accounts of people, in the hands of an administrator. */
import {
  type AccountAdministration,
  type AccountLink,
  createAccountAdministration,
  type ListedAccount,
} from '@portcullis/authorization-server';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { resolveSettings } from '../settings/resolve.ts';
import type { SettingName } from '../settings/schema.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { dayOf, timeOf, timeOrNull } from '../terminal/times.ts';
import { REVOCATION_DELAY_NOTICE } from './revocation-delay-notice.ts';
import { ADMIN_SETTINGS, addSubcommand } from './subcommand.ts';
import { issuerOf, withStore } from './with-store.ts';

/** What one of the commands does. It answers what to write. @param asJson for programs @param command how this program is called again */
type Action = (
  accounts: AccountAdministration,
  email: string,
  asJson: boolean,
  command: string,
) => Promise<string>;

interface UsersCommand {
  readonly name: string;
  readonly takes: 'email' | 'nothing';
  readonly summary: string;
  /** Sentences for its own help. */
  readonly more?: string;
  /** Whether it answers more than a sentence. */
  readonly json?: true;
  readonly act: Action;
}

const commands: readonly UsersCommand[] = [
  {
    name: 'add',
    takes: 'email',
    summary: 'make an account, and a one-time link for its owner',
    json: true,
    act: add,
  },
  { name: 'list', takes: 'nothing', summary: 'list the accounts', json: true, act: list },
  {
    name: 'disable',
    takes: 'email',
    summary: 'end everything of an account at once, and let nobody in',
    more: REVOCATION_DELAY_NOTICE,
    act: async (accounts, email) =>
      `${told(await accounts.disable(email), email, 'is disabled; its sessions and all access have ended')}${REVOCATION_DELAY_NOTICE}\n`,
  },
  {
    name: 'enable',
    takes: 'email',
    summary: 'let the owner of a disabled account sign in again',
    act: async (accounts, email) => told(await accounts.enable(email), email, 'can sign in again'),
  },
  {
    name: 'remove',
    takes: 'email',
    summary: 'remove an account with all that was kept for its owner',
    more: `What it allowed ends, and is given back at third parties. The audit log keeps its identifier. ${REVOCATION_DELAY_NOTICE}`,
    act: async (accounts, email) =>
      `${told(await accounts.remove(email), email, 'is gone, and all that it allowed has ended')}${REVOCATION_DELAY_NOTICE}\n`,
  },
  {
    name: 'reset',
    takes: 'email',
    summary: 'make a one-time link for an owner who cannot sign in',
    json: true,
    act: reset,
  },
];

type Flags = Readonly<Partial<Record<SettingName, string>>> & { readonly json?: true };

export function defineUsers(program: Command, processContext: ProcessContext): void {
  const group = program
    .command('users')
    .summary('add, list, disable, enable, remove and reset accounts of people');
  for (const { name, takes, summary, more, json, act } of commands) {
    const command = addSubcommand(group, name, summary, ADMIN_SETTINGS, more);
    if (takes === 'email') command.argument('<email>', 'address of the account, or its identifier');
    if (json) command.option('--json', 'as JSON');
    command.action(async () => {
      const flags: Flags = command.opts();
      const { environment, folder } = processContext;
      const settings = await resolveSettings({ flags, environment, folder });
      const issuer = issuerOf(settings);
      processContext.write(
        // Before the first start there is nobody to list, and somebody to add.
        await withStore(settings, folder, name === 'add' ? 'make' : 'refuse', (tools) =>
          act(
            createAccountAdministration({ ...tools, issuer }),
            command.args[0] ?? '',
            flags.json === true,
            processContext.command,
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
): Promise<string> {
  const answer = await accounts.add(email);
  if (!('refused' in answer))
    return linkText(answer, asJson, 'There is an account now. Its owner chooses by this link how to sign in');
  if (answer.refused === 'no-address')
    throw new Error('The email must be an address such as you@example.com');
  throw new Error(
    `There is an account for ${email} already. Another link for its owner: ${command} users reset ${email}`,
  );
}

async function reset(accounts: AccountAdministration, email: string, asJson: boolean): Promise<string> {
  const answer = await accounts.reset(email);
  if (!('refused' in answer))
    return linkText(answer, asJson, 'The owner chooses by this link how to sign in from now on');
  if (answer.refused === 'unknown') throw noAccount(email);
  throw new Error(`The account of ${email} is disabled: enable it first`);
}

/** Whoever has the link gets in, so it stands on a line of its own, to be copied and nothing else. */
function linkText({ link, expiresAt }: AccountLink, asJson: boolean, sentence: string): string {
  if (asJson) return `${cleanJson({ link, expiresAt: timeOf(expiresAt) })}\n`;
  const until = new Date(expiresAt * 1000).toISOString().slice(0, 16).replace('T', ' ');
  return `${sentence}, once, until ${until} UTC:\n${link}\n`;
}

async function list(accounts: AccountAdministration, _email: string, asJson: boolean): Promise<string> {
  const all: ListedAccount[] = [];
  for (let page = await accounts.list(); page.length > 0; page = await accounts.list(page.at(-1)?.emailKey)) {
    all.push(...page);
  }
  if (asJson) {
    return `${cleanJson(
      all.map(({ id, email, createdAt, disabledAt }) => ({
        id,
        email,
        createdAt: timeOf(createdAt),
        disabledAt: timeOrNull(disabledAt),
      })),
    )}\n`;
  }
  return all.length === 0 ? 'There is no account yet.\n' : all.map(lineOf).join('');
}

function lineOf({ id, email, emailKey, createdAt, disabledAt }: ListedAccount): string {
  // People of third parties have no address here by which they could be named.
  const named = emailKey.includes('@') ? email : `${email}  ${id}`;
  const state = disabledAt === null ? 'enabled ' : 'disabled';
  return `${dayOf(createdAt)}  ${state}  ${cleanLine(named)}\n`;
}

function told(found: boolean, email: string, what: string): string {
  if (!found) throw noAccount(email);
  return `The account of ${email} ${what}.\n`;
}

function noAccount(email: string): Error {
  return new Error(`There is no account for ${email}`);
}
