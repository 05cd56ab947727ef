/** `portcullis clients`: manages clients; those added here are trusted. */
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { addClient, readDuration, rotateSecret, updateClient } from './clients/change.ts';
import { defineInitialAccessTokens } from './clients/initial-access-tokens.ts';
import { findConfigured, listClients, showClient, unknownClient } from './clients/list.ts';
import { addMetadataOptions } from './clients/metadata-flags.ts';
import { addSecretOptions } from './clients/secret-output.ts';
import { type Task, taskOf } from './clients/task.ts';
import { REVOCATION_DELAY_NOTICE } from './revocation-delay-notice.ts';
import { type Output, storeCommands } from './store-commands.ts';

type Act = (task: Task) => Promise<Output>;

export function defineClients(program: Command, processContext: ProcessContext): void {
  const group = program
    .command('clients')
    .summary('add, invite, list, show, update, verify, disable, enable and remove clients');
  const define = storeCommands(group, processContext, taskOf);
  addMetadataOptions(define('add', 'add a trusted client; its secret is shown only once', addClient), true);
  defineInitialAccessTokens(group, processContext);
  define('list', 'list registered, added and configured clients', listClients).option('--json', 'as JSON');
  const one = (name: string, summary: string, run: Act) =>
    define(name, summary, run).argument('<client-id>', 'client ID');
  one('show', 'show everything stored about a client', showClient).option('--json', 'as JSON');
  addMetadataOptions(
    one('update', 'change the metadata of a client; what is not given stays', unlessConfigured(updateClient)),
    false,
  );
  addSecretOptions(
    one(
      'rotate-secret',
      'replace the secret of a client; the new one is shown only once',
      unlessConfigured(rotateSecret, CONFIGURED_SECRET),
    ).option(
      '--overlap <time>',
      'how long the replaced secret is still accepted, such as 30m, 12h or 7d; 0: not at all',
      readDuration,
      86_400,
    ),
  );
  one(
    'disable',
    'revoke all tokens and grants of a client immediately, and reject it',
    change('disable', 'is disabled; all its tokens and grants are revoked', REVOCATION_DELAY_NOTICE),
  );
  one(
    'enable',
    'accept a disabled client again',
    change('enable', 'is enabled; revoked tokens and grants stay revoked'),
  );
  one(
    'verify',
    'mark a client that registered itself as verified: the consent page says so',
    verification('verify', 'is verified, until it changes its metadata'),
  );
  one(
    'unverify',
    'take the verification of a client back',
    verification('unverify', 'is not verified any more'),
  );
  one(
    'remove',
    'remove a client and revoke all its tokens and grants',
    change('remove', 'is removed; all its tokens and grants are revoked', REVOCATION_DELAY_NOTICE),
  );
}

function change(verb: 'disable' | 'enable' | 'remove', what: string, more = ''): Act {
  return unlessConfigured(async (task) => {
    if (!(await task.clients[verb](task.id))) throw unknownClient(task);
    return `The client ${task.id} ${what}.\n${more === '' ? '' : `${more}\n`}`;
  });
}

function verification(verb: 'verify' | 'unverify', what: string): Act {
  return unlessConfigured(async (task) => {
    const { clients, id } = task;
    const client = await clients.find(id);
    if (client === null) throw unknownClient(task);
    if (client.origin === 'administered')
      throw new Error(`The client ${id} was added by an administrator: it needs no verification`);
    if (!(await (verb === 'verify' ? clients.verify(id, client.metadata) : clients.unverify(id))))
      throw new Error(`The client ${id} has changed its metadata meanwhile: look at it again`);
    return `The client ${id} ${what}.\n`;
  });
}

const CONFIGURED_SECRET =
  ': set client_secret to a new value and previous_client_secret to the one before, and remove that later; the server reads a changed file again, and needs a restart for a changed variable';

/** Rejects a client that the configuration defines. @param advice what to do instead */
function unlessConfigured(
  run: Act,
  advice = ': change it there, or remove it; the server reads a changed file again, and needs a restart for a changed variable',
): Act {
  return async (task) => {
    if (findConfigured(task) === null) return run(task);
    throw new Error(`The client ${task.id} is defined in the configuration${advice}`);
  };
}
