/** `portcullis clients invite`, `initial-access-tokens` and `revoke-initial-access-token`: each token lets one client register (RFC 7591 §3). */
import {
  createInitialAccessTokenAdministration,
  type InitialAccessTokenAdministration,
  type ListedInitialAccessToken,
} from '@portcullis/authorization-server';
import { type Command, InvalidArgumentError } from 'commander';
import type { ProcessContext } from '../../process-context.ts';
import { cleanJson, cleanLine } from '../../terminal/clean.ts';
import { columns } from '../../terminal/columns.ts';
import { timeOf } from '../../terminal/times.ts';
import { findInstallation } from '../installation.ts';
import { addSubcommand } from '../subcommand.ts';
import { withStore } from '../with-store.ts';
import type { Flags as ClientFlags } from './task.ts';

type Flags = ClientFlags & { readonly days: number; readonly note: string };

/** Runs a subcommand. @returns its output */
type Act = (
  tokens: InitialAccessTokenAdministration,
  flags: Flags,
  id: string,
  processContext: ProcessContext,
) => Promise<string>;

/** Needs only the database: servers on the same database honour a new or revoked token immediately. */
export function defineInitialAccessTokens(group: Command, processContext: ProcessContext): void {
  const define = (name: string, summary: string, act: Act) => {
    const command = addSubcommand(group, name, summary, ['config', 'database']);
    return command.action(() => perform(command, processContext, act));
  };
  addTokenOptions(
    define('invite', 'create an initial access token, which lets one client register itself', invite),
  );
  define('initial-access-tokens', 'list the initial access tokens that have not expired', list).option(
    '--json',
    'as JSON',
  );
  define('revoke-initial-access-token', 'revoke an unused initial access token', revoke).argument(
    '<id>',
    'ID of the initial access token, as listed',
  );
}

export function addTokenOptions(command: Command): void {
  command
    .option('--days <number>', 'days until it expires', readDays, 7)
    .option('--note <text>', 'what it is for, shown in the list', readNote, '')
    .option('--json', 'as JSON');
}

async function perform(command: Command, processContext: ProcessContext, act: Act): Promise<void> {
  const flags: Flags = command.opts();
  processContext.write(
    await withStore(await findInstallation(flags, processContext), (tools) =>
      act(createInitialAccessTokenAdministration(tools), flags, command.args[0] ?? '', processContext),
    ),
  );
}

const invite: Act = async (tokens, { days, note, json }, _id, { command }) => {
  const { token, ...made } = await tokens.create(note, days * 86_400);
  if (json) return `${cleanJson({ ...described(made), token })}\n`;
  return [
    `One client may register with this initial access token, as a bearer token, until ${timeOf(made.expiresAt)}.`,
    'Registration requires one if registration.requireInitialAccessToken is true.',
    `To revoke it: ${command} clients revoke-initial-access-token ${made.id}`,
    `${token}\n`,
  ].join('\n');
};

const list: Act = async (tokens, { json }) => {
  const all: ListedInitialAccessToken[] = [];
  for (let page = await tokens.list(); page.length > 0; page = await tokens.list(page.at(-1)?.id)) {
    all.push(...page);
  }
  if (json) return `${cleanJson(all.map(described))}\n`;
  if (all.length === 0) return 'There are no initial access tokens.\n';
  const rows = all.map(({ id, note, expiresAt, clientId }) => [
    id,
    `until ${timeOf(expiresAt).slice(0, 10)}`,
    clientId === null ? 'not used' : `used by ${clientId}`,
    cleanLine(note),
  ]);
  return columns(rows);
};

const revoke: Act = async (tokens, _flags, id, { command }) => {
  const outcome = await tokens.revoke(id);
  if (outcome === 'revoked') return `The initial access token ${id} is revoked.\n`;
  throw new Error(
    outcome === 'used'
      ? `The initial access token ${id} has been used: find its client with ${command} clients initial-access-tokens and disable or remove that client`
      : `There is no initial access token ${JSON.stringify(id)}: ${command} clients initial-access-tokens lists them`,
  );
};

function described({ createdAt, expiresAt, ...token }: ListedInitialAccessToken): object {
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
