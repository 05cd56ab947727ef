/** Options of identity providers: validated at startup, every issue at once; and the presets. */

import { describe, expect, it } from 'vitest';
import {
  isUserAllowed,
  readFederatedUser,
  readOpenIdConnectUser,
} from '../src/federation/provider/federated-user.ts';
import {
  coveredScopes,
  type IdentityProvider,
  promptForLogin,
  upstreamScopesFor,
} from '../src/federation/provider/identity-provider.ts';
import { identityProviderOptions } from '../src/federation/provider/options.ts';
import { responseFormats, translateResponse } from '../src/federation/provider/response-formats.ts';
import { validateIdentityProviders } from '../src/federation/provider/validate-identity-providers.ts';
import {
  auth0,
  ConfigurationError,
  github,
  gitlab,
  google,
  type IdentityProviderOptions,
  keycloak,
  microsoftEntra,
  okta,
  slack,
} from '../src/index.ts';
import { createOptionReport, formatOptionIssue, readOption } from '../src/option-schema/reader.ts';
import { startServer } from './server-under-test.ts';

const good: IdentityProviderOptions = {
  id: 'sso',
  name: 'Single Sign-on',
  clientId: 'portcullis',
  clientSecret: 'secret',
  scopes: ['openid'],
  kind: { issuer: 'https://sso.example' },
};

const ours = {
  issuer: 'https://as.example',
  resources: [{ scopes: { 'notes:read': 'Read', 'notes:write': 'Write' } }],
};

/** Reads identity providers by the schema and the rules. */
function validate(identityProviders: readonly IdentityProviderOptions[], localAccounts = true) {
  const report = createOptionReport();
  const parsed = readOption(
    identityProviderOptions.identityProviders.schema(),
    identityProviders,
    ['identityProviders'],
    report,
  );
  const validated = validateIdentityProviders({ ...ours, identityProviders: parsed, localAccounts }, report);
  const issues = report.issues.map(({ path, message }) => formatOptionIssue(path.join('.'), message));
  return { issues, validated };
}

const issuesOf = (...parameters: Parameters<typeof validate>) => validate(...parameters).issues;

function validated(options: IdentityProviderOptions): IdentityProvider {
  const { issues, validated } = validate([options]);
  expect(issues).toEqual([]);
  const found = validated.get(options.id);
  if (found === undefined) throw new Error('the provider was not validated');
  return found;
}

const endpoints = {
  authorization: 'https://hub.example/authorize',
  token: 'https://hub.example/token',
  userinfo: 'https://hub.example/user',
};

describe('the options of identity providers', () => {
  it('accepts identity providers, and gives each its own redirect URI', () => {
    expect(validated(good)).toMatchObject({
      redirectUri: 'https://as.example/callback/sso',
      statusCheckInterval: 60,
      revocationEnds: 'grant',
      provider: { protocol: 'openid', issuer: 'https://sso.example' },
    });
  });

  it.each([
    { description: 'an identifier with a slash', wrong: { id: 'a/b' }, issue: /\.id must be/ },
    {
      description: 'an identifier that is the name of a page',
      wrong: { id: 'passkey' },
      issue: /reserved for a page/,
    },
    { description: 'no name', wrong: { name: ' ' }, issue: /\.name/ },
    { description: 'no client identifier', wrong: { clientId: '' }, issue: /\.clientId/ },
    { description: 'an empty secret', wrong: { clientSecret: '' }, issue: /\.clientSecret/ },
    { description: 'no `openid`', wrong: { scopes: ['email'] }, issue: /must include openid/ },
    { description: 'an invalid scope', wrong: { scopes: ['openid', 'a b'] }, issue: /invalid scope/ },
    {
      description: 'upstream scopes of an unknown scope',
      wrong: { upstreamScopes: { other: ['x'] } },
      issue: /no resource defines it/,
    },
    {
      description: 'a reserved authorization parameter',
      wrong: { parameters: { state: 'x' } },
      issue: /set by this server/,
    },
    {
      description: 'a status check interval of zero',
      wrong: { statusCheckInterval: 0 },
      issue: /statusCheckInterval/,
    },
    {
      description: 'an issuer over http',
      wrong: { kind: { issuer: 'http://sso.example' } },
      issue: /must be an https URL/,
    },
    {
      description: 'an issuer that is no URL',
      wrong: { kind: { issuer: 'sso' } },
      issue: /must be an https URL/,
    },
    {
      description: 'an endpoint over http',
      wrong: {
        kind: {
          endpoints: { ...endpoints, token: 'http://hub.example/' },
          userinfoClaims: { subject: 'id' },
        },
      },
      issue: /endpoints\.token/,
    },
    {
      description: 'no claim that identifies the user',
      wrong: { kind: { endpoints, userinfoClaims: { subject: '' } } },
      issue: /userinfoClaims\.subject/,
    },
    {
      description: 'introspection without an endpoint',
      wrong: { status: 'introspection', kind: { endpoints, userinfoClaims: { subject: 'id' } } },
      issue: /introspection needs/,
    },
  ] as const)('rejects an identity provider with $description', ({ wrong, issue }) => {
    expect(issuesOf([{ ...good, ...wrong }]).join()).toMatch(issue);
    expect(issuesOf([good])).toEqual([]);
  });

  it('rejects duplicate identifiers, and a server without any login method', () => {
    expect(issuesOf([good, good]).join()).toContain('duplicate identity provider sso');
    expect(issuesOf([], false).join()).toContain('localAccounts must be true');
  });

  it('T068 a scope requires the upstream scopes of the scopes it implies', () => {
    const scopes = { admin: 'All', 'files:write': 'Write', 'files:read': 'Read', other: 'Other' };
    const hierarchy = { admin: ['files:write'], 'files:write': ['files:read'] };
    const upstreamScopes = { 'files:read': ['read'], 'files:write': ['repo'] };
    const party = validateIdentityProviders(
      {
        issuer: ours.issuer,
        resources: [{ scopes, hierarchy }],
        identityProviders: [{ ...good, upstreamScopes }],
      },
      createOptionReport(),
    ).get('sso') as IdentityProvider;
    expect(upstreamScopesFor(party, ['admin'])).toEqual(['openid', 'repo', 'read']);
    expect(coveredScopes(party, ['admin', 'other'], ['openid'])).toEqual(['other']);
    expect(coveredScopes(party, ['admin'], ['openid', 'read', 'repo'])).toEqual(['admin']);
    expect(coveredScopes(party, ['files:write', 'files:read'], ['read'])).toEqual(['files:read']);
  });

  it('T082 rejects two identity providers whose users could not be told apart', () => {
    const tenant = (id: string, issuer?: string): IdentityProviderOptions => ({
      ...good,
      id,
      kind: {
        endpoints: {
          authorization: `https://hub.example/${id}/authorize`,
          token: `https://hub.example/${id}/token`,
          userinfo: `https://hub.example/${id}/user`,
        },
        userinfoClaims: { subject: 'id' },
        ...(issuer !== undefined && { issuer }),
      },
    });
    expect(issuesOf([tenant('one'), tenant('two')]).join()).toMatch(
      /^identityProviders\.1\.kind\.issuer .*of one/,
    );
    const kind = { issuer: 'https://hub.example' };
    expect(issuesOf([{ ...good, kind }, tenant('one')])).toHaveLength(1);
    const byName = { ...tenant('one'), id: 'names' };
    const named = {
      ...byName,
      kind: { ...byName.kind, userinfoClaims: { subject: 'login' } },
    } as IdentityProviderOptions;
    expect(issuesOf([tenant('one'), named])).toHaveLength(1);
    expect(issuesOf([tenant('one'), tenant('two', 'https://hub.example/two')])).toEqual([]);
    expect(issuesOf([tenant('one'), { ...tenant('one'), id: 'again' }])).toEqual([]);
    expect(issuesOf([good, { ...good, id: 'again' }])).toEqual([]);
  });

  it('startup fails with every issue at once', async () => {
    const wrong = { ...good, name: '', clientId: '' };
    const error = await startServer({ identityProviders: [wrong] }).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect((error as ConfigurationError).issues).toHaveLength(2);
  });
});

describe('upstream scopes', () => {
  const party = validated({
    ...good,
    upstreamScopes: { 'notes:write': ['repo', 'gist'], 'notes:read': ['read:user'] },
  });
  it.each([
    { description: 'what everybody is asked for', ours: [], expected: ['openid'] },
    { description: 'what a scope rests on', ours: ['notes:read'], expected: ['openid', 'read:user'] },
    {
      description: 'each once',
      ours: ['notes:write', 'notes:read', 'notes:write'],
      expected: ['openid', 'repo', 'gist', 'read:user'],
    },
    { description: 'nothing for a scope that rests on nothing', ours: ['constructor'], expected: ['openid'] },
  ])('requests at the identity provider $description', ({ ours: scopes, expected }) => {
    expect(upstreamScopesFor(party, scopes)).toEqual(expected);
  });

  it.each([
    { description: 'all', there: ['repo', 'gist', 'read:user'], expected: ['notes:read', 'notes:write'] },
    { description: 'one', there: ['repo', 'read:user'], expected: ['notes:read'] },
    { description: 'none', there: [], expected: [] },
  ])('[GW-3P-16] the provider token’s scopes cover $description', ({ there, expected }) => {
    expect(coveredScopes(party, ['notes:read', 'notes:write'], there)).toEqual(expected);
  });
});

describe('presets', () => {
  const client = { clientId: 'id', clientSecret: 'secret' };
  const all = [
    github(client),
    google(client),
    microsoftEntra('8eaef023-2b34-4da1-9baa-8bc8c9d6a490', client),
    okta('example.okta.com', client),
    auth0('example.auth0.com', client),
    keycloak('https://sso.example/', 'staff', client),
    gitlab(client),
    slack(client),
  ];
  it.each(all.map((preset) => ({ name: preset.name, preset })))(
    'the preset of $name is unchanged',
    ({ preset }) => {
      expect(issuesOf([preset])).toEqual([]);
      expect(validated(preset).clientSecret).toBe('secret');
    },
  );

  it.each([
    ['https://appleid.apple.com', 'true', true],
    ['https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_abc', 'true', true],
    ['https://appleid.apple.com', 'false', 'false'],
    ['https://appleid.apple.com.evil.example', 'true', 'true'],
    ['https://sso.example', 'true', 'true'],
  ])('of %s, `"email_verified": "%s"` is read as %j', (issuer, written, expected) => {
    const { claims } = readOpenIdConnectUser(issuer, {
      sub: 'a',
      email: 'a@example.com',
      email_verified: written,
    });
    expect(claims['email_verified']).toBe(expected);
  });

  it.each([
    { preset: google(client), expected: 'select_account consent' },
    { preset: google({ ...client, parameters: { prompt: 'select_account' } }), expected: 'select_account' },
    { preset: okta('example.okta.com', client), expected: 'login' },
    { preset: auth0('example.auth0.com', { ...client, parameters: { prompt: 'consent' } }), expected: 'login consent' },
    { preset: microsoftEntra('8eaef023', client), expected: 'login' },
    { preset: microsoftEntra('8eaef023', { ...client, parameters: { prompt: 'consent' } }), expected: 'login' },
  ])('the preset of $preset.name asks for a new sign-in with the documented prompt "$expected"', ({ preset, expected }) => {
    expect(promptForLogin(validated(preset))).toBe(expected);
  }); // biome-ignore format: a table

  it('presets can be combined', () => {
    expect(issuesOf(all)).toEqual([]);
  });

  it.each([
    {
      preset: okta('example.okta.com', client, 'default'),
      issuer: 'https://example.okta.com/oauth2/default',
    },
    { preset: auth0('example.auth0.com', client), issuer: 'https://example.auth0.com/' },
    { preset: keycloak('https://sso.example/', 'staff', client), issuer: 'https://sso.example/realms/staff' },
    { preset: gitlab(client, 'https://git.example/'), issuer: 'https://git.example' },
    { preset: github(client), issuer: 'https://github.com/login/oauth' },
  ])('a preset uses the issuer $issuer exactly', ({ preset, issuer }) => {
    expect(validated(preset).provider.issuer).toBe(issuer);
  });

  it('options override a preset', () => {
    const preset = google({
      ...client,
      id: 'work',
      name: 'Work',
      parameters: { hd: 'example.org' },
      revocationEnds: 'grant',
    });
    expect(preset).toMatchObject({
      id: 'work',
      name: 'Work',
      revocationEnds: 'grant',
      parameters: { access_type: 'offline', hd: 'example.org' },
    });
  });
});

describe('users who may sign in', () => {
  const isAllowed = (accepted: Record<string, readonly string[]>, claims: object) =>
    isUserAllowed({ claims: accepted }, readOpenIdConnectUser('i', { sub: '1', ...claims }));

  it.each([
    [{ 'https://example.com/team': ['blue'] }, { 'https://example.com/team': 'blue' }],
    [{ 'realm_access.roles': ['staff'] }, { realm_access: { roles: ['dev', 'staff'] } }],
    [{ is_staff: ['true'] }, { is_staff: true }],
    [{ organization: ['42'] }, { organization: 42 }],
  ])('are found by claims, whatever their names and types: %j', (accepted, claims) => {
    expect(isAllowed(accepted, claims)).toBe(true);
    const [[name = ''] = []] = Object.entries(accepted);
    expect(isAllowed({ [name]: ['another'] }, claims)).toBe(false);
    expect(isAllowed(accepted, {})).toBe(false);
  });

  it('are not found by values that are no text', () => {
    expect(isAllowed({ a: ['undefined', 'null', '[object Object]'] }, { a: [null, {}] })).toBe(false);
  });
});

describe('a value to which nothing could ever be equal is refused at startup', () => {
  const emailDomains = (domain: string) => ({ ...good, allowedUsers: { emailDomains: [domain] } });
  const preset = (options: object) => ({ clientId: 'id', ...options }) as unknown as IdentityProviderOptions;

  it.each<[string, IdentityProviderOptions, string | null]>([
    ['an email domain with @', emailDomains('@example.org'), 'allowedUsers.emailDomains.0 must be a domain'],
    ['a wildcard for domains', emailDomains('*.example.org'), 'allowedUsers.emailDomains.0 must be a domain'],
    ['a domain that is no ASCII', emailDomains('bücher.example'), 'allowedUsers.emailDomains.0 must be a domain'],
    ['nothing in a domain', emailDomains('Mail-1.Example.org'), null],
    ['a URL as domain', preset({ preset: 'okta', domain: 'https://example.okta.com' }), 'domain must be a host name'],
    ['a domain with a slash', preset({ preset: 'auth0', domain: 'example.auth0.com/' }), 'domain must be a host name'],
    ['nothing in a host name', preset({ preset: 'okta', domain: 'my-org.okta.com' }), null],
    ['a base URL without https', preset({ preset: 'keycloak', url: 'sso.example.org', realm: 'a' }), 'url must be an https URL'],
    ['nothing in a base URL', preset({ preset: 'keycloak', url: 'https://sso.example.org/auth/', realm: 'My Realm' }), null],
    ['a tenant by its domain', preset({ preset: 'microsoft-entra', tenant: 'contoso.onmicrosoft.com' }), 'tenant must be a tenant ID'],
    ['all tenants', preset({ preset: 'microsoft-entra', tenant: 'common' }), 'tenant must be a tenant ID'],
  ])('finds %s', (_description, options, issue) => {
    const expected = issue === null ? [] : [expect.stringContaining(`identityProviders.0.${issue}`)];
    expect(issuesOf([options])).toEqual(expected);
  }); // biome-ignore format: a table
});

describe('response formats', () => {
  const read = async (body: unknown, by: Parameters<typeof translateResponse>[1], status = 200) => {
    const response = await translateResponse(Response.json(body, { status }), by);
    return { status: response.status, body: await response.json() };
  };

  it('reads GitHub’s responses: errors with status 200, scopes with commas', async () => {
    const { readToken } = responseFormats.github;
    expect(
      await read({ access_token: 'a', token_type: 'bearer', scope: 'repo,gist' }, readToken),
    ).toMatchObject({
      status: 200,
      body: { scope: 'repo gist' },
    });
    expect(await read({ error: 'bad_verification_code' }, readToken)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    expect(await read({ error: 'bad_refresh_token' }, readToken)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
  });

  it('reads Slack’s responses: the user’s token inside, and `ok` instead of a status', async () => {
    const { readToken, readUser: readWho, scopeParameters } = responseFormats.slack;
    const answer = {
      ok: true,
      access_token: 'xoxb-of-the-bot',
      authed_user: {
        id: 'U1',
        access_token: 'xoxp-1',
        scope: 'chat:write,users:read',
        token_type: 'user',
        expires_in: 43_200,
        refresh_token: 'xoxe-1',
      },
    };
    expect((await read(answer, readToken)).body).toEqual({
      access_token: 'xoxp-1',
      token_type: 'Bearer',
      scope: 'chat:write users:read',
      expires_in: 43_200,
      refresh_token: 'xoxe-1',
    });
    expect(await read({ ok: false, error: 'invalid_code' }, readToken)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    expect((await read({ ok: true, team_id: 'T1', user_id: 'U1' }, readWho)).body).toMatchObject({
      subject: 'T1.U1',
    });
    for (const half of [{ team_id: 'T1' }, { user_id: 'U1' }, {}]) {
      expect((await read({ ok: true, ...half }, readWho)).body).not.toHaveProperty('subject');
    }
    expect((await read({ ok: false, error: 'token_revoked' }, readWho)).status).toBe(401);
    expect((await read({ ok: false, error: 'fatal_error' }, readWho)).status).toBe(503);
    expect(scopeParameters(['a', 'b'])).toEqual({ user_scope: 'a,b' });
  });

  it('leaves responses alone that are not JSON objects', async () => {
    const response = await translateResponse(
      new Response('<html>', { status: 502 }),
      responseFormats.github.readToken,
    );
    expect([response.status, await response.text()]).toEqual([502, '<html>']);
  });
});

describe('T082 the claim that identifies a user', () => {
  it.each([
    { claims: { id: 583_231, login: 'octocat' }, subject: '583231' },
    { claims: { id: 'T1.U1' }, subject: 'T1.U1' },
  ])('reads the subject from $claims', ({ claims, subject }) => {
    expect(readFederatedUser('https://hub.example', claims, { subject: 'id', name: 'login' }).subject).toBe(
      subject,
    );
  });

  it.each([
    { claims: {} },
    { claims: { id: '' } },
    { claims: { id: null } },
    { claims: { id: 1.5 } },
    { claims: { id: 2 ** 60 } },
    { claims: { id: { deep: 1 } } },
    { claims: { id: 'x'.repeat(256) } },
    { claims: { id: 'a\0b' } },
  ])('finds no subject in $claims', ({ claims }) => {
    expect(() => readFederatedUser('https://hub.example', claims, { subject: 'id' })).toThrow(
      'no valid subject',
    );
  });

  it('removes characters from names that cannot be displayed', () => {
    const name = `a\u202e${'b'.repeat(300)}`;
    expect(
      readFederatedUser('i', { id: 1, data: { login: name } }, { subject: 'id', name: 'data.login' }).name,
    ).toHaveLength(100);
  });
});
