/** `portcullis clients invite`, `invitations` and `uninvite`: initial access tokens, by each of which one client may register itself. */
import {
  createInitialAccessTokenAdministration,
  type InitialAccessTokenAdministration,
  type ListedInitialAccessToken,
} from '@portcullis/authorization-server';
import { type Command, InvalidArgumentError } from 'commander';
import type { ProcessContext } from '../../process-context.ts';
import { resolveSettings } from '../../settings/resolve.ts';
import { cleanJson, cleanLine } from '../../terminal/clean.ts';
import { columns } from '../../terminal/columns.ts';
import { timeOf } from '../../terminal/times.ts';
import { addSubcommand } from '../subcommand.ts';
import { withStore } from '../with-store.ts';
import type { Flags as ClientFlags } from './task.ts';

type Flags = ClientFlags & { readonly days: number; readonly note: string };

/** What one of the commands does. It answers what to write. */
type Act = (
  invitations: InitialAccessTokenAdministration,
  flags: Flags,
  id: string,
  processContext: ProcessContext,
) => Promise<string>;

/** Needs nothing but the database: servers that share it honour an invitation, and its end, at once. */
export function defineInvitations(group: Command, processContext: ProcessContext): void {
  const define = (name: string, summary: string, act: Act) => {
    const command = addSubcommand(group, name, summary, ['config', 'database']);
    return command.action(() => perform(command, processContext, act));
  };
  define('invite', 'make an initial access token, by which one client may register itself', invite)
    .option('--days <number>', 'for so many days', readDays, 7)
    .option('--note <text>', 'for whom or what it is, for the list', readNote, '')
    .option('--json', 'as JSON');
  define('invitations', 'list the invitations, used or not, until their time is over', list).option(
    '--json',
    'as JSON',
  );
  define('uninvite', 'take back an invitation that nobody has used', takeBack).argument(
    '<invitation>',
    'its identifier, from the list',
  );
}

async function perform(command: Command, processContext: ProcessContext, act: Act): Promise<void> {
  const { environment, folder, write } = processContext;
  const flags: Flags = command.opts();
  const settings = await resolveSettings({ flags, environment, folder });
  write(
    // Somebody may be invited before the first start.
    await withStore(settings, folder, command.name() === 'invite' ? 'make' : 'refuse', (tools) =>
      act(createInitialAccessTokenAdministration(tools), flags, command.args[0] ?? '', processContext),
    ),
  );
}

const invite: Act = async (invitations, { days, note, json }, _id, { command }) => {
  const { token, ...made } = await invitations.create(note, days * 86_400);
  if (json) return `${cleanJson({ ...described(made), token })}\n`;
  return [
    `One client may register with this as a bearer token, once, until ${timeOf(made.expiresAt)}.`,
    'It is asked for where registration.requireInitialAccessToken is true.',
    `To take it back: ${command} clients uninvite ${made.id}`,
    `${token}\n`,
  ].join('\n');
};

const list: Act = async (invitations, { json }) => {
  const all: ListedInitialAccessToken[] = [];
  for (let page = await invitations.list(); page.length > 0; page = await invitations.list(page.at(-1)?.id)) {
    all.push(...page);
  }
  if (json) return `${cleanJson(all.map(described))}\n`;
  if (all.length === 0) return 'No invitation waits, and none that still would was used.\n';
  const rows = all.map(({ id, note, expiresAt, clientId }) => [
    id,
    `until ${timeOf(expiresAt).slice(0, 10)}`,
    clientId === null ? 'not used' : `used by ${clientId}`,
    cleanLine(note),
  ]);
  return columns(rows);
};

const takeBack: Act = async (invitations, _flags, id, { command }) => {
  const outcome = await invitations.revoke(id);
  if (outcome === 'revoked') return `Nobody can register with the invitation ${id} any more.\n`;
  throw new Error(
    outcome === 'used'
      ? `The invitation ${id} has been used: ${command} clients invitations says by which client, to be removed or disabled itself`
      : `There is no invitation ${JSON.stringify(id)}: ${command} clients invitations shows all`,
  );
};

function described({ createdAt, expiresAt, ...invitation }: ListedInitialAccessToken): object {
  return { ...invitation, createdAt: timeOf(createdAt), expiresAt: timeOf(expiresAt) };
}

function readDays(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 999.');
}

function readNote(text: string): string {
  if (text.length <= 200) return text;
  throw new InvalidArgumentError('It must have at most 200 characters.');
}
