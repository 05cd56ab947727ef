/** `portcullis scim tokens`: the bearer tokens with which identity providers provision users and groups (SCIM 2.0). */
import {
  createProvisioningTokenAdministration,
  type ListedProvisioningToken,
} from '@portcullis/authorization-server';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { provisionersOf } from '../server/provisioners.ts';
import { cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { timeOf, withTimes } from '../terminal/times.ts';
import { type Output, type StoreTask, storeCommands } from './store-commands.ts';
import { addTokenOptions } from './token-options.ts';
import { issuerOf } from './with-store.ts';

interface Flags {
  readonly days: number;
  readonly note: string;
}

function taskOf({ settings, flags, args, processContext: { command }, ...tools }: StoreTask<Flags>) {
  return {
    ...{ tokens: createProvisioningTokenAdministration(tools), flags, named: args[0] ?? '', command },
    endpoint: `${new URL(issuerOf(settings)).origin}/scim/v2`,
    /** The identity providers that provision, as configured. */
    providers: provisionersOf(settings),
  };
}

type Task = ReturnType<typeof taskOf>;

export function defineScim(program: Command, processContext: ProcessContext): void {
  const tokens = program
    .command('scim')
    .summary('manage the tokens with which identity providers provision users and groups')
    .command('tokens')
    .summary('create, list and revoke the tokens of provisioning connections');
  const define = storeCommands(tokens, processContext, taskOf);
  addTokenOptions(
    define(
      'create',
      'create the token of a provisioning connection',
      create,
      'Several may be valid at a time: create the next one, enter it at the identity provider, then revoke the previous one.',
    ).argument('<identity-provider>', 'ID of the identity provider in the configuration'),
    180,
  ).option('--json', 'as JSON');
  define('list', 'list the tokens that have not expired', list).option('--json', 'as JSON');
  define('revoke', 'revoke a token immediately', revoke).argument('<id>', 'ID of the token, as listed');
}

async function create({ tokens, flags, named, endpoint, providers, command }: Task): Promise<Output> {
  if (!providers.includes(named))
    throw new Error(
      `No identity provider ${JSON.stringify(named)} has scim in the configuration${providers.length === 0 ? '' : `: there is ${providers.join(', ')}`}`,
    );
  const { token, ...created } = await tokens.create(named, flags.note, flags.days * 86_400);
  const text = [
    `Enter these at ${named}, as the URL (tenant URL, base URL) and the token of its SCIM connection. The token is valid until ${timeOf(created.expiresAt)}.`,
    `To revoke it: ${command} scim tokens revoke ${created.id}`,
    endpoint,
    `${token}\n`,
  ].join('\n');
  return { json: { ...shown(created), endpoint, token }, text };
}

async function list({ tokens, providers }: Task): Promise<Output> {
  const all = await tokens.list();
  const rows = all.map(({ id, identityProvider, note, expiresAt }) => [
    id,
    cleanLine(identityProvider) + (providers.includes(identityProvider) ? '' : ' (not configured)'),
    `until ${timeOf(expiresAt).slice(0, 10)}`,
    cleanLine(note),
  ]);
  return { json: all.map(shown), text: all.length === 0 ? 'There are no SCIM tokens.\n' : columns(rows) };
}

async function revoke({ tokens, named, command }: Task): Promise<Output> {
  if (await tokens.revoke(named)) return `The SCIM token ${named} is revoked.\n`;
  throw new Error(`There is no SCIM token ${JSON.stringify(named)}: ${command} scim tokens list shows all`);
}

function shown(token: ListedProvisioningToken): object {
  return withTimes(token, 'createdAt', 'expiresAt');
}
