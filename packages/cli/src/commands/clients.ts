/** `portcullis clients`: clients in the hands of an administrator, who vouches for those that are added. */
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  type ClientAdministration,
  createClientAdministration,
  createInvitations,
  type ListedClient,
} from '@portcullis/authorization-server';
import { OAuthError } from '@portcullis/protocol';
import { type Command, InvalidArgumentError } from 'commander';
import { administer, issuerOf } from '../administering.ts';
import { reasonOf } from '../faults.ts';
import { findExistingKey } from '../sealing-key.ts';
import { resolveSettings } from '../settings/resolve.ts';
import type { SettingName, Settings } from '../settings/settings.ts';
import type { Surroundings } from '../surroundings.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { timeOf } from '../terminal/times.ts';
import { optionOf } from './setting-options.ts';

const NEEDED: readonly SettingName[] = ['config', 'database', 'publicUrl', 'port'];

type Flags = Readonly<Partial<Record<SettingName, string>>> & {
  readonly json?: true;
  readonly id?: string;
  readonly clientName?: string;
  readonly redirectUri?: readonly string[];
  readonly grant?: readonly string[];
  readonly scope?: string;
  readonly method?: string;
  readonly metadata?: string;
  readonly secretFile?: string;
};

interface Task {
  readonly clients: ClientAdministration;
  readonly settings: Settings;
  readonly flags: Flags;
  readonly id: string;
  readonly surroundings: Surroundings;
}

/** What one of the commands does. It answers what to write. */
type Act = (task: Task) => Promise<string>;

export function defineClients(program: Command, surroundings: Surroundings): void {
  const group = program
    .command('clients')
    .summary('add, invite, list, show, disable, enable and remove clients');
  const define = (name: string, summary: string, act: Act) => {
    const command = group.command(name).summary(summary).description(sentence(summary));
    for (const setting of NEEDED) command.addOption(optionOf(setting));
    return command.action(() =>
      perform(command.opts(), command.args[0] ?? '', surroundings, act, name === 'add' ? 'make' : 'refuse'),
    );
  };
  addMetadataOptions(define('add', 'add a client that you vouch for; its secret is told once', add));
  defineInvite(group, surroundings);
  define('list', 'list the clients that registered, were added, or stand in the configuration', list).option(
    '--json',
    'as JSON',
  );
  const one = (name: string, summary: string, act: Act) =>
    define(name, summary, act).argument('<client-id>', 'identifier of the client');
  one('show', 'show all that is known of a client', show).option('--json', 'as JSON');
  one(
    'disable',
    'end all that a client holds at once, and let nobody use it',
    change('disable', 'is disabled; all that it held has ended'),
  );
  one(
    'enable',
    'let a disabled client be used again',
    change('enable', 'can be used again; what has ended stays ended'),
  );
  one(
    'remove',
    'remove a client with all that it holds',
    change('remove', 'is gone, and all that it held has ended'),
  );
}

/** Needs the sealing key, and no database but for the log. */
function defineInvite(group: Command, surroundings: Surroundings): void {
  const summary = 'make an initial access token, by which one client may register itself';
  const command = group.command('invite').summary(summary).description(sentence(summary));
  for (const setting of ['config', 'database', 'key', 'keyFile'] as const)
    command.addOption(optionOf(setting));
  command
    .option('--days <number>', 'for so many days', readDays, 7)
    .action(async (flags: Flags & { readonly days: number }) => {
      const { environment, folder, write } = surroundings;
      const settings = await resolveSettings({ flags, environment, folder });
      const sealingKey = await findExistingKey(settings, folder);
      const expiresAt = await administer(settings, folder, 'refuse', async ({ events, clock }) => {
        events({ type: 'client.invited' });
        return clock() + flags.days * 86_400;
      });
      const token = createInvitations({ sealingKey }).make(expiresAt);
      write(
        `One client may register with this as a bearer token, once, until ${timeOf(expiresAt)}.\nIt is asked for where registration.invitedOnly is true.\n${token}\n`,
      );
    });
}

function readDays(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 999.');
}

function sentence(summary: string): string {
  return `${summary[0]?.toUpperCase()}${summary.slice(1)}.`;
}

function addMetadataOptions(command: Command): void {
  const more = (value: string, before: readonly string[] = []) => [...before, value];
  command
    .option(
      '--metadata <file>',
      'all of its metadata as JSON (RFC 7591); flags win over it; - for standard input',
    )
    .option('--id <client-id>', 'its identifier; one is made when left out')
    .option('--client-name <text>', 'what people call it')
    .option('--redirect-uri <uri>', 'where codes may be sent; may be repeated', more)
    .option(
      '--grant <type>',
      'authorization_code, refresh_token or client_credentials; may be repeated',
      more,
    )
    .option('--scope <scopes>', 'all that it can ever get, with spaces in between; no limit when left out')
    .option(
      '--method <name>',
      'client_secret_basic, client_secret_post, private_key_jwt or none; none when left out',
    )
    .option('--secret-file <file>', 'a new file for its secret, which is not shown then')
    .option('--json', 'the answer to the registration, as JSON');
}

async function perform(
  flags: Flags,
  id: string,
  surroundings: Surroundings,
  act: Act,
  otherwise: 'make' | 'refuse',
): Promise<void> {
  const { environment, folder, write } = surroundings;
  const settings = await resolveSettings({ flags, environment, folder });
  const issuer = issuerOf(settings);
  const configured = new Set(settings.clients.map(({ client_id: known }) => String(known)));
  const text = await administer(settings, folder, otherwise, (tools) => {
    const redirects = { privateUseSchemes: settings.privateUseSchemes };
    const clients = createClientAdministration({ ...tools, issuer, redirects, clients: configured });
    return act({ clients, settings, flags, id, surroundings });
  });
  write(text);
}

const add: Act = async ({ clients, flags, surroundings }) => {
  const document = { ...(await readMetadata(flags, surroundings)), ...metadataOf(flags) };
  // The file is there before the client is: a secret that cannot be kept would be lost.
  const file = flags.secretFile === undefined ? null : await create(flags.secretFile, surroundings);
  try {
    const registered = await clients.add(document);
    const { client_secret: secret, ...rest } = registered;
    if (file === null || secret === undefined) return flags.json ? json(registered) : told(registered);
    await file.writeFile(`${secret}\n`);
    return flags.json ? json(rest) : told({ ...rest, kept: flags.secretFile });
  } catch (error) {
    throw error instanceof OAuthError ? new Error(error.description, { cause: error }) : error;
  } finally {
    await file?.close();
  }
};

async function readMetadata({ metadata }: Flags, { folder, streams }: Surroundings): Promise<object> {
  if (metadata === undefined) return {};
  let text = '';
  if (metadata === '-') for await (const chunk of streams.input) text += chunk;
  else
    text = await readFile(resolve(folder, metadata), 'utf8').catch((error: unknown) => {
      throw new Error(`--metadata names ${metadata}, which cannot be read: ${reasonOf(error)}`, {
        cause: error,
      });
    });
  try {
    const document: unknown = JSON.parse(text);
    if (typeof document === 'object' && document !== null && !Array.isArray(document)) return document;
  } catch {
    // Told below: what the parser says may quote a secret.
  }
  throw new Error(`--metadata names ${metadata}, which is no JSON object`);
}

function metadataOf({ id, clientName, redirectUri, grant, scope, method }: Flags): object {
  return {
    ...(id !== undefined && { client_id: id }),
    ...(clientName !== undefined && { client_name: clientName }),
    ...(redirectUri !== undefined && { redirect_uris: redirectUri }),
    ...(grant !== undefined && { grant_types: grant }),
    ...(scope !== undefined && { scope }),
    ...(method !== undefined && { token_endpoint_auth_method: method }),
  };
}

/** A file that was not there: nothing is written over. */
async function create(name: string, { folder }: Surroundings): Promise<FileHandle> {
  return open(resolve(folder, name), 'wx', 0o600).catch((error: unknown) => {
    throw new Error(`--secret-file is ${name}, which cannot be made: ${reasonOf(error)}`, { cause: error });
  });
}

function told(registered: Readonly<Record<string, unknown>>): string {
  const { client_id: id, client_secret: secret, kept } = registered;
  const about = `The client ${id} can be used now.\n`;
  if (kept !== undefined) return `${about}Its secret is in ${kept}.\n`;
  return secret === undefined ? about : `${about}Its secret, which nobody can read again:\n${secret}\n`;
}

const list: Act = async ({ clients, settings, flags }) => {
  const stored: ListedClient[] = [];
  for (let page = await clients.list(); page.length > 0; page = await clients.list(page.at(-1)?.id)) {
    stored.push(...page);
  }
  const all = [...settings.clients.map(configuredClient), ...stored.map(storedClient)];
  if (flags.json) return json(all);
  if (all.length === 0) return 'There is no client yet.\n';
  const rows = all.map(({ id, origin, state, lastUsedAt, metadata }) => [
    state,
    origin,
    lastUsedAt === null ? 'never used' : `used ${String(lastUsedAt).slice(0, 10)}`,
    id,
    printable(metadata['client_name']),
  ]);
  return columns(rows);
};

interface Described {
  readonly id: string;
  readonly origin: string;
  readonly state: 'enabled' | 'disabled';
  /** ISO 8601. */
  readonly createdAt: string | null;
  readonly lastUsedAt: string | null;
  /** `null`: never. */
  readonly expiresAt: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

function storedClient({ id, origin, metadata, ...times }: ListedClient): Described {
  return {
    id,
    origin,
    state: times.disabledAt === null ? 'enabled' : 'disabled',
    createdAt: timeOrNull(times.createdAt),
    lastUsedAt: timeOrNull(times.lastUsedAt),
    expiresAt: timeOrNull(times.expiresAt),
    metadata: { ...metadata },
  };
}

function configuredClient(document: Readonly<Record<string, unknown>>): Described {
  const { client_id: id, client_secret: _secret, ...metadata } = document;
  const times = { createdAt: null, lastUsedAt: null, expiresAt: null };
  return { id: String(id), origin: 'configured', state: 'enabled', ...times, metadata };
}

function find({ settings, id }: Task): Described | null {
  const document = settings.clients.find(({ client_id: known }) => known === id);
  return document === undefined ? null : configuredClient(document);
}

const show: Act = async (task) => {
  const stored = await task.clients.find(task.id);
  const found = find(task) ?? (stored === null ? null : storedClient(stored));
  if (found === null) throw unknown(task.id);
  if (task.flags.json) return json(found);
  const { metadata, ...about } = found;
  const rows = Object.entries({ ...about, expiresAt: about.expiresAt ?? 'never', ...metadata })
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [name, printable(typeof value === 'string' ? value : JSON.stringify(value))]);
  return columns(rows);
};

function change(verb: 'disable' | 'enable' | 'remove', what: string): Act {
  return async (task) => {
    if (find(task) !== null) {
      throw new Error(
        `The client ${task.id} stands in the configuration: change it there, and restart the server`,
      );
    }
    if (!(await task.clients[verb](task.id))) throw unknown(task.id);
    return `The client ${task.id} ${what}.\n`;
  };
}

function unknown(id: string): Error {
  return new Error(`There is no client ${JSON.stringify(id)}: portcullis clients list shows all`);
}

/** Names are chosen by strangers. */
function printable(value: unknown): string {
  return typeof value === 'string' ? cleanLine(value) : '';
}

function timeOrNull(seconds: number | null): string | null {
  return seconds === null ? null : timeOf(seconds);
}

function json(value: unknown): string {
  return `${cleanJson(value)}\n`;
}
