/** `portcullis connections`: lists and revokes the access of apps to users' accounts (grants), with the linked identity of each. */
import { allAccounts, listClientConnections } from '@portcullis/admin/operations';
import {
  createAccountAdministration,
  createConnectionAdministration,
  type ListedConnection,
  type ListedProviderTokens,
} from '@portcullis/authorization-server';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { cleanLine } from '../terminal/clean.ts';
import { timeOf, withTimes } from '../terminal/times.ts';
import { type Output, type StoreTask, storeCommands } from './store-commands.ts';
import { issuerOf } from './with-store.ts';

interface Flags {
  readonly all?: true;
  readonly since?: string;
  readonly identityProvider?: string;
  readonly client?: string;
}

function taskOf(task: StoreTask<Flags>) {
  return {
    ...task,
    issuer: issuerOf(task.settings),
    connections: createConnectionAdministration(task),
  };
}

type Task = ReturnType<typeof taskOf>;

export function defineConnections(program: Command, processContext: ProcessContext): void {
  const group = program
    .command('connections')
    .alias('grants')
    .summary('list and end the access of apps to users’ accounts');
  const define = storeCommands(group, processContext, taskOf);
  define(
    'list',
    'list which app may act for which user, with the linked identity',
    list,
    'Last used: when the app last got a token, or for a personal access token when it was last sent; calls with other tokens do not count.',
  )
    .argument('[account]', 'email address or ID of an account; all accounts by default')
    .option('--client <id>', 'only those of this client; without an account at most 1000')
    .option('--identity-provider <id>', 'only those linked to this identity provider')
    .option('--json', 'as JSON');
  define(
    'end',
    'end connections of an account immediately, or after restoring a backup',
    end,
    'Their provider tokens are revoked at the identity provider. A restored backup brings back connections that were ended after it: --since, with the time when the restored server started, ends those that were not used since: run it a day later. Before the server starts, it ends them all.',
  )
    .argument('[account]', 'email address or ID of the account')
    .argument('[connection]', 'ID of the connection, as listed')
    .option('--all', 'all of them')
    .option(
      '--since <time>',
      'those of every account that were not used since this time, such as 2026-03-01T04:00Z',
    );
}

/** Connections of one client that are listed. */
const MAX_OF_CLIENT = 1000;

async function list(task: Task): Promise<Output> {
  const { flags, connections } = task;
  const [account] = task.args;
  const lists =
    account !== undefined
      ? [await connections.list(account)]
      : flags.client === undefined
        ? await listAll(task)
        : [(await listClientConnections(task, flags.client, MAX_OF_CLIENT)).connections];
  const found = lists.flatMap((one) => one ?? refuseAccount(account ?? ''));
  const wanted = found.filter(
    ({ providerTokens, clientId }) =>
      (flags.client === undefined || clientId === flags.client) &&
      (flags.identityProvider === undefined || providerTokens?.identityProvider === flags.identityProvider),
  );
  const named = await Promise.all(wanted.map((connection) => withClientName(connection, task)));
  const text = named.length === 0 ? 'There are no connections.\n' : named.map(describe).join('');
  return { json: named.map(shown), text };
}

/** A client by its ID and its own name. */
export interface NamedClient {
  readonly clientId: string;
  /** `null`: it has none, or is identified by a metadata document alone. */
  readonly clientName: string | null;
}

type NamedConnection = ListedConnection & NamedClient;

/** Adds the name of the client. */
export async function withClientName<T extends Pick<NamedClient, 'clientId'>>(
  record: T,
  { store, settings }: Pick<Task, 'store' | 'settings'>,
): Promise<T & NamedClient> {
  const { clientId } = record;
  const configured = settings.clients.find(({ client_id: id }) => id === clientId);
  const name = (configured ?? (await store.findClient(clientId))?.metadata)?.['client_name'];
  return { ...record, clientName: typeof name === 'string' ? name : null };
}

export function clientText({ clientId, clientName }: NamedClient): string {
  return clientName === null ? clientId : `${clientName} (${clientId})`;
}

function refuseAccount(named: string): never {
  throw new Error(`There is no account for ${cleanLine(named)}`);
}

/** Lists the connections of every account. */
async function listAll({ connections, ...tools }: Task): Promise<(readonly ListedConnection[] | null)[]> {
  const accounts = allAccounts(createAccountAdministration(tools));
  return Array.fromAsync(accounts, async ({ id }) => (await connections.list(id)) ?? []);
}

function shown({ providerTokens, ...connection }: NamedConnection): object {
  return {
    ...withTimes(connection, 'createdAt', 'expiresAt', 'lastUsedAt'),
    providerTokens: providerTokens && withTimes(providerTokens, 'expiresAt', 'checkedAt'),
  };
}

function describe(connection: NamedConnection): string {
  const { id, account, resources, scopes, createdAt, lastUsedAt, providerTokens } = connection;
  const facts = [
    ['user', `${account.email} ${account.id}`],
    ['client', clientText(connection)],
    ['access', `${resources.join(' ')}: ${scopes.join(' ')}`],
    ...(providerTokens === null ? [] : [['linked to', describeProviderTokens(providerTokens)] as const]),
  ] as const;
  const lines = facts.map(([name, text]) => `  ${name.padEnd(10)}${cleanLine(text)}\n`);
  return `${id}  allowed ${timeOf(createdAt)}, last used ${timeOf(lastUsedAt)}\n${lines.join('')}`;
}

function describeProviderTokens({ identityProvider, name, subject, scopes }: ListedProviderTokens): string {
  return `${identityProvider}, as ${name ?? subject}${scopes.length > 0 ? `: ${scopes.join(' ')}` : ''}`;
}

async function end(task: Task): Promise<Output> {
  const { connections, flags, args, store } = task;
  if (flags.since !== undefined) return endUnusedSince(flags.since, task);
  // A connection on its own names its account.
  const [only = ''] = args;
  const found = args.length === 1 && only.startsWith('grant_') ? await store.findGrant(only) : null;
  const [account, connection] = found === null ? args : [found.grant.accountId ?? '', only];
  if (account === undefined) throw new Error('Name an account, or pass --since after restoring a backup');
  if ((connection === undefined) === (flags.all === undefined)) {
    throw new Error(
      `Name one connection, as listed by ${task.processContext.command} connections list, or pass --all`,
    );
  }
  const count = (await connections.end(account, connection ?? null)) ?? refuseAccount(account);
  if (count === 0 && connection !== undefined) {
    throw new Error(
      `${cleanLine(account)} has no connection ${cleanLine(connection)}: it may already have ended`,
    );
  }
  return `Ended ${count} ${count === 1 ? 'connection' : 'connections'}.\n`;
}

/** Ends the unused connections of every account: some may have been ended already, after the backup that was restored. */
async function endUnusedSince(time: string, task: Task): Promise<Output> {
  const { connections, flags, args } = task;
  const since = Date.parse(time) / 1000;
  if (Number.isNaN(since)) throw new Error('--since must be a time such as 2026-03-01T04:00Z');
  if (since > Date.now() / 1000)
    throw new Error('--since must be in the past: it is when the restored server started');
  if (args.length > 0 || flags.all) throw new Error('--since ends connections of every account: name none');
  let count = 0;
  for (const list of await listAll(task)) {
    for (const { id, account, lastUsedAt } of list ?? []) {
      if (lastUsedAt < since) count += (await connections.end(account.id, id)) ?? 0;
    }
  }
  return `Ended ${count} ${count === 1 ? 'connection' : 'connections'} not used since ${timeOf(since)}.\n`;
}
