/** `portcullis clients invite`, `initial-access-tokens` and `revoke-initial-access-token`: each token lets one client register (RFC 7591 §3). */
import {
  createInitialAccessTokenAdministration,
  type ListedInitialAccessToken,
} from '@portcullis/authorization-server';
import type { Command } from 'commander';
import type { ProcessContext } from '../../process-context.ts';
import { cleanLine } from '../../terminal/clean.ts';
import { columns } from '../../terminal/columns.ts';
import { timeOf, withTimes } from '../../terminal/times.ts';
import { type Output, type StoreTask, storeCommands } from '../store-commands.ts';
import { addTokenOptions } from '../token-options.ts';
import { allPages } from './list.ts';

interface Flags {
  readonly days: number;
  readonly note: string;
}

function taskOf({ args, flags, processContext: { command }, ...tools }: StoreTask<Flags>) {
  return { tokens: createInitialAccessTokenAdministration(tools), flags, id: args[0] ?? '', command };
}

type Task = ReturnType<typeof taskOf>;

/** Needs only the database: servers on the same database honour a new or revoked token immediately. */
export function defineInitialAccessTokens(group: Command, processContext: ProcessContext): void {
  const define = storeCommands(group, processContext, taskOf, ['config', 'database']);
  addTokenOptions(
    define('invite', 'create an initial access token, which lets one client register itself', invite),
    7,
  ).option('--json', 'as JSON');
  define('initial-access-tokens', 'list the initial access tokens that have not expired', list).option(
    '--json',
    'as JSON',
  );
  define('revoke-initial-access-token', 'revoke an unused initial access token', revoke).argument(
    '<id>',
    'ID of the initial access token, as listed',
  );
}

async function invite({ tokens, flags, command }: Task): Promise<Output> {
  const { token, ...made } = await tokens.create(flags.note, flags.days * 86_400);
  const text = [
    `One client may register with this initial access token, as a bearer token, until ${timeOf(made.expiresAt)}.`,
    'Registration requires one if registration.requireInitialAccessToken is true.',
    `To revoke it: ${command} clients revoke-initial-access-token ${made.id}`,
    `${token}\n`,
  ].join('\n');
  return { json: { ...shown(made), token }, text };
}

async function list({ tokens }: Task): Promise<Output> {
  const all = await allPages((after) => tokens.list(after));
  const rows = all.map(({ id, note, expiresAt, clientId }) => [
    id,
    `until ${timeOf(expiresAt).slice(0, 10)}`,
    clientId === null ? 'not used' : `used by ${clientId}`,
    cleanLine(note),
  ]);
  const text = all.length === 0 ? 'There are no initial access tokens.\n' : columns(rows);
  return { json: all.map(shown), text };
}

async function revoke({ tokens, id, command }: Task): Promise<Output> {
  const outcome = await tokens.revoke(id);
  if (outcome === 'revoked') return `The initial access token ${id} is revoked.\n`;
  throw new Error(
    outcome === 'used'
      ? `The initial access token ${id} has been used: find its client with ${command} clients initial-access-tokens and disable or remove that client`
      : `There is no initial access token ${JSON.stringify(id)}: ${command} clients initial-access-tokens lists them`,
  );
}

function shown(token: ListedInitialAccessToken): object {
  return withTimes(token, 'createdAt', 'expiresAt');
}
