/** Settings: precedence of flags, environment and file, parsing, and issues. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { profileA, profileB } from '@portcullis/protocol';
import { afterAll, describe, expect, it } from 'vitest';
import { SettingsError } from '../src/errors.ts';
import { findWarnings } from '../src/server/warnings.ts';
import { readSettings, resolveSettings, type Sources } from '../src/settings/resolve.ts';
import {
  flagOf,
  isServerOption,
  type SettingName,
  settingDefinitions,
  settingNames,
  variableOf,
} from '../src/settings/schema.ts';
import { runHere } from './support/in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-settings-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
/** Writes a configuration file and answers its name, relative to the folder. */
function file(content: unknown, extension = 'json'): string {
  const name = `config-${++files}.${extension}`;
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  return name;
}

function resolve(sources: Partial<Sources>) {
  return resolveSettings({ flags: {}, environment: {}, folder, ...sources });
}

async function issuesOf(sources: Partial<Sources>): Promise<readonly string[]> {
  const error = await resolve(sources).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof SettingsError)) throw new Error('no issue was reported');
  return error.issues;
}

describe('names', () => {
  it.each<[SettingName, string, string]>([
    ['port', '--port', 'PORTCULLIS_PORT'],
    ['host', '--host', 'PORTCULLIS_HOST'],
    ['publicUrl', '--public-url', 'PORTCULLIS_PUBLIC_URL'],
    ['database', '--database', 'PORTCULLIS_DATABASE'],
    ['key', '--key', 'PORTCULLIS_KEY'],
    ['keyFile', '--key-file', 'PORTCULLIS_KEY_FILE'],
    ['bootstrapEmail', '--bootstrap-email', 'PORTCULLIS_BOOTSTRAP_EMAIL'],
    ['bootstrapPassword', '--bootstrap-password', 'PORTCULLIS_BOOTSTRAP_PASSWORD'],
    ['config', '--config', 'PORTCULLIS_CONFIG'],
  ])('setting %s has flag %s and variable %s', (name, flag, variable) => {
    expect(flagOf(name)).toBe(flag);
    expect(variableOf(name)).toBe(variable);
  });
});

describe('precedence', () => {
  it('settings have their defaults when nothing is configured', async () => {
    expect(await resolve({})).toEqual(
      Object.fromEntries(
        settingNames.map((name) => [
          name,
          settingDefinitions[name].default ?? (isServerOption(name) ? undefined : null),
        ]),
      ),
    );
    expect(await resolve({})).toMatchObject({
      port: 8484,
      host: '127.0.0.1',
      database: 'data/portcullis.db',
      metadata: true,
    });
  });

  const flags = { port: '1001' };
  const environment = { PORTCULLIS_PORT: '1002' };
  const inFile = { port: 1003 };
  it.each([
    { description: 'flag over all', said: [flags, environment, inFile], port: 1001 },
    { description: 'flag over environment', said: [flags, environment, {}], port: 1001 },
    { description: 'flag over file', said: [flags, {}, inFile], port: 1001 },
    { description: 'environment over file', said: [{}, environment, inFile], port: 1002 },
    { description: 'file over default', said: [{}, {}, inFile], port: 1003 },
    {
      description: 'an empty variable is ignored',
      said: [{}, { PORTCULLIS_PORT: '' }, inFile],
      port: 1003,
    },
  ] as const)(
    'the value of a setting follows precedence: $description',
    async ({ said: [flagsSaid, environmentSaid, fileSaid], port }) => {
      const config = file(fileSaid);
      expect((await resolve({ flags: { ...flagsSaid, config }, environment: environmentSaid })).port).toBe(
        port,
      );
    },
  );

  it('the flag for the configuration file overrides the variable', async () => {
    const [first, second] = [file({ port: 1 }), file({ port: 2 })];
    const environment = { PORTCULLIS_CONFIG: second };
    expect((await resolve({ environment })).port).toBe(2);
    expect((await resolve({ environment, flags: { config: first } })).port).toBe(1);
  });
});

describe('the file', () => {
  it('the configuration file holds structured settings', async () => {
    const clients = [{ client_id: 'robot', client_secret: 's'.repeat(22) }];
    const config = file({
      metadata: false,
      registration: false,
      profiles: [profileA.revision, profileB.revision],
      privateUseSchemes: ['cursor'],
      lifetimes: { accessToken: 60 },
      clients,
    });
    expect(await resolve({ flags: { config } })).toMatchObject({
      metadata: false,
      registration: false,
      profiles: [profileA, profileB],
      privateUseSchemes: ['cursor'],
      lifetimes: { accessToken: 60 },
      clients,
    });
  });

  it.each(['ts', 'mjs'])(
    'the configuration file may be a module (.%s) that exports config',
    async (extension) => {
      const config = file('export const config = { port: 4242 };', extension);
      expect((await resolve({ flags: { config } })).port).toBe(4242);
    },
  );

  it.each([
    { description: 'missing', name: () => 'nowhere.json', says: /cannot be read: ENOENT/ },
    {
      description: 'not JSON',
      name: () => file('{"port": 1\n"key": "secret"}'),
      says: /is not well-formed JSON \(line 2 column 1\)$/,
    },
    {
      description: 'JSON with bare words',
      name: () => file('{"key": secret}'),
      says: /is not well-formed JSON$/,
    },
    { description: 'not an object', name: () => file('[]'), says: /must hold an object/ },
    {
      description: 'a module without a config export',
      name: () => file('export const other = {};', 'mjs'),
      says: /must export config/,
    },
    {
      description: 'a module that throws',
      name: () => file('throw new Error("no")', 'mjs'),
      says: /cannot be loaded: no/,
    },
  ])(
    'a configuration file that is $description is rejected with one line that names the setting',
    async ({ name, says }) => {
      const issues = await issuesOf({ flags: { config: name() } });
      expect(issues).toHaveLength(1);
      expect(issues[0]).toMatch(/^--config is \S+, which /);
      expect(issues[0]).toMatch(says);
      expect(issues[0]).not.toMatch(/secret|\n/);
    },
  );
});

describe('issues of settings', () => {
  it('issues are reported together, each naming its setting', async () => {
    const config = file({ port: 'eighty', metadata: 'no', colour: 'red', lifetimes: { code: -1 } });
    const environment = {
      PORTCULLIS_PUBLIC_URL: 'http://example.com',
      PORTCULLIS_BOOTSTRAP_EMAIL: 'a@b.example',
    };
    expect(await issuesOf({ flags: { config, key: 'short' }, environment })).toEqual([
      expect.stringMatching(/^"colour" \(in config-\d+\.json\): unknown key; see `portcullis up --help`$/),
      expect.stringMatching(/^port \(in \S+\) must be a whole number from 0 to 65535$/),
      expect.stringMatching(/^PORTCULLIS_PUBLIC_URL must use https/),
      expect.stringMatching(/^--key must be 32 random bytes/),
      expect.stringMatching(/^lifetimes\.code \(in \S+\) must be a whole number of seconds/),
      expect.stringMatching(/^metadata \(in \S+\) must be true or false$/),
      'PORTCULLIS_BOOTSTRAP_EMAIL needs PORTCULLIS_BOOTSTRAP_PASSWORD (--bootstrap-password) as well',
    ]);
  });

  it.each<[string, Partial<Record<SettingName, string>>, RegExp]>([
    ['port', { port: '65536' }, /0 to 65535/],
    ['port', { port: '80a' }, /0 to 65535/],
    ['port', { port: '-1' }, /0 to 65535/],
    ['host', { host: ' ' }, /must not be empty: an address$/],
    ['publicUrl', { publicUrl: 'example.com' }, /must be an absolute https URL/],
    ['publicUrl', { publicUrl: 'https://example.com/auth' }, /must have no path/],
    ['publicUrl', { publicUrl: 'https://example.com/?a' }, /must have no query/],
    ['database', { database: 'mysql://db' }, /must be a file, :memory:, or a postgres:\/\/ URL/],
    ['key', { key: 'A'.repeat(42) }, /must be 32 random bytes/],
    ['key', { key: 'A'.repeat(43), keyFile: 'x' }, /^--key-file must be left out when --key is set/],
    ['log', { log: 'loud' }, /must be one of text, json, none/],
  ])('an invalid setting is reported: %s with %j', async (_name, flags, says) => {
    const issues = await issuesOf({ flags });
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatch(/^--/);
    expect(issues[0]).toMatch(says);
  });

  it('issues never show the value of a secret', async () => {
    const secret = 'hunter2-hunter2';
    const issues = await issuesOf({
      flags: { key: secret },
      environment: { PORTCULLIS_BOOTSTRAP_PASSWORD: secret },
    });
    expect(issues).toHaveLength(2);
    expect(issues.join()).not.toContain(secret);
  });
});

describe('values', () => {
  it.each([
    ['base64url', Buffer.alloc(32, 251).toString('base64url')],
    ['base64', Buffer.alloc(32, 251).toString('base64')],
    ['hexadecimal', Buffer.alloc(32, 251).toString('hex')],
  ])('a key may be written in %s', async (_form, key) => {
    expect(Buffer.from((await resolve({ flags: { key } })).key ?? [])).toEqual(Buffer.alloc(32, 251));
  });

  it.each(['http://localhost:1', 'https://as.example', 'https://as.example/', 'https://AS.example:8443'])(
    'the public URL %s is kept byte for byte',
    async (publicUrl) => {
      expect((await resolve({ flags: { publicUrl } })).publicUrl).toBe(publicUrl);
    },
  );

  it.each([':memory:', 'here.db', '/var/lib/x.db', 'postgres://u:p@db/x', 'postgresql://db/x'])(
    'a database may be %s',
    async (database) => {
      expect((await resolve({ flags: { database } })).database).toBe(database);
    },
  );
});

describe('transport', () => {
  it.each<[string, Record<string, string>]>([
    ['loopback', { host: '127.0.0.1' }],
    ['loopback', { host: '::1' }],
    ['anywhere by TLS', { host: '0.0.0.0', tlsCert: 'c.pem', tlsKey: 'k.pem' }],
    ['anywhere behind a proxy', { host: '0.0.0.0', trustedProxies: '10.0.0.0/8, ::1' }],
  ])('[AS-HTTPS-1] transport may be %s: %j', async (_where, flags) => {
    expect(await resolve({ flags })).toMatchObject({ host: flags['host'] });
  });

  it.each([
    [
      { host: '0.0.0.0' },
      /^--host must be 127\.0\.0\.1, ::1 or localhost unless PORTCULLIS_TLS_CERT \(--tls-cert\) or PORTCULLIS_TRUSTED_PROXIES \(--trusted-proxies\) protects/,
    ],
    [{ host: '192.0.2.1' }, /^--host must be/],
    [{ tlsCert: 'c.pem' }, /^--tls-cert needs PORTCULLIS_TLS_KEY \(--tls-key\) as well$/],
    [
      { tlsCert: 'c', tlsKey: 'k', publicUrl: 'http://localhost:1' },
      /^--public-url must be https when --tls-cert is set$/,
    ],
    [{ trustedProxies: 'proxy.example' }, /^--trusted-proxies \(entry 1\) must be an IP/],
    [{ trustedProxies: '10.0.0.0/99' }, /must be an IP address, or a block such as/],
  ])(
    '[ALL-HTTP-62 AS-HTTPS-1] cleartext or incomplete transport settings are rejected: %j',
    async (flags, says) => {
      const issues = await issuesOf({ flags });
      expect(issues).toHaveLength(1);
      expect(issues[0]).toMatch(says);
    },
  );
});

it.each([
  [{ rateLimits: false }, { rateLimits: false }],
  [
    { rateLimits: { refreshes: { burst: 1, perMinute: 2 } } },
    { rateLimits: { refreshes: { burst: 1, perMinute: 2 } } },
  ],
  [{ keys: { algorithm: 'RS256', rotateEvery: null } }, { keys: { algorithm: 'RS256', rotateEvery: null } }],
  [{ trustedProxies: ['10.0.0.1'] }, { trustedProxies: ['10.0.0.1'] }],
])('the configuration file accepts %j', async (content, expected) => {
  expect(await resolve({ flags: { config: file(content) } })).toMatchObject(expected);
});

it.each([
  [{ rateLimits: { refreshes: { burst: 1 } } }, /^rateLimits\.refreshes\.perMinute \(in \S+\) is required$/],
  [
    { rateLimits: { signIns: 5 } },
    /^rateLimits\.signIns \(in \S+\) must be an object with burst and perMinute, such as \{/,
  ],
  [{ rateLimits: 5 }, /^rateLimits \(in \S+\) must be false or an object$/],
  [{ registration: 'no' }, /^registration \(in \S+\) must be true, false or an object$/],
  [{ port: '18781' }, /^port \(in \S+\) must be a whole number from 0 to 65535: a number, not a string$/],
  [
    { rateLimits: { logins: {} } },
    /^rateLimits\.logins \(in \S+\): unknown key; (?:did you mean signIns|expected one of refreshes)/,
  ],
  [{ keys: { algorithm: 'none' } }, /^keys\.algorithm \(in \S+\) must be one of ES256, EdDSA, RS256$/],
])('the configuration file rejects %j', async (content, says) => {
  const issues = await issuesOf({ flags: { config: file(content) } });
  expect(issues).toHaveLength(1);
  expect(issues[0]).toMatch(says);
});

it('the configuration file rejects a string instead of a list', async () => {
  const issues = await issuesOf({ flags: { config: file({ trustedProxies: '10.0.0.0/33' }) } });
  expect(issues).toEqual([
    expect.stringMatching(/^trustedProxies \(in \S+\) must be an array, each an IP address or a block/),
  ]);
  const good = await issuesOf({ flags: { config: file({ trustedProxies: '10.0.0.0/8' }) } });
  expect(good).toEqual([expect.stringMatching(/^trustedProxies \(in \S+\) must be an array/)]);
});

it.each([
  [600_000, /^lifetimes\.accessToken \(in \S+\) is 600000 seconds, about 7 days: .+; 600 are 10 minutes$/],
  [86_401, /about 1 day:/],
  [86_400, null],
  [600, null],
])('an access token lifetime of %i seconds causes the warning %s', async (accessToken, says) => {
  const { settings, report, nameOf, hidden } = await readSettings({
    flags: { config: file({ lifetimes: { accessToken } }) },
    environment: {},
    folder,
  });
  expect([report.issues, settings.lifetimes.accessToken]).toEqual([[], accessToken]);
  const warnings = findWarnings({ settings, identityProviders: [], hidden, nameOf });
  expect(warnings).toEqual(says === null ? [] : [expect.stringMatching(says)]);
});

it('a variable in place of a key of the file causes a warning, and a key that is used none', async () => {
  const { settings, nameOf, hidden } = await readSettings({
    flags: { config: file({ log: 'json', host: '127.0.0.1', servers: [] }) },
    environment: { PORTCULLIS_SERVERS: '[]', PORTCULLIS_HOST: '', PORTCULLIS_PORT: '1' },
    folder,
  });
  expect(findWarnings({ settings, identityProviders: [], hidden, nameOf })).toEqual([
    expect.stringMatching(/^PORTCULLIS_SERVERS is set, so that "servers" of \S+ has no effect$/),
  ]);
});

it.each([
  [
    { personalAccessTokens: true, localAccounts: false },
    'personalAccessTokens .*has no effect while localAccounts',
  ],
  [{ personalAccessTokens: true }, null],
  [{ localAccounts: false }, null],
  [
    { publicUrl: 'https://auth.example.com' },
    '^publicUrl .*is https .+TRUSTED_PROXIES .*all clients share the rate limits of one$',
  ],
  [{ publicUrl: 'https://auth.example.com', trustedProxies: ['127.0.0.1'] }, null],
  [{ publicUrl: 'https://auth.example.com', tlsCert: 'a.pem', tlsKey: 'a.key' }, null],
  [{ publicUrl: 'http://localhost:8484' }, null],
])('%j causes the warning %s', async (given, says) => {
  const { settings, nameOf, hidden } = await readSettings({
    flags: { config: file(given) },
    environment: {},
    folder,
  });
  const warnings = findWarnings({ settings, identityProviders: [], hidden, nameOf });
  expect(warnings).toEqual(says === null ? [] : [expect.stringMatching(says)]);
});

const UNVERIFIED = 'it does not say that it has verified an address; use subjects or claims';
const NOT_REQUESTED = 'request their addresses with the scope email';
const inDomain = { allowedUsers: { emailDomains: ['example.com'] } };
const atOkta = { preset: 'okta', domain: 'example.okta.com' };
const enterprise = {
  endpoints: {
    authorization: 'https://github.example.com/login/oauth/authorize',
    token: 'https://github.example.com/login/oauth/access_token',
    userinfo: 'https://github.example.com/api/v3/user',
  },
  userinfoClaims: { subject: 'id' },
  responseFormat: 'github',
};

it.each([
  [{ preset: 'github', ...inDomain }, `GitHub: ${UNVERIFIED}`],
  [{ id: 'hub', name: 'Hub', scopes: [], kind: enterprise, ...inDomain }, `Hub: ${UNVERIFIED}`],
  [{ preset: 'slack', ...inDomain }, `Slack: ${UNVERIFIED}`],
  [{ preset: 'microsoft-entra', tenant: '8eaef023-2b34-4da1-9baa-8bc8c9d6a490', scopes: ['openid', 'email'], allowedUsers: { emails: ['a@example.com'] } }, `Microsoft: ${UNVERIFIED}`],
  [{ ...atOkta, ...inDomain }, `Okta: ${NOT_REQUESTED}`],
  [{ ...atOkta, scopes: ['openid', 'email'], ...inDomain }, null],
  [{ ...atOkta, allowedUsers: { claims: { groups: ['staff'] } } }, null],
  [{ preset: 'google', ...inDomain }, null],
])('`config check` of the identity provider %j warns that no address can match: %s', async (entry, why) => {
  const identityProviders = [{ ...entry, clientId: 'a', clientSecret: 'b' }];
  const servers = [{ path: '/mcp', backend: { url: 'http://127.0.0.1:9/mcp' } }];
  const path = file({ identityProviders, servers });
  const { code, errors } = await runHere(['config', 'check', path], { environment: {}, folder });
  expect([code, errors]).toEqual([0, why === null ? '' : expect.stringContaining(`match no user of ${why}`)]);
}); // biome-ignore format: a table

it.each([
  [
    { docs: '/docs', wiki: '/wiki' },
    '/all merges /docs with public operations: most clients connect to /all without signing in',
  ],
  [{ wiki: '/wiki' }, null],
])('`config check` of a server that merges %j warns of public operations: %s', async (merges, says) => {
  const backend = { url: 'http://127.0.0.1:9/mcp' };
  const docs = { path: '/docs', backend, tools: { search: { public: true } } };
  const servers = [docs, { path: '/wiki', backend }, { path: '/all', merges }];
  const { code, errors } = await runHere(['config', 'check', file({ servers })], { environment: {}, folder });
  expect([code, errors]).toEqual([0, says === null ? '' : expect.stringContaining(says)]);
});

it.each([
  [{ preset: 'google' }, 'Google'],
  [{ preset: 'github', allowedUsers: {} }, 'GitHub'],
  [{ preset: 'google', allowedUsers: { emails: ['ada@example.com'] } }, null],
  [{ preset: 'github', allowedUsers: { subjects: ['583231'] } }, null],
  [{ preset: 'okta', domain: 'example.okta.com' }, null],
])('`config check` of the identity provider %j warns that everyone may sign in: %s', async (entry, name) => {
  const identityProviders = [{ ...entry, clientId: 'a', clientSecret: 'b' }];
  const servers = [{ path: '/mcp', backend: { url: 'http://127.0.0.1:9/mcp' } }];
  const path = file({ identityProviders, servers });
  const { code, errors } = await runHere(['config', 'check', path], { environment: {}, folder });
  expect([code, errors]).toEqual([
    0,
    name === null
      ? ''
      : expect.stringMatching(
          new RegExp(
            `everyone who has an account at ${name} may sign in: .+ allowedUsers in identityProviders \\(in`,
          ),
        ),
  ]);
});

it.each([
  [
    { scim: {}, userClaims: { groups: 'groups' } },
    'users of Okta have the groups of scim and those of userClaims.groups',
  ],
  [{ scim: {} }, null],
  [{ userClaims: { groups: 'groups' } }, null],
])(
  '`config check` of an identity provider with %j warns of two sources of groups: %s',
  async (given, says) => {
    const identityProviders = [{ ...atOkta, ...given, clientId: 'a', clientSecret: 'b' }];
    const servers = [{ path: '/mcp', backend: { url: 'http://127.0.0.1:9/mcp' } }];
    const path = file({ identityProviders, servers });
    const { code, errors } = await runHere(['config', 'check', path], { environment: {}, folder });
    expect([code, errors]).toEqual([0, says === null ? '' : expect.stringContaining(says)]);
  },
);
