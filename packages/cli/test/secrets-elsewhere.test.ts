/** Administration in a second terminal, without the variables and files in which the server has its secrets. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { owner } from '../../../tests/support/portcullis.ts';
import { type ProtectedProcess, startCommand } from '../../../tests/support/protect.ts';
import { defineClients } from '../src/admin/clients.ts';
import { defineConnections } from '../src/admin/connections.ts';
import { defineEvents } from '../src/admin/events.ts';
import { defineIdentityProviders } from '../src/admin/identity-providers.ts';
import { defineKeys } from '../src/admin/keys.ts';
import { defineMail } from '../src/admin/mail.ts';
import { defineMigrate } from '../src/admin/migrate.ts';
import { definePolicy } from '../src/admin/policy.ts';
import { defineServersCommand } from '../src/admin/servers.ts';
import { defineStatistics } from '../src/admin/statistics.ts';
import { defineStreams } from '../src/admin/streams.ts';
import { defineUsers } from '../src/admin/users.ts';
import { defineWebhooks } from '../src/admin/webhooks.ts';
import type { ProcessContext } from '../src/process-context.ts';
import { runHere } from './support/in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-secrets-'));
const secrets = {
  SEARCH_KEY: 'Bearer of-the-backend',
  LOGIN_SECRET: 'of-the-identity-provider',
  MAIL_SECRET: 'secret',
  SIEM_SECRET: `whsec_${'c2VjcmV0'.repeat(4)}`,
};
const CLIENT = 'of-a-client-0123456789abcdef0123456789';

const configuration = {
  servers: [
    {
      path: '/search',
      backend: {
        url: 'http://127.0.0.1:9/mcp',
        credentials: { as: 'header', value: { variable: 'SEARCH_KEY' } },
      },
    },
  ],
  identityProviders: [
    {
      preset: 'github',
      clientId: 'gate',
      clientSecret: { variable: 'LOGIN_SECRET' },
      allowedUsers: { subjects: ['1'] },
    },
  ],
  localAccounts: true,
  mail: {
    server: 'smtp://127.0.0.1:9',
    from: 'gate@example.com',
    user: 'gate',
    password: { variable: 'MAIL_SECRET' },
  },
  webhooks: [{ name: 'siem', url: 'http://127.0.0.1:9/', secret: { variable: 'SIEM_SECRET' } }],
  clients: [
    { client_id: 'job', client_secret: CLIENT, grant_types: ['client_credentials'], scope: 'search:read' },
  ],
  metricsToken: { file: join(folder, 'metrics-token') },
};

let server: ProtectedProcess;
beforeAll(async () => {
  writeFileSync(join(folder, 'portcullis.json'), JSON.stringify(configuration));
  const cases = [{ server: '/search', tool: 'find', expect: 'challenge' }];
  writeFileSync(join(folder, 'cases.json'), JSON.stringify(cases));
  writeFileSync(join(folder, 'metrics-token'), 'of-the-metrics-0123456789abcdef');
  server = await startCommand(['up'], {
    ...secrets,
    PORTCULLIS_CONFIG: join(folder, 'portcullis.json'),
    PORTCULLIS_DATABASE: join(folder, 'portcullis.db'),
    PORTCULLIS_KEY_FILE: join(folder, 'portcullis.key'),
  });
  rmSync(join(folder, 'metrics-token'));
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** The command as an operator types it in a terminal of the folder, where no variable is set but those that name the installation. */
const run = (words: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  runHere(words, {
    folder,
    environment: {
      PORTCULLIS_CONFIG: 'portcullis.json',
      PORTCULLIS_DATABASE: 'portcullis.db',
      PORTCULLIS_KEY_FILE: 'portcullis.key',
      PORTCULLIS_PUBLIC_URL: server.url,
      ...more,
    },
  });

/** Arguments of each administration command, and its exit code. */
const COMMANDS: Readonly<Record<string, readonly [words: readonly string[], code: number]>> = {
  'users add': [['eve@example.com'], 0],
  'users describe': [[owner.email, '--name', 'Owner'], 0],
  'users list': [[], 0],
  'users show': [[owner.email], 0],
  'users reset': [[owner.email], 0],
  'users disable': [[owner.email], 0],
  'users enable': [[owner.email], 0],
  'users role': [[owner.email, 'viewer'], 0],
  'users remove': [[owner.email], 0],
  'identity-providers': [[], 0],
  'clients add': [['--id', 'app', '--redirect-uri', 'https://app.example/'], 0],
  'clients list': [[], 0],
  'clients show': [['app'], 0],
  'clients update': [['app', '--client-name', 'App'], 0],
  'clients rotate-secret': [['job'], 1],
  'clients verify': [['app'], 1],
  'clients unverify': [['app'], 1],
  'clients disable': [['app'], 0],
  'clients enable': [['app'], 0],
  'clients remove': [['app'], 0],
  'clients invite': [[], 0],
  'clients initial-access-tokens': [[], 0],
  'clients revoke-initial-access-token': [['initial-access-token_none'], 1],
  'connections list': [[], 0],
  'connections end': [['eve@example.com', '--all'], 0],
  'keys list': [[], 0],
  'keys rotate': [[], 0],
  'keys discard': [[], 0],
  'keys reencrypt': [['--new-key-file', 'new.key'], 0],
  events: [[], 0],
  statistics: [[], 0],
  migrate: [['--check'], 0],
  'policy explain': [['--server', '/search', '--tool', 'find', '--user', 'eve@example.com'], 0],
  'policy who-can': [['--server', '/search', '--tool', 'find'], 0],
  'policy test': [['cases.json'], 0],
  'servers list': [[], 0],
  'servers review': [[], 0],
  'servers approve': [['/search', '--all'], 1],
  'servers reject': [['/search', '--all'], 1],
  'mail status': [[], 0],
  'streams list': [[], 0],
  'streams remove': [['stream_x'], 1],
  'webhooks list': [[], 0],
  'webhooks replay': [['siem', '--since', '1h'], 0],
};

/** These send a secret. */
const WITH_SECRETS = ['mail test', 'servers test', 'webhooks test'];

/** Every command that administers an installation. */
function administrationCommands(): readonly string[] {
  const program = new Command();
  const context = {} as ProcessContext;
  const groups = [
    defineUsers,
    defineClients,
    defineConnections,
    defineKeys,
    defineEvents,
    defineStatistics,
    defineMigrate,
    definePolicy,
    defineServersCommand,
    defineStreams,
    defineWebhooks,
    defineMail,
    defineIdentityProviders,
  ];
  for (const define of groups) define(program, context);
  return program.commands.flatMap((group) =>
    group.commands.length === 0
      ? [group.name()]
      : group.commands.map((command) => `${group.name()} ${command.name()}`),
  );
}

describe('administration without the variables and files of the server’s secrets', () => {
  it('is tested for every command', () => {
    expect(Object.keys(COMMANDS).toSorted()).toEqual(
      administrationCommands()
        .filter((name) => !WITH_SECRETS.includes(name))
        .toSorted(),
    );
  });

  it.each(Object.entries(COMMANDS))('`%s` works', async (name, [words, code]) => {
    const ended = await run([...name.split(' '), ...words]);
    expect(ended.errors).not.toMatch(/SEARCH_KEY|LOGIN_SECRET|MAIL_SECRET|SIEM_SECRET|metrics-token/);
    expect([ended.code, ended.errors]).toEqual([code, code === 0 ? '' : expect.stringMatching(/./)]);
  });

  it('`servers list` still names the credentials of each server', async () => {
    expect((await run(['servers', 'list'])).output).toContain('credentials: header');
  });

  it('`servers test`, which sends a secret, names the variable that is not set', async () => {
    const refused = await run(['servers', 'test']);
    expect([refused.code, refused.output]).toEqual([1, '']);
    expect(refused.errors).toContain(
      'servers.0.backend.credentials.value (in portcullis.json) names the variable SEARCH_KEY, which is not set',
    );
    const tried = await run(['servers', 'test'], { SEARCH_KEY: secrets.SEARCH_KEY });
    expect([tried.code, tried.output]).toEqual([4, expect.stringContaining('/search: failed')]);
  });

  it('`keys list` names a master key that it cannot find, because it decrypts with it', async () => {
    writeFileSync(join(folder, 'with-key.json'), JSON.stringify({ key: { variable: 'MASTER' } }));
    const refused = await run(['keys', 'list', '--config', 'with-key.json']);
    expect([refused.code, refused.errors]).toEqual([
      1,
      expect.stringContaining('key (in with-key.json) names the variable MASTER, which is not set'),
    ]);
  });
});
