/** `portcullis --server <url> …`: administration commands that act on a remote server through its admin API. */
import type { Client } from '@portcullis/client';
import type { Command } from 'commander';
import { CommandFailure, exitCodes } from '../client/exit-codes.ts';
import { addJsonOption, addSignInOptions, type SignInFlags } from '../client/flags.ts';
import { withClient } from '../client/open-client.ts';
import { SettingsError } from '../errors.ts';
import { isObject, parseJson } from '../json.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { type RemoteCommand, type RemoteFlags, remoteCommands } from './commands.ts';

const API_PATH = '/admin/api/v1';

/** @param server origin of the server, as typed @throws SettingsError */
export function defineRemote(program: Command, processContext: ProcessContext, server: string): void {
  const api = apiOf(server);
  program.description(`Administers ${cleanLine(server)} through its admin API, signed in as an operator.`);
  const groups = new Map<string, Command>();
  for (const remote of remoteCommands) {
    const [group = '', name = ''] = remote.words.split(' ');
    const parent = groups.get(group) ?? program.command(group);
    groups.set(group, parent);
    const command = parent.command(name).description(remote.summary);
    for (const [argument, about] of remote.args ?? []) command.argument(argument, about);
    for (const [flags, about] of remote.options ?? []) command.option(flags, about);
    if (changes(remote)) command.option('--reason <text>', 'why, for the audit log');
    addJsonOption(addSignInOptions(command)).action(() => run(api, remote, command, processContext));
  }
}

function apiOf(server: string): string {
  const url = URL.parse(server);
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/')
    throw new SettingsError([`--server must be the URL of a server such as https://auth.example.com`]);
  return `${url.origin}${API_PATH}`;
}

/** Explaining is a POST that changes nothing. */
function changes({ request, words }: RemoteCommand): boolean {
  return request([], {}).method !== 'GET' && words !== 'policy explain';
}

async function run(
  api: string,
  remote: RemoteCommand,
  command: Command,
  processContext: ProcessContext,
): Promise<void> {
  const flags: SignInFlags & RemoteFlags = command.opts();
  await withClient(api, flags, processContext, async ({ client, terminal }) => {
    terminal.during('Waiting for the server');
    const found = await request(client, api, remote, command.args, flags);
    terminal.print(flags.json ? `${cleanJson(found)}\n` : describe(found, remote));
  });
}

async function request(
  { fetch }: Client,
  api: string,
  remote: RemoteCommand,
  args: readonly string[],
  flags: RemoteFlags,
): Promise<unknown> {
  const { method, path, query = {}, body = {} } = remote.request(args, flags);
  const given = typeof flags['reason'] === 'string' ? { reason: flags['reason'] } : {};
  const takesBody = method === 'POST' || method === 'PATCH';
  const send = async (cursor: string | null) => {
    const url = new URL(`${api}${path}`);
    const parameters = { ...query, ...(takesBody ? {} : given), ...(cursor !== null && { cursor }) };
    for (const [name, value] of Object.entries(parameters))
      if (value !== undefined) url.searchParams.set(name, value);
    const content = {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ...given }),
    };
    return read(await fetch(url.href, { method, ...(takesBody && content) }));
  };
  const first = await send(null);
  if (!isPage(first) || query['limit'] !== undefined) return isList(first) ? first.items : first;
  const items = [...first.items];
  for (let page: Page = first; page.next !== null; ) {
    const following = await send(page.next);
    if (!isPage(following)) break;
    items.push(...following.items);
    page = following;
  }
  return items;
}

interface List {
  readonly items: readonly unknown[];
}

interface Page extends List {
  readonly next: string | null;
}

function isList(value: unknown): value is List {
  return isObject(value) && Array.isArray(value['items']);
}

function isPage(value: unknown): value is Page {
  return isList(value) && 'next' in value;
}

/** @throws CommandFailure with what the problem says */
async function read(response: Response): Promise<unknown> {
  const found = parseJson(await response.text());
  if (response.ok) return found;
  const { detail, error_description: description, issues } = isObject(found) ? found : {};
  const sentence = String(detail ?? description ?? `The server responded with ${response.status}.`);
  const lines = Array.isArray(issues)
    ? issues.filter(isObject).map(({ at, message }) => `${at}: ${message}`)
    : [];
  const code = response.status >= 500 ? exitCodes.temporary : exitCodes.usage;
  throw new CommandFailure(code, cleanLine([sentence, ...lines].join(' ')));
}

function describe(found: unknown, { columns: names }: RemoteCommand): string {
  if (Array.isArray(found)) {
    if (found.length === 0) return 'There are none.\n';
    const rows = found.filter(isObject);
    return columns(rows.map((row) => (names ?? Object.keys(row)).map((name) => cellOf(row[name]))));
  }
  if (!isObject(found)) return `${cleanJson(found)}\n`;
  return columns(Object.entries(found).map(([name, value]) => [cleanLine(name), cellOf(value)]));
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return cleanLine(typeof value === 'string' ? value : JSON.stringify(value));
}
