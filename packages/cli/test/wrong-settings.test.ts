/** Wrong values in a configuration file, one at a time in every place: each is an issue of a setting, and never an exception. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SettingsError } from '../src/errors.ts';
import { prepare } from '../src/server/prepare.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-wrong-'));
afterAll(() => rmSync(folder, { recursive: true }));

function prepareWith(content: unknown) {
  writeFileSync(join(folder, 'config.json'), JSON.stringify(content));
  return prepare({ flags: { config: 'config.json' }, environment: {}, folder });
}

const resource = { resource: 'https://mcp.example.com/mcp', name: 'G', scopes: { a: 'Greet' } };

const mail = { server: 'smtps://mail.example', from: 'gate@example.com', user: 'gate', password: 'secret' };

const webhook = {
  name: 'siem',
  url: 'https://siem.example/events',
  secret: `whsec_${'c2VjcmV0'.repeat(4)}`,
  types: ['login.*', 'grant.revoked'],
};

/** As many settings as one file can hold. */
const rich = {
  resources: [
    {
      ...resource,
      defaultScopes: ['a'],
      requiredScopes: ['a'],
      access: { a: 'read' },
      hierarchy: { a: ['a'] },
      grantableTo: { a: { clients: ['x'], groups: ['g'], claims: { email: ['e'] } } },
      translations: { de: { name: 'x', scopes: { a: 'y' } } },
      claims: ['email'],
      scopeClaims: { a: ['name'] },
      introspectionClients: ['robot'],
      tokenExchangeClients: ['robot'],
      exchangeTargets: ['https://mcp.example.com/mcp'],
      accessTokens: 'jwt',
    },
  ],
  servers: [
    {
      path: '/a',
      name: 'A',
      backend: {
        url: ['https://b.example/mcp', 'https://c.example/mcp'],
        forward: ['x-a'],
        credentials: {
          as: 'exchange',
          clientId: 'x',
          clientSecret: 'y',
          scopes: ['s'],
          tokenEndpoint: 'https://t.example/token',
        },
      },
      scopes: { r: 'Read', w: { description: 'Write', groups: ['g'], claims: { email: ['x'] } } },
      tools: { 'read-*': ['r'], x: { scopes: ['w'], clients: ['c'], claims: { email: ['x'] } }, z: false },
      resources: { '*': ['r'] },
      prompts: { '*': ['r'] },
      methods: { ping: [] },
      limits: { callsPerMinute: 5, body: 5000 },
      keepArguments: { redact: ['a.b'] },
    },
    {
      path: '/b',
      backend: { command: ['node', 'x'], environment: { A: 'b' }, identity: { uid: 5, gid: 6 } },
    },
    { path: '/all', merges: { a: '/a', b: '/b' } },
    {
      path: '/e',
      backend: {
        url: 'https://e.example',
        credentials: {
          as: 'enterprise',
          clientId: 'x',
          clientSecret: 's',
          identityProvider: { tokenEndpoint: 'https://t.example/t', clientId: 'c', clientSecret: 'd' },
        },
      },
    },
    {
      path: '/h',
      backend: { url: 'https://e.example', credentials: { as: 'header', name: 'x-api', value: 'v' } },
    },
  ],
  clients: [
    {
      client_id: 'robot',
      client_secret: 's'.repeat(22),
      grant_types: ['client_credentials', 'urn:ietf:params:oauth:grant-type:token-exchange'],
      scope: 'a',
      redirect_uris: ['https://x.example/cb'],
      contacts: ['x'],
      jwks_uri: 'https://x.example/jwks',
    },
  ],
  registration: { initialAccessTokens: ['t'.repeat(30)], softwareStatementIssuers: ['https://i.example'] },
  metadataDocuments: {
    hosts: ['a.example'],
    refusedHosts: ['b.example'],
    pinned: [{ client_id: 'https://x.example/c', client_name: 'x', redirect_uris: ['https://x.example/cb'] }],
  },
  privateUseSchemes: ['myapp'],
  webhooks: [webhook],
  mail,
  outbound: { proxy: 'http://p:3128', noProxy: ['a.example'], timeout: 50 },
  identityProviders: [
    {
      id: 'sso',
      name: 'S',
      clientId: 'x',
      clientSecret: 'y',
      scopes: ['openid'],
      upstreamScopes: { a: ['repo'] },
      kind: { issuer: 'https://sso.example' },
      parameters: { a: 'b' },
      allowedUsers: { subjects: ['x'], emailDomains: ['a.example'], claims: { hd: ['a'] } },
      userClaims: { name: 'x', groups: 'g' },
      twoFactorValues: ['mfa'],
    },
    {
      id: 'hub',
      name: 'H',
      clientId: 'x',
      clientSecret: 'y',
      scopes: ['x'],
      kind: {
        endpoints: {
          authorization: 'https://h.example/a',
          token: 'https://h.example/t',
          userinfo: 'https://h.example/u',
        },
        userinfoClaims: { subject: 'id' },
      },
    },
  ],
  assertionIssuers: [
    { issuer: 'https://i.example', use: 'workload', client: 'w', match: { sub: 'a' }, scopes: ['a'] },
    {
      issuer: 'https://j.example',
      use: 'id-jag',
      clients: ['agent'],
      scopes: ['a'],
      scopesByClaim: [{ match: { groups: 'x' }, scopes: ['a'] }],
      twoFactorValues: ['m'],
    },
  ],
  assertionAudiences: [
    {
      audience: 'https://o.example',
      clients: { agent: 'b' },
      scopes: ['x'],
      resources: ['https://o.example/mcp'],
    },
  ],
  lifetimes: { accessToken: 60 },
  keys: { algorithm: 'ES256' },
  profiles: ['2025-11-25'],
  brand: {
    accent: { light: '#1c4fc4' },
    texts: { en: {} },
    links: [{ label: 'x', href: 'https://x.example' }],
  },
  rateLimits: { signIns: { burst: 5, perMinute: 5 } },
  trustedProxies: ['10.0.0.0/8'],
};

const WRONG: readonly unknown[] = [5, null, {}, [null]];

/** The value with one place of it wrong, missing, or under another name. */
function* variantsOf(value: unknown): Generator<unknown> {
  yield* WRONG;
  if (typeof value !== 'object' || value === null) return;
  for (const name of Object.keys(value)) yield* variantsAt(value as Parent, name);
}

type Parent = Readonly<Record<string, unknown>> | readonly unknown[];

function* variantsAt(value: Parent, name: string): Generator<unknown> {
  const member: unknown = Object.entries(value).find(([one]) => one === name)?.[1];
  for (const variant of variantsOf(member))
    yield Array.isArray(value) ? value.with(Number(name), variant) : { ...value, [name]: variant };
  if (Array.isArray(value)) return;
  const others = Object.entries(value).filter(([one]) => one !== name);
  yield Object.fromEntries(others);
  yield Object.fromEntries([...others, [`${name}x`, member]]);
}

describe('a configuration file', () => {
  it('is accepted with as many settings as one file can hold', async () => {
    expect((await prepareWith(rich)).settings.servers).toHaveLength(rich.servers.length);
  });

  it.each<readonly [string, readonly unknown[]]>([
    ['itself', WRONG],
    ...Object.keys(rich).map((name) => [name, [...variantsAt(rich, name)]] as const),
  ])('with something wrong in %s leads to issues, and to no exception', async (_name, variants) => {
    const exceptions = new Set<string>();
    let refused = 0;
    for (const variant of variants) {
      const error: unknown = await prepareWith(variant).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      if (error instanceof SettingsError) refused += 1;
      else if (error !== null) exceptions.add(`${(error as Error).stack?.split('\n').slice(0, 2).join(' ')}`);
    }
    expect([...exceptions]).toEqual([]);
    expect(refused).toBeGreaterThan(variants.length / 2);
  });

  it('with one name twice is refused, and one with a byte order mark is read', async () => {
    const written = JSON.stringify({ resources: [resource], port: 1 });
    const prepareText = (text: string) => {
      writeFileSync(join(folder, 'text.json'), text);
      return prepare({ flags: { config: 'text.json' }, environment: {}, folder });
    };
    expect((await prepareText(`\uFEFF${written}`)).settings.port).toBe(1);
    const issuesOfText = async (text: string) =>
      ((await prepareText(text).catch((one: unknown) => one)) as SettingsError).issues;
    for (const [name, text] of [
      ['port', written.replace('{', '{"port":2,')],
      ['name', written.replace('"name"', '"name":"H","name"')],
    ] as const) {
      expect(await issuesOfText(text)).toEqual([
        `--config is text.json, which has the name "${name}" twice in an object: only the last would count`,
      ]);
    }
    expect(await issuesOfText('\n')).toEqual(['--config is text.json, which is empty']);
  });

  it('names a server by the public URL as clients write it, in lower case and without a default port', async () => {
    const { serversAt } = await prepareWith({
      servers: rich.servers,
      publicUrl: 'https://Mcp.Example.com:443',
    });
    const [first] = serversAt('https://Mcp.Example.com:443');
    expect(first?.resource).toBe('https://mcp.example.com/a');
  });

  it.each([
    [{ secret: 'whsec_c2hvcnQ=' }, {}, 'webhooks.0.secret (in config.json) must be whsec_ and 24 to 64'],
    [{ secret: 'c2VjcmV0'.repeat(4) }, {}, 'webhooks.0.secret (in config.json) must be whsec_ and 24 to 64'],
    [{ url: 'http://siem.example/' }, {}, 'webhooks.0.url (in config.json) must be an https URL'],
    [
      { types: ['login.fialed'] },
      {},
      'webhooks.0.types.0 (in config.json) is unknown. There is no event "login.fialed"',
    ],
    [
      {},
      { auditRetention: false },
      'webhooks (in config.json) must not be set while auditRetention is false',
    ],
  ])('refuses a webhook that cannot work: %j %j', async (changes, settings, issue) => {
    const withWebhook = (one: object, more: object) =>
      prepareWith({ resources: [resource], webhooks: [one], ...more });
    expect((await withWebhook(webhook, {})).settings.webhooks).toHaveLength(1);
    const error: unknown = await withWebhook({ ...webhook, ...changes }, settings).catch(
      (one: unknown) => one,
    );
    expect((error as SettingsError).issues).toEqual([expect.stringContaining(issue)]);
  });

  it.each([
    ['http://collector:4318/v1/traces', 'otlp (in config.json) must not end with the path of one signal'],
    ['http://user:password@collector:4318', 'otlp (in config.json) must be an https or http URL'],
    [
      { url: 'http://collector:4318', headers: { authorization: 'Bearer a' } },
      'otlp.url (in config.json) must be an https URL, because the headers may be secret',
    ],
    [
      { url: 'http://collector:4318', sampling: 2 },
      'otlp.sampling (in config.json) must be a number from 0 to 1',
    ],
  ])('refuses a collector that cannot be used: %j', async (otlp, issue) => {
    const withCollector = (one: unknown) => prepareWith({ resources: [resource], otlp: one });
    const url = 'https://collector.example';
    for (const one of ['http://collector:4318', { url, headers: { authorization: 'Bearer a' } }])
      expect((await withCollector(one)).settings.otlp).toMatchObject(one instanceof Object ? one : {});
    const error: unknown = await withCollector(otlp).catch((one: unknown) => one);
    expect((error as SettingsError).issues).toEqual([expect.stringContaining(issue)]);
  });

  it.each([
    [{ server: 'https://mail.example' }, {}, 'mail.server (in config.json) must be smtps://<host>'],
    [{ server: 'smtp://u:p@mail.example' }, {}, 'mail.server (in config.json) must be host and port only'],
    [{ from: 'Gate <gate@example.com>' }, {}, 'mail.from (in config.json) must be an email address'],
    [{ user: undefined }, {}, 'mail.password (in config.json) must be set together with user'],
    [{}, { auditRetention: false }, 'mail (in config.json) must not be set while auditRetention is false'],
  ])('refuses a mail server that cannot work: %j %j', async (changes, settings, issue) => {
    const withMail = (one: object, more: object) =>
      prepareWith({ resources: [resource], mail: one, ...more });
    expect((await withMail(mail, {})).settings.mail).toMatchObject({ language: 'en', user: 'gate' });
    const error: unknown = await withMail({ ...mail, ...changes }, settings).catch((one: unknown) => one);
    expect((error as SettingsError).issues).toEqual([expect.stringContaining(issue)]);
  });

  it.each([
    [{ url: 'syslog+tcp://siem.example:601' }, {}, '.0.url (in config.json) must be a syslog+tls URL'],
    [{ url: 'http://siem.example/' }, {}, '.0.url (in config.json) must be an https URL'],
    [{ url: 'syslog://siem.example' }, {}, '.0.url (in config.json) must be an https URL'],
    [{ format: 'otlp' }, {}, '.0.format (in config.json) must be json or ocsf for syslog'],
    [{ headers: { a: 'b' } }, {}, '.0.headers (in config.json) must not be set for syslog'],
    [{ types: ['login.fialed'] }, {}, '.0.types.0 (in config.json) is unknown'],
    [{}, { auditRetention: false }, ' (in config.json) must not be set while auditRetention is false'],
    [{}, { webhooks: [webhook] }, '.0.name (in config.json) is the name of a webhook'],
  ])('refuses an export that cannot work: %j %j', async (changes, settings, issue) => {
    const one = { name: webhook.name, url: 'syslog+tls://siem.example', types: ['login.*'] };
    const withExport = (given: object, more: object) =>
      prepareWith({ resources: [resource], eventExports: [given], ...more });
    expect((await withExport(one, {})).settings.eventExports).toMatchObject([{ format: 'json' }]);
    const error: unknown = await withExport({ ...one, ...changes }, settings).catch(
      (reason: unknown) => reason,
    );
    expect((error as SettingsError).issues).toEqual([expect.stringContaining(`eventExports${issue}`)]);
  });

  it.each(['https', 'http', 'javascript', 'urn'])(
    'cannot allow the scheme %s, which no setting allows',
    async (scheme) => {
      const schemes = (name: string) =>
        prepareWith({ resources: [resource], privateUseSchemes: ['com.example.app', name] });
      expect((await schemes('my-app+1')).settings.privateUseSchemes).toHaveLength(2);
      const error: unknown = await schemes(scheme).catch((one: unknown) => one);
      const issue = 'privateUseSchemes.1 (in config.json) must be a private-use URI scheme';
      expect((error as SettingsError).issues).toEqual([expect.stringContaining(issue)]);
    },
  );
});
