/** Structured settings: from the file, from variables, from elsewhere; and what is said of those that do not exist. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { SettingsError } from '../src/errors.ts';
import { type CommandServerOptions, prepare } from '../src/server/prepare.ts';
import type { FileConfiguration } from '../src/settings/config-file.ts';
import { resolveSettings } from '../src/settings/resolve.ts';
import { type SettingName, settingNames, variableOf } from '../src/settings/schema.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-structured-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function file(content: unknown, extension = 'json'): string {
  const name = `file-${++files}.${extension}`;
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  return name;
}

type Environment = Readonly<Record<string, string>>;

const inFile = (content: unknown, environment: Environment = {}) =>
  resolveSettings({ flags: { config: file(content) }, environment, folder });

async function issuesOf(task: Promise<unknown>): Promise<readonly string[]> {
  const error: unknown = await task.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof SettingsError)) throw new Error('no issue was reported', { cause: error });
  return error.issues;
}

const greeter = { resource: 'http://localhost:3000/mcp', name: 'Greeter', scopes: { greet: 'Greet you' } };

const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');

describe('the settings', () => {
  it('docs/configuration.md lists every setting', () => {
    for (const name of settingNames) expect(page).toContain(`\`${variableOf(name)}\``);
  });

  it('every option of the library has a setting', () => {
    // The compiler minds that no option is missing here.
    const settingOf: Readonly<Record<keyof CommandServerOptions, SettingName | null>> = {
      issuer: 'publicUrl',
      name: 'name',
      keys: 'keys',
      personalAccessTokens: 'personalAccessTokens',
      requireDpopNonces: 'requireDpopNonces',
      deviceAuthorization: 'deviceAuthorization',
      resources: 'resources',
      decideScopes: null,
      decideScopesOf: null,
      clients: 'clients',
      profiles: 'profiles',
      metadata: 'metadata',
      registration: 'registration',
      metadataDocuments: 'metadataDocuments',
      outbound: 'outbound',
      brand: 'brand',
      workspaces: 'workspaces',
      backends: null,
      approvals: null,
      sendsMail: null,
      signInLinks: null,
      offerOtherScopes: 'offerOtherScopes',
      identityProviders: 'identityProviders',
      assertionIssuers: 'assertionIssuers',
      assertionAudiences: 'assertionAudiences',
      localAccounts: 'localAccounts',
      lifetimes: 'lifetimes',
      acceptNewerRefreshTokens: 'acceptNewerRefreshTokens',
      privateUseSchemes: 'privateUseSchemes',
      rateLimits: 'rateLimits',
      auditRetention: 'auditRetention',
      auditLevel: 'auditLevel',
    };
    expect(settingNames).toEqual(
      expect.arrayContaining(Object.values(settingOf).filter((name) => name !== null)),
    );
  });

  it('a configuration module may hold every setting, by its type', () => {
    type Missing = Exclude<SettingName, keyof FileConfiguration | 'config'>;
    const isComplete: [Missing] extends [never] ? true : Missing = true;
    const secret = { variable: 'SECRET' };
    const client = { clientId: 'gate', clientSecret: secret };
    const written: FileConfiguration = {
      processes: 'auto',
      servers: [
        { path: '/a', backend: { url: 'https://a.example', credentials: { as: 'application', ...client } } },
      ],
    };
    expect([isComplete, written.processes]).toEqual([true, 'auto']);
  });

  it('the examples in docs/configuration.md are valid', async () => {
    const [, json = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
    const secret = file('s'.repeat(64), 'txt');
    const logo = file('<svg xmlns="http://www.w3.org/2000/svg"/>', 'svg');
    const config = file(json.replace('/run/secrets/files-server', secret).replace('logo.svg', logo));
    const { settings } = await prepare({ flags: { config }, environment: {}, folder });
    expect(settings.resources.map(({ name }) => name)).toEqual(['Notes', 'Files']);
    expect(settings.clients).toMatchObject([{ client_secret: 's'.repeat(64) }]);
  });
});

describe('a variable', () => {
  it.each<[Environment, object]>([
    [{ PORTCULLIS_METADATA: 'false' }, { metadata: false }],
    [{ PORTCULLIS_REGISTRATION: 'false' }, { registration: false }],
    [{ PORTCULLIS_REGISTRATION: '{"scope":"ceiling"}' }, { registration: { scope: 'ceiling' } }],
    [
      { PORTCULLIS_METADATA_DOCUMENTS: '{"hosts":["app.example"]}' },
      { metadataDocuments: { hosts: ['app.example'] } },
    ],
    [{ PORTCULLIS_PRIVATE_USE_SCHEMES: 'cursor, vscode' }, { privateUseSchemes: ['cursor', 'vscode'] }],
    [{ PORTCULLIS_PRIVATE_USE_SCHEMES: '["cursor"]' }, { privateUseSchemes: ['cursor'] }],
    [{ PORTCULLIS_LIFETIMES: '{"accessToken":60}' }, { lifetimes: { accessToken: 60 } }],
    [{ PORTCULLIS_RATE_LIMITS: 'false' }, { rateLimits: false }],
    [{ PORTCULLIS_RESOURCES: JSON.stringify([greeter]) }, { resources: [greeter] }],
  ])('a variable may hold a structured setting: %j', async (environment, expected) => {
    expect(await resolveSettings({ flags: {}, environment, folder })).toMatchObject(expected);
  });

  it.each<[Environment, RegExp]>([
    [{ PORTCULLIS_METADATA: 'no' }, /^PORTCULLIS_METADATA must be true or false$/],
    [{ PORTCULLIS_LIFETIMES: 'a secret' }, /^PORTCULLIS_LIFETIMES is not well-formed JSON$/],
    [{ PORTCULLIS_LIFETIMES: '{"code":0}' }, /^PORTCULLIS_LIFETIMES\.code must be a whole number of seconds from 1/],
    [{ PORTCULLIS_TRUSTED_PROXY: '::1' }, /^PORTCULLIS_TRUSTED_PROXY: unknown variable; did you mean PORTCULLIS_TRUSTED_PROXIES\?$/],
    [{ PORTCULLIS_DATABSE: 'x' }, /did you mean PORTCULLIS_DATABASE\?$/],
    [{ PORTCULLIS_STATUS_LISTS: 'true' }, /^PORTCULLIS_STATUS_LISTS: unknown variable; see `portcullis up --help`$/],
    [{ PORTCULLIS_COLOUR_OF_SKY: 'x' }, /: unknown variable; see `portcullis up --help`$/],
    [{ PORTCULLIS_PORT: 'tcp://10.0.0.7:80' }, /^PORTCULLIS_PORT holds the address of a Kubernetes service .* enableServiceLinks/],
  ])('an invalid variable is rejected with one line: %j', async (environment, says) => {
    const issues = await issuesOf(resolveSettings({ flags: {}, environment, folder }));
    expect(issues).toEqual([expect.stringMatching(says)]);
    expect(issues.join()).not.toContain('a secret');
  }); // biome-ignore format: a table

  it('a variable of another program, the client or Kubernetes is ignored', async () => {
    const environment = {
      PORTCULLIS_CREDENTIALS: 'x',
      PORTCULLIS_SERVICE_HOST: '10.0.0.7',
      PORTCULLIS_SERVICE_PORT_HTTP: '80',
      PORTCULLIS_DB_PORT: 'tcp://10.0.0.8:5432',
      PORTCULLIS_PORT_80_TCP_ADDR: '10.0.0.7',
      PORTCULIS: 'x',
    };
    expect(await resolveSettings({ flags: {}, environment, folder })).toMatchObject({ port: 8484 });
  });
});

describe('a secret in the file', () => {
  const client = { client_id: 'report', grant_types: ['client_credentials'] };
  const secret = 'kept-elsewhere-0123456789abcdef';

  it('a secret may be in a file or a variable', async () => {
    const clients = [
      { ...client, client_secret: { file: file(`${secret}\n`, 'txt') } },
      { ...client, client_id: 'other', client_secret: { variable: 'REPORT_SECRET' } },
    ];
    const registration = { initialAccessTokens: [{ variable: 'REPORT_SECRET' }] };
    expect(await inFile({ clients, registration }, { REPORT_SECRET: secret })).toMatchObject({
      clients: [{ client_secret: secret }, { client_secret: secret }],
      registration: { initialAccessTokens: [secret] },
    });
  });

  it('a secret may be in a file named by a variable, as container platforms mount them', async () => {
    const environment = {
      PORTCULLIS_BOOTSTRAP_EMAIL: 'a@b.example',
      PORTCULLIS_BOOTSTRAP_PASSWORD_FILE: file('correct horse battery staple\n', 'txt'),
      PORTCULLIS_METRICS_TOKEN_FILE: file('a-token', 'txt'),
    };
    expect(await resolveSettings({ flags: {}, environment, folder })).toMatchObject({
      bootstrapPassword: 'correct horse battery staple',
      metricsToken: 'a-token',
    });
    const wrong = { PORTCULLIS_METRICS_TOKEN_FILE: 'nowhere.txt' };
    expect(await issuesOf(resolveSettings({ flags: {}, environment: wrong, folder }))).toEqual([
      expect.stringMatching(/^PORTCULLIS_METRICS_TOKEN_FILE names nowhere\.txt, which cannot be read/),
    ]);
  });

  it.each<[unknown, RegExp]>([
    ['short', /^clients\.0\.client_secret \(in \S+\) must have at least 22 characters; `openssl rand/],
    [{ variable: 'NOT_SET' }, /names the variable NOT_SET, which is not set$/],
    [{ file: 'nowhere.txt' }, /names nowhere\.txt, which cannot be read: ENOENT/],
    [{}, /must be a string, \{ "file": … \} or \{ "variable": … \}$/],
    [{ variable: 'SHORT', file: 'x' }, /must be a string, \{ "file": … \} or/],
    [{ variable: 'SHORT' }, /must have at least 22 characters/],
    [{ env: 'SHORT' }, /client_secret \(in \S+\) must be a string, \{ "file"/],
    [7, /must be a string, \{ "file"/],
  ])('an invalid reference to a secret is rejected and never shown: %j', async (client_secret, says) => {
    const issues = await issuesOf(inFile({ clients: [{ ...client, client_secret }] }, { SHORT: 'hunter2' }));
    expect(issues).toEqual([expect.stringMatching(says)]);
    expect(issues.join()).not.toContain('hunter2');
  });
});

describe('members', () => {
  it('unknown members are reported with a suggestion, together with missing ones', async () => {
    const issues = await issuesOf(
      inFile({
        resources: [{ ...greeter, scope: {}, hierachy: {} }, { resource: 'https://x.example/mcp' }],
        clients: [{ client_id: 'a', redirect_uri: ['http://localhost/'] }, { client_name: 'B' }],
        registration: { managment: true },
        metadataDocuments: { host: [] },
        rateLimits: { signins: { burst: 1, perMinute: 1 } },
        lifetimes: { acessToken: 1, code: 'x' },
        brand: { accent: { night: '#000000' }, links: [{ label: 'x' }] },
        metadataDocument: true,
      }),
    );
    const where = `(in file-${files}.json)`;
    const seconds =
      'must be a whole number of seconds from 1 to 315360000 (3650 days), such as 600 for 10 minutes';
    expect(issues).toEqual([
      `"metadataDocument" ${where}: unknown key; did you mean metadataDocuments?`,
      `resources.0.scope ${where}: unknown key; did you mean scopes?`,
      `resources.0.hierachy ${where}: unknown key; did you mean hierarchy?`,
      `resources.1.name ${where} is required`,
      `resources.1.scopes ${where} is required`,
      `clients.0.redirect_uri ${where}: unknown key; did you mean redirect_uris?`,
      `clients.1.client_id ${where} is required`,
      `registration.managment ${where}: unknown key; did you mean management?`,
      `metadataDocuments.host ${where}: unknown key; did you mean hosts?`,
      `lifetimes.code ${where} ${seconds}`,
      `lifetimes.acessToken ${where}: unknown key; did you mean accessToken?`,
      `brand.accent.night ${where}: unknown key; did you mean light?`,
      `brand.links.0.href ${where} is required`,
      `rateLimits.signins ${where}: unknown key; did you mean signIns?`,
    ]);
  });
});

describe('the whole', () => {
  const start = (content: object, environment: Environment = {}) =>
    prepare({ flags: { config: file(content) }, environment, folder });

  it('settings, modules and server options are validated together', async () => {
    const issues = await issuesOf(
      start(
        {
          port: 'x',
          app: 'nowhere.ts',
          workspaces: file('export const other = 1;', 'mjs'),
          resources: [{ ...greeter, resource: 'http://LOCALHOST:3000/mcp', requiredScopes: ['great'] }],
          metadataDocuments: { hosts: ['https://x'] },
          brand: { accent: { light: '#ffffff' } },
        },
        { PORTCULLIS_BOOTSTRAP_EMAIL: 'a@b.example', PORTCULLIS_BOOTSTRAP_PASSWORD: 'ninechars' },
      ),
    );
    for (const says of [
      /^port \(in \S+\) must be a whole number/,
      /^app \(in \S+\) is nowhere\.ts, which cannot be loaded/,
      /^workspaces \(in \S+\) is \S+, which must export findWorkspaces$/,
      /^PORTCULLIS_BOOTSTRAP_PASSWORD must have at least 10 characters$/,
      /^resources\.0\.resource \(in \S+\) must be a canonical URI, written as "http:\/\/localhost:3000\/mcp"$/,
      /^resources\.0\.requiredScopes \(in \S+\): unknown scope "great"; expected one of greet$/,
      /^metadataDocuments\.hosts \(in \S+\): invalid host "https:\/\/x"/,
      /^brand\.accent\.light \(in \S+\) has a contrast of/,
    ]) {
      expect(issues).toContainEqual(expect.stringMatching(says));
    }
    expect(issues).toHaveLength(8);
  });

  it('issues distinguish the application from remote servers', async () => {
    const app = file(
      "export const app = { name: 'A', path: '/mcp', scopes: { a: 'A' }, defaultScopes: ['b'], create: async () => {} };",
      'mjs',
    );
    expect(await issuesOf(start({ app, resources: [{ ...greeter, defaultScopes: ['x'] }] }))).toEqual([
      expect.stringMatching(/^app \(in \S+\): app\.defaultScopes: unknown scope "b"; expected one of a$/),
      expect.stringMatching(
        /^resources\.0\.defaultScopes \(in \S+\): unknown scope "x"; expected one of greet$/,
      ),
    ]);
  });

  it('a setting that was written into another one is named as misplaced, and accepted beside it', async () => {
    const servers = [{ path: '/tools/files', backend: { url: 'http://127.0.0.1:1/mcp' } }];
    const inside = servers.map((server) => ({ ...server, strippedPrefix: '/tools' }));
    expect(await issuesOf(start({ servers: inside }))).toEqual([
      expect.stringMatching(
        /^servers\.0\.strippedPrefix \(in \S+\): unknown key; expected one of path, .*; beside servers there is a setting of this name$/,
      ),
    ]);
    // A common name is not misplaced: the error names what is expected there, too.
    const mail = { server: 'smtps://mail.example', from: 'a@example.com', port: 587 };
    expect(await issuesOf(start({ servers, mail }))).toContainEqual(
      expect.stringMatching(
        /^mail\.port \(in \S+\): unknown key; expected one of .*server.*; beside mail there/,
      ),
    );
    expect((await start({ servers, strippedPrefix: '/tools' })).settings.strippedPrefix).toBe('/tools');
  });

  it('a configuration must protect at least one server', async () => {
    expect(await issuesOf(start({}))).toEqual([
      expect.stringMatching(
        /^There is nothing to protect: run `portcullis protect <url>`, or .* as resources, in a configuration file \(--config <file>\); PORTCULLIS_APP \(--app\) names/,
      ),
    ]);
    expect((await start({ resources: [greeter] })).application).toBeNull();
  });

  it('a portcullis.json in the folder is named where no configuration file was, and not read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-unread-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const hint = /\(--config portcullis\.json for the one in this folder\)/;
    const prepared = () => issuesOf(prepare({ flags: {}, environment: {}, folder }));
    expect(await prepared()).toEqual([expect.not.stringMatching(hint)]);
    writeFileSync(join(folder, 'portcullis.json'), JSON.stringify({ resources: [greeter] }));
    expect(await prepared()).toEqual([expect.stringMatching(hint)]);
  });

  it('an issue of a setting is reported without its consequences', async () => {
    const github = { preset: 'github', clientId: 'x', clientSecret: { variable: 'NOT_SET' } };
    const resources = [greeter];
    expect(await issuesOf(start({ resources, identityProviders: [github], localAccounts: false }))).toEqual([
      expect.stringMatching(/^identityProviders\.0\.clientSecret.* NOT_SET/),
    ]);
    const secret = { NOT_SET: 'set now' };
    const empty = { ...github, clientId: '' };
    expect(
      await issuesOf(start({ resources, identityProviders: [empty], localAccounts: false }, secret)),
    ).toEqual([expect.stringMatching(/^identityProviders\.0\.clientId \(in \S+\) must not be empty$/)]);
    expect(await issuesOf(start({ resources: [{ ...greeter, colour: 'red' }] }))).toEqual([
      expect.stringMatching(/^resources\.0.*colour/),
    ]);
    // What follows from nothing is told.
    expect(await issuesOf(start({ resources, localAccounts: false }))).toEqual([
      expect.stringMatching(/^localAccounts \(in \S+\) must be true unless/),
    ]);
  });

  it('hooks may be in modules, or in a configuration file that is a module', async () => {
    const workspaces = file('export const findWorkspaces = async () => [{ id: "w", name: "W" }];', 'mjs');
    const named = await start({ resources: [greeter], workspaces });
    expect(await named.findWorkspaces?.('user', 'resource')).toEqual([{ id: 'w', name: 'W' }]);
    const config = file(
      `export const config = { resources: [${JSON.stringify(greeter)}], workspaces: async () => []};`,
      'mjs',
    );
    const direct = await prepare({ flags: { config }, environment: {}, folder });
    expect(await direct.findWorkspaces?.('', '')).toEqual([]);
  });
});
