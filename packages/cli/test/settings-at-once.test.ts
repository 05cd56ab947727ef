/** An invalid configuration: all issues together, under the names that the user wrote, without consequential issues. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SettingsError } from '../src/errors.ts';
import { prepare } from '../src/server/prepare.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-at-once-'));
afterAll(() => rmSync(folder, { recursive: true }));

type Said = Readonly<Record<string, unknown>>;

/** What is said of a file, of variables and of flags; none: it is good. */
async function issuesOf(content: Said, environment: Record<string, string> = {}, flags: object = {}) {
  writeFileSync(join(folder, 'gate.json'), JSON.stringify(content));
  const said = prepare({ flags: { ...flags, config: 'gate.json' }, environment, folder });
  const error: unknown = await said.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error === null) return [];
  if (!(error instanceof SettingsError)) throw error;
  return error.issues;
}

const notes = {
  resource: 'https://mcp.example/notes',
  name: 'Notes',
  scopes: { read: 'Read', write: 'Write' },
};
const robot = { client_id: 'robot', client_secret: 's'.repeat(22), grant_types: ['client_credentials'] };
const sso = {
  id: 'sso',
  name: 'SSO',
  clientId: 'x',
  kind: { issuer: 'https://sso.example' },
  scopes: ['openid'],
};
const good = { resources: [notes], clients: [robot], identityProviders: [sso] };

const SECONDS =
  'must be a whole number of seconds from 1 to 315360000 (3650 days), such as 600 for 10 minutes';

describe('all issues at once', () => {
  it('issues of settings and of the server’s rules are reported together', async () => {
    const issues = await issuesOf({
      port: 'eighty',
      resources: [
        {
          ...notes,
          resource: 'https://mcp.example/notes#top',
          name: '',
          colour: 'red',
          requiredScopes: ['all'],
        },
      ],
      clients: [{ ...robot, grant_types: ['magic'], jwks_uri: 7, redirect_uris: ['ftp://x'] }],
      lifetimes: { accessToken: '10m', code: 0.5 },
      keys: { rotateEvery: '90d', prepublish: 3 },
      brand: { accent: { light: '#ffffff' }, logo: 7 },
      keyFile: 'gate.json',
      tlsCert: 'no.crt',
      tlsKey: 'no.key',
    });
    expect(issues).toEqual([
      'resources.0.name (in gate.json) must not be empty',
      'resources.0.colour (in gate.json): unknown key; expected one of resource, name, scopes, defaultScopes, requiredScopes, access, hierarchy, grantableTo, translations, claims, scopeClaims, accessTokens, introspectionClients, tokenExchangeClients, exchangeTargets, revocationDelay',
      'port (in gate.json) must be a whole number from 0 to 65535',
      'clients.0.jwks_uri (in gate.json) must be a string: a URL',
      `lifetimes.accessToken (in gate.json) ${SECONDS}`,
      `lifetimes.code (in gate.json) ${SECONDS}`,
      'keys.rotateEvery (in gate.json) must be a whole number of seconds from 1 to 3153600000 (36500 days), such as 600 for 10 minutes, or null',
      'keys.prepublish (in gate.json) must be a whole number of seconds from 330 to 31536000 (365 days), such as 600 for 10 minutes',
      'brand.logo (in gate.json) must be a PNG, JPEG, WebP or SVG file of at most 64 KiB',
      expect.stringMatching(/^tlsCert \(in gate\.json\) is no\.crt, which cannot be read: ENOENT/),
      expect.stringMatching(/^tlsKey \(in gate\.json\) is no\.key, which cannot be read: ENOENT/),
      'keyFile (in gate.json) is gate.json, which must be 32 random bytes in base64url: openssl rand -base64 32',
      'resources.0.resource (in gate.json) must be a canonical URI such as "https://mcp.example.com/mcp", not "https://mcp.example/notes#top"',
      'resources.0.requiredScopes (in gate.json): unknown scope "all"; expected one of read, write',
      expect.stringMatching(
        /^clients\.0\.grant_types \(in gate\.json\): none of them .* use authorization_code, /,
      ),
      'clients.0.redirect_uris.0 (in gate.json) must not use the scheme ftp',
      expect.stringMatching(/^brand\.accent\.light \(in gate\.json\) has a contrast of 1 .* needs 4\.5/),
    ]);
    expect(await issuesOf(good)).toEqual([]);
  });

  it('each issue names the flag, variable or file that set the value', async () => {
    const environment = {
      PORTCULLIS_AUDIT_RETENTION: '90d',
      PORTCULLIS_LIFETIMES: '{"code":"soon"}',
      PORTCULLIS_METRICS_TOKEN_FILE: 'no.txt',
    };
    expect(await issuesOf({ ...good, personalAccessTokens: 'yes' }, environment, { log: 'loud' })).toEqual([
      `PORTCULLIS_LIFETIMES.code ${SECONDS}`,
      'personalAccessTokens (in gate.json) must be true or false',
      '--log must be one of text, json, none',
      expect.stringMatching(/^PORTCULLIS_METRICS_TOKEN_FILE names no\.txt, which cannot be read/),
      'PORTCULLIS_AUDIT_RETENTION must be a whole number of seconds, or false',
    ]);
    expect(
      await issuesOf({ ...good, identityProviders: [] }, { PORTCULLIS_LOCAL_ACCOUNTS: 'false' }),
    ).toEqual([expect.stringMatching(/^PORTCULLIS_LOCAL_ACCOUNTS must be true unless /)]);
  });
});

/** Each with the issue of another setting that is reported only once the first one can be read. */
describe('consequential issues', () => {
  const opaque = { ...notes, accessTokens: 'opaque', introspectionClients: ['robot'] };
  it.each<[string, Said, Said, RegExp]>([
    ['scopes of a client', { ...good, clients: [{ ...robot, scope: 'dance' }] }, { resources: [{ ...notes, scopes: 7 }] }, /^clients\.0\.scope .* unknown scope "dance"/],
    ['scopes of a client, and an application', { ...good, clients: [{ ...robot, scope: 'dance' }] }, { app: 'no.ts' }, /^clients\.0\.scope .* unknown scope "dance"/],
    ['what rests on third parties', { ...good, identityProviders: [{ ...sso, upstreamScopes: { dance: ['x'] } }] }, { resources: [{ ...notes, scops: {}, scopes: undefined }] }, /^identityProviders\.0\.upstreamScopes .* unknown scope "dance"/],
    ['who introspects', { ...good, resources: [opaque], clients: [] }, { clients: ['robot'] }, /^resources\.0\.introspectionClients .* "robot" is not a configured client/],
    ['opaque tokens', { ...good, resources: [{ ...opaque, introspectionClients: [] }] }, { resources: [{ ...opaque, introspectionClients: 'robot' }] }, /^resources\.0\.accessTokens .* must be jwt without introspectionClients/],
    ['no sign-in method', { ...good, localAccounts: false, identityProviders: [] }, { identityProviders: {} }, /^localAccounts .* must be true unless/],
    ['an OpenID scope', { ...good, identityProviders: [{ ...sso, scopes: ['files'] }] }, { identityProviders: [{ ...sso, scopes: ['files'], kind: 'okta' }] }, /^identityProviders\.0\.scopes .* must include openid/],
    ['hosts of documents', { ...good, metadataDocuments: { hosts: ['https://x'] } }, { metadataDocuments: { hosts: [7] } }, /^metadataDocuments\.hosts .* invalid host/],
  ])('an issue that may only follow from another is not reported: %s', async (_what, told, hidden, issue) => {
    expect(await issuesOf(told)).toEqual([expect.stringMatching(issue)]);
    const issues = await issuesOf({ ...told, ...hidden });
    expect(issues).not.toEqual([]);
    for (const one of issues) expect(one).not.toMatch(issue);
  }); // biome-ignore format: a table

  it('no consequential issue is reported for an identity provider with an unknown preset', async () => {
    const identityProviders = [{ preset: 'githib', clientId: 'x', clientSecret: { variable: 'NOWHERE' } }];
    expect(await issuesOf({ ...good, identityProviders: identityProviders })).toEqual([
      'identityProviders.0.clientSecret (in gate.json) names the variable NOWHERE, which is not set',
      'identityProviders.0.preset (in gate.json): unknown preset; did you mean github?',
    ]);
  });
});
