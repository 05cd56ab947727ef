/** Every command that changes what is stored leaves an event in the audit log: a new command must be named here. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@portcullis/store';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApproval } from '../../store/testing/approvals.ts';
import { newEventStream } from '../../store/testing/event-streams.ts';
import {
  createGrant,
  newAccount,
  newAccountLink,
  newClient,
  newHash,
  newInitialAccessToken,
} from '../../store/testing/samples.ts';
import { defineCommands } from '../src/program.ts';
import { createContext, runHere } from './support/in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-changes-'));
const environment = {
  PORTCULLIS_CONFIG: 'portcullis.json',
  PORTCULLIS_DATABASE: 'portcullis.db',
  PORTCULLIS_KEY_FILE: 'portcullis.key',
};
const run = (words: readonly string[]) => runHere(words, { environment, folder });

type Store = Awaited<ReturnType<typeof openStore>>;
const onStore = async <T>(task: (store: Store) => Promise<T>): Promise<T> => {
  const store = await openStore(join(folder, 'portcullis.db'));
  try {
    return await task(store);
  } finally {
    await store.close();
  }
};

/** Identifiers of what commands change, and none has created. */
const ids: Record<string, string> = {};
const LIST = { server: '/files', backend: 'http://127.0.0.1:9/mcp', kind: 'tool' } as const;

beforeAll(async () => {
  const configuration = {
    publicUrl: 'https://auth.example.com',
    servers: [{ path: '/files', backend: { url: LIST.backend } }],
    identityProviders: [
      {
        ...{ id: 'acme', name: 'Acme', kind: { issuer: 'https://sso.example.com' } },
        ...{ clientId: 'portcullis', scopes: ['openid'], scim: {} },
      },
    ],
  };
  writeFileSync(join(folder, 'portcullis.json'), JSON.stringify(configuration));
  writeFileSync(join(folder, 'portcullis.key'), Buffer.alloc(32, 1).toString('base64'), { mode: 0o600 });
  await run(['migrate']);
  await onStore(async (store) => {
    const account = newAccount();
    await store.createAccount(account, newAccountLink(account.id));
    const { grant } = await createGrant(store, { grant: { accountId: account.id } });
    await store.saveFirstPins(LIST, [{ name: 'read', hash: newHash(), definition: '{}' }], 1);
    for (const name of ['one', 'two'])
      await store.savePendingPin(LIST, { name, hash: newHash(), definition: `{"name":"${name}"}` }, 2);
    const later = Math.floor(Date.now() / 1000) + 600;
    const [allowed, denied] = [newApproval({ expiresAt: later }), newApproval({ expiresAt: later })];
    for (const approval of [allowed, denied])
      await store.requestApproval(approval, { bySubject: 9, byServer: 9 });
    const stream = newEventStream();
    await store.createEventStream(stream, 9);
    const registered = newClient();
    const invited = newInitialAccessToken();
    await store.saveClient(registered);
    await store.saveInitialAccessToken(invited);
    Object.assign(ids, {
      ...{
        grant: grant.id,
        allowed: allowed.id,
        denied: denied.id,
        stream: stream.id,
        registered: registered.id,
        invited: invited.id,
      },
    });
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

const EVE = 'eve@example.com';

/** In this order. A word in braces is an identifier, also of what the command before has printed. */
const CHANGES: readonly (readonly [command: string, ...words: readonly string[]])[] = [
  ['users add', EVE],
  ['users describe', EVE, '--groups', 'platform'],
  ['users describe', EVE, '--groups', '', '--now'],
  ['users describe', EVE, '--name', 'Eve'],
  ['users role', EVE, 'viewer'],
  ['users reset', EVE],
  ['users disable', EVE],
  ['users enable', EVE],
  ['users remove', EVE],
  ['scim tokens create', 'acme'],
  ['scim tokens revoke', '{token}'],
  ['clients add', '--id', 'app', '--redirect-uri', 'https://app.example/', '--method', 'client_secret_basic'],
  ['clients update', 'app', '--client-name', 'App'],
  ['clients rotate-secret', 'app'],
  ['clients disable', 'app'],
  ['clients enable', 'app'],
  ['clients remove', 'app'],
  ['clients verify', '{registered}'],
  ['clients unverify', '{registered}'],
  ['clients invite'],
  ['clients revoke-initial-access-token', '{invited}'],
  ['approvals allow', '{allowed}'],
  ['approvals deny', '{denied}'],
  ['connections end', '{grant}'],
  ['servers approve', '/files', 'one'],
  ['servers reject', '/files', 'two'],
  ['streams remove', '{stream}'],
  ['keys rotate'],
  ['keys reencrypt', '--new-key-file', 'new.key'],
  ['keys discard', '--yes'],
];

/** They change nothing, or nothing that decides about access: how far a delivery is, and the form of the database. */
const READS = [
  ...['status', 'open', 'access', 'identity-providers', 'groups', 'events', 'statistics'],
  ...['config schema', 'config check', 'servers list', 'servers test', 'servers review'],
  ...['policy explain', 'policy who-can', 'policy test', 'users show', 'users list', 'scim tokens list'],
  ...['clients initial-access-tokens', 'clients list', 'clients show', 'connections list'],
  ...['approvals list', 'approvals show', 'keys list', 'streams list', 'mail status', 'mail test'],
  ...['webhooks list', 'webhooks test', 'webhooks replay', 'migrate'],
];

/** They serve, or act as a client of a server. */
const OTHERS = [
  'protect',
  'up',
  'login',
  'logout',
  'sessions',
  'token',
  'tools',
  'call',
  'connect',
  'doctor',
];

function leavesOf(command: Command, name = ''): readonly string[] {
  return command.commands.length === 0
    ? [name]
    : command.commands.flatMap((one) => leavesOf(one, `${name} ${one.name()}`.trim()));
}

const countEvents = () => onStore(async (store) => (await store.listEvents('', 1000)).length);

describe('every command that changes something', () => {
  it('is known', async () => {
    const program = new Command();
    await defineCommands(program, createContext({ environment, folder }).processContext);
    const known = new Set([...CHANGES.map(([name]) => name), ...READS, ...OTHERS, 'completion']);
    expect([...known].toSorted()).toEqual(leavesOf(program).toSorted());
  });

  it.each(CHANGES)('leaves an event: `%s`', async (name, ...words) => {
    const before = await countEvents();
    const named = words.map((word) => word.replace(/^\{(.+)\}$/, (_, id: string) => ids[id] ?? id));
    const { code, output, errors } = await run([...name.split(' '), ...named]);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(await countEvents()).toBeGreaterThan(before);
    const [, token] = /\b(scim_[\w-]+)/.exec(output) ?? [];
    if (token !== undefined) ids['token'] = token;
  });
});
