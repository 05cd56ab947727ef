/** `portcullis connections`: which apps act for whom, and what that rests on at third parties, in the hands of an administrator. */
import {
  type ConnectionAdministration,
  createAccountAdministration,
  createConnectionAdministration,
  type ListedConnection,
  type ListedProviderTokens,
} from '@portcullis/authorization-server';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { resolveSettings } from '../settings/resolve.ts';
import type { SettingName, Settings } from '../settings/schema.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { timeOf, timeOrNull } from '../terminal/times.ts';
import { addSubcommand } from './subcommand.ts';
import { issuerOf, type Tools, withStore } from './with-store.ts';

type Flags = Readonly<Partial<Record<SettingName, string>>> & {
  readonly json?: true;
  readonly all?: true;
  readonly identityProvider?: string;
};

interface Task extends Tools {
  readonly connections: ConnectionAdministration;
  readonly settings: Settings;
  readonly issuer: string;
  readonly flags: Flags;
  readonly named: readonly string[];
  /** How this program is called again. */
  readonly command: string;
}

/** What one of the commands does. It answers what to write. */
type Act = (task: Task) => Promise<string>;

export function defineConnections(program: Command, processContext: ProcessContext): void {
  const group = program.command('connections').summary('list and end what apps may do for people');
  const define = (name: string, act: Act, summary: string, more?: string) => {
    const command = addSubcommand(group, name, summary, undefined, more);
    return command.action(() => perform(command, processContext, act));
  };
  define('list', list, 'list which apps act for whom, and what that rests on at third parties')
    .argument('[account]', 'address or identifier of an account; all when left out')
    .option('--third-party <id>', 'only those that rest on this third party')
    .option('--json', 'as JSON');
  define(
    'end',
    end,
    'end connections of an account at once',
    'What third parties gave for them is given back there.',
  )
    .argument('<account>', 'address or identifier of the account')
    .argument('[connection]', 'identifier of the connection, as listed')
    .option('--all', 'all of them');
}

async function perform(command: Command, processContext: ProcessContext, act: Act): Promise<void> {
  const { environment, folder, write, command: program } = processContext;
  const flags: Flags = command.opts();
  const settings = await resolveSettings({ flags, environment, folder });
  const issuer = issuerOf(settings);
  const text = await withStore(settings, folder, 'refuse', (tools) =>
    act({
      ...{ ...tools, connections: createConnectionAdministration(tools), settings, issuer, flags },
      ...{ named: command.args, command: program },
    }),
  );
  write(text);
}

async function list(task: Task): Promise<string> {
  const { flags, connections } = task;
  const [account] = task.named;
  const lists = account === undefined ? await listAll(task) : [await connections.list(account)];
  const found = lists.flatMap((one) => one ?? refuseAccount(account));
  const wanted = found.filter(
    ({ providerTokens: bond }) =>
      flags.identityProvider === undefined || bond?.identityProvider === flags.identityProvider,
  );
  const named = await Promise.all(wanted.map((connection) => withName(connection, task)));
  if (flags.json) return `${cleanJson(named.map(withTimes))}\n`;
  return named.length === 0 ? 'There is no connection.\n' : named.map(describe).join('');
}

/** `clientName`, as the client calls itself; `null`: it does not, or it is known by its document alone. */
type NamedConnection = ListedConnection & { readonly clientName: string | null };

async function withName(connection: ListedConnection, { store, settings }: Task): Promise<NamedConnection> {
  const { clientId } = connection;
  const configured = settings.clients.find(({ client_id: id }) => id === clientId);
  const name = (configured ?? (await store.findClient(clientId))?.metadata)?.['client_name'];
  return { ...connection, clientName: typeof name === 'string' ? name : null };
}

/** Account by account, as many as there are. */
async function listAll({ connections, ...hands }: Task): Promise<(readonly ListedConnection[] | null)[]> {
  const accounts = createAccountAdministration(hands);
  const lists: (readonly ListedConnection[] | null)[] = [];
  let page = await accounts.list();
  while (page.length > 0) {
    for (const { id } of page) lists.push((await connections.list(id)) ?? []);
    page = await accounts.list(page.at(-1)?.emailKey);
  }
  return lists;
}

/** Times in words, as everywhere. */
function withTimes({
  createdAt,
  expiresAt,
  lastUsedAt,
  providerTokens: bond,
  ...connection
}: NamedConnection): object {
  return {
    ...connection,
    createdAt: timeOf(createdAt),
    expiresAt: timeOf(expiresAt),
    lastUsedAt: timeOf(lastUsedAt),
    bond: bond && { ...bond, expiresAt: timeOrNull(bond.expiresAt), checkedAt: timeOf(bond.checkedAt) },
  };
}

function describe({ id, account, clientId, clientName, ...connection }: NamedConnection): string {
  const { resources, scopes, createdAt, lastUsedAt, providerTokens: bond } = connection;
  const facts = [
    ['of', `${account.email} ${account.id}`],
    ['by', clientName === null ? clientId : `${clientName} (${clientId})`],
    ['on', `${resources.join(' ')}: ${scopes.join(' ')}`],
    ...(bond === null ? [] : [['rests on', describeBond(bond)] as const]),
  ] as const;
  const lines = facts.map(([name, text]) => `  ${name.padEnd(10)}${cleanLine(text)}\n`);
  return `${id}  allowed ${timeOf(createdAt)}, used ${timeOf(lastUsedAt)}\n${lines.join('')}`;
}

function describeBond({ identityProvider, name, subject, scopes }: ListedProviderTokens): string {
  return `${identityProvider}, as ${name ?? subject}${scopes.length > 0 ? `: ${scopes.join(' ')}` : ''}`;
}

async function end({ connections, flags, named, command }: Task): Promise<string> {
  const [account = '', connection] = named;
  if ((connection === undefined) === (flags.all === undefined)) {
    throw new Error(`Name one connection, as ${command} connections list does, or say --all`);
  }
  const count = (await connections.end(account, connection ?? null)) ?? refuseAccount(account);
  if (count === 0 && connection !== undefined) {
    throw new Error(
      `${cleanLine(account)} has no connection ${cleanLine(connection)}: it may have ended already`,
    );
  }
  return `${count} ${count === 1 ? 'connection has' : 'connections have'} ended.\n`;
}

function refuseAccount(account: string | undefined): never {
  throw new Error(`There is no account for ${cleanLine(account ?? '')}`);
}
