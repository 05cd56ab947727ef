/** `portcullis scim tokens`: the bearer tokens with which identity providers provision users and groups (SCIM 2.0). */
import {
  createProvisioningTokenAdministration,
  type ListedProvisioningToken,
  type ProvisioningTokenAdministration,
} from '@portcullis/authorization-server';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { provisionersOf } from '../server/provisioners.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { timeOf } from '../terminal/times.ts';
import { findInstallation } from './installation.ts';
import { addSubcommand } from './subcommand.ts';
import { issuerOf, withStore } from './with-store.ts';

interface Flags {
  readonly days: number;
  readonly note: string;
  readonly json?: true;
}

interface Task {
  readonly tokens: ProvisioningTokenAdministration;
  readonly flags: Flags;
  /** The argument; empty: none. */
  readonly named: string;
  /** The URL of the endpoint. */
  readonly endpoint: string;
  /** The identity providers that provision, as configured. */
  readonly providers: readonly string[];
  readonly command: string;
}

/** @returns its output */
type Act = (task: Task) => Promise<string>;

export function defineScim(program: Command, processContext: ProcessContext): void {
  const tokens = program
    .command('scim')
    .summary('manage the tokens with which identity providers provision users and groups')
    .command('tokens')
    .summary('create, list and revoke the tokens of provisioning connections');
  const define = (name: string, summary: string, act: Act, more?: string) => {
    const command = addSubcommand(tokens, name, summary, undefined, more);
    return command.action(() => perform(command, processContext, act));
  };
  define(
    'create',
    'create the token of a provisioning connection',
    create,
    'Several may be valid at a time: create the next one, enter it at the identity provider, then revoke the previous one.',
  )
    .argument('<identity-provider>', 'ID of the identity provider in the configuration')
    .addOption(daysOption())
    .addOption(noteOption())
    .option('--json', 'as JSON');
  define('list', 'list the tokens that have not expired', list).option('--json', 'as JSON');
  define('revoke', 'revoke a token immediately', revoke).argument('<id>', 'ID of the token, as listed');
}

/** `--days` and `--note` of a token. */
export function daysOption(): Option {
  return new Option('--days <number>', 'days until it expires').argParser(readDays).default(180);
}

export function noteOption(): Option {
  return new Option('--note <text>', 'what it is for, shown in the list').argParser(readNote).default('');
}

async function perform(command: Command, processContext: ProcessContext, act: Act): Promise<void> {
  const flags: Flags = command.opts();
  const installation = await findInstallation(command.opts(), processContext);
  const { settings } = installation;
  const providers = provisionersOf(settings);
  const endpoint = `${new URL(issuerOf(settings)).origin}/scim/v2`;
  processContext.write(
    await withStore(installation, (tools) =>
      act({
        tokens: createProvisioningTokenAdministration(tools),
        flags,
        named: command.args[0] ?? '',
        endpoint,
        providers,
        command: processContext.command,
      }),
    ),
  );
}

const create: Act = async ({ tokens, flags, named, endpoint, providers, command }) => {
  if (!providers.includes(named))
    throw new Error(
      `No identity provider ${JSON.stringify(named)} has scim in the configuration${providers.length === 0 ? '' : `: there is ${providers.join(', ')}`}`,
    );
  const { token, ...created } = await tokens.create(named, flags.note, flags.days * 86_400);
  if (flags.json) return `${cleanJson({ ...withTimes(created), endpoint, token })}\n`;
  return [
    `Enter these at ${named}, as the URL (tenant URL, base URL) and the token of its SCIM connection. The token is valid until ${timeOf(created.expiresAt)}.`,
    `To revoke it: ${command} scim tokens revoke ${created.id}`,
    endpoint,
    `${token}\n`,
  ].join('\n');
};

const list: Act = async ({ tokens, flags, providers }) => {
  const all = await tokens.list();
  if (flags.json) return `${cleanJson(all.map(withTimes))}\n`;
  if (all.length === 0) return 'There are no SCIM tokens.\n';
  return columns(
    all.map(({ id, identityProvider, note, expiresAt }) => [
      id,
      cleanLine(identityProvider) + (providers.includes(identityProvider) ? '' : ' (not configured)'),
      `until ${timeOf(expiresAt).slice(0, 10)}`,
      cleanLine(note),
    ]),
  );
};

const revoke: Act = async ({ tokens, named, command }) => {
  if (await tokens.revoke(named)) return `The SCIM token ${named} is revoked.\n`;
  throw new Error(`There is no SCIM token ${JSON.stringify(named)}: ${command} scim tokens list shows all`);
};

function withTimes({ createdAt, expiresAt, ...token }: ListedProvisioningToken): object {
  return { ...token, createdAt: timeOf(createdAt), expiresAt: timeOf(expiresAt) };
}

function readDays(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 999.');
}

function readNote(text: string): string {
  if (text.length <= 200) return text;
  throw new InvalidArgumentError('It must have at most 200 characters.');
}
