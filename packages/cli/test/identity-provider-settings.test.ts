/** Identity providers as settings: read from the file, their secrets from elsewhere, and every issue reported. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SettingsError } from '../src/errors.ts';
import { prepare, serverOptions } from '../src/server/prepare.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-third-parties-'));
afterAll(() => rmSync(folder, { recursive: true }));

const greeter = { resource: 'http://localhost:3000/mcp', name: 'Greeter', scopes: { greet: 'Greet you' } };

const company = {
  id: 'company',
  name: 'Company',
  kind: { issuer: 'https://login.company.example' },
  clientId: 'gate',
  clientSecret: { variable: 'COMPANY_SECRET' },
  scopes: ['openid', 'files'],
  upstreamScopes: { greet: ['files'] },
  allowedUsers: { emailDomains: ['company.example'] },
};

const forge = {
  id: 'forge',
  name: 'Forge',
  kind: {
    endpoints: {
      authorization: 'https://forge.example/authorize',
      token: 'https://forge.example/token',
      userinfo: 'https://api.forge.example/user',
    },
    userinfoClaims: { subject: 'id', name: 'login' },
    responseFormat: 'github',
  },
  clientId: 'gate',
  clientSecret: 'forge-secret',
  scopes: ['read:user'],
};

let files = 0;
function prepareWith(content: object) {
  const config = `file-${++files}.json`;
  writeFileSync(join(folder, config), JSON.stringify({ resources: [greeter], ...content }));
  return prepare({ flags: { config }, environment: { COMPANY_SECRET: 'company-secret' }, folder });
}

describe('identity providers in the configuration file', () => {
  it('configured identity providers reach the authorization server, with secrets from variables', async () => {
    const prepared = await prepareWith({ identityProviders: [company, forge], localAccounts: false });
    expect(serverOptions(prepared, 'http://localhost')).toMatchObject({
      identityProviders: [{ ...company, clientSecret: 'company-secret' }, forge],
      localAccounts: false,
    });
  });

  it.each([
    [
      'no name',
      { ...company, name: undefined },
      /^identityProviders\.0\.name \(in file-\d+\.json\) is required/,
    ],
    [
      'a member that does not exist',
      { ...company, secret: 'x' },
      /^identityProviders\.0\.secret \(in \S+\): unknown key; /,
    ],
    [
      'a variable that is not set',
      { ...company, clientSecret: { variable: 'NOWHERE' } },
      /clientSecret \(in file-\d+\.json\) names the variable NOWHERE/,
    ],
    ['no issuer and no endpoints', { ...company, kind: {} }, /^identityProviders\.0\.kind\.issuer/],
    [
      'endpoints without userinfo claims',
      { ...forge, kind: { endpoints: forge.kind.endpoints } },
      /^identityProviders\.0\.kind\.userinfoClaims \(in file-\d+\.json\) is required/,
    ],
    [
      'an unknown response format',
      { ...forge, kind: { ...forge.kind, responseFormat: 'klingon' } },
      /responseFormat .* one of/,
    ],
    // The authorization server validates these.
    ['an identifier with a slash', { ...company, id: 'a/b' }, /^identityProviders\.0\.id \(in \S+\) must be/],
    [
      'an unknown scope',
      { ...company, upstreamScopes: { dance: ['files'] } },
      /upstreamScopes \(in \S+\): unknown scope "dance"/,
    ],
    [
      'plain http',
      { ...company, kind: { issuer: 'http://login.company.example' } },
      /kind\.issuer \(in \S+\) must be/,
    ],
  ])('an identity provider with %s is rejected', async (_name, party, expected) => {
    const error: unknown = await prepareWith({ identityProviders: [party] }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(SettingsError);
    expect((error as SettingsError).issues.join('\n')).toMatch(expected);
    expect((error as SettingsError).issues.join('\n')).not.toContain('forge-secret');
  });

  const client = { clientId: 'gate', clientSecret: 'forge-secret' };
  it.each([
    [{ preset: 'github' }, { id: 'github', provider: { issuer: 'https://github.com/login/oauth' } }],
    [
      { preset: 'google', name: 'Work' },
      { name: 'Work', provider: { issuer: 'https://accounts.google.com' } },
    ],
    [
      { preset: 'microsoft-entra', tenant: '72f988bf-86f1-41af-91ab-2d7cd011db47' },
      { provider: { issuer: 'https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0' } },
    ],
    [{ preset: 'okta', domain: 'a.okta.com' }, { provider: { issuer: 'https://a.okta.com' } }],
    [
      { preset: 'okta', domain: 'a.okta.com', server: 'default' },
      { provider: { issuer: 'https://a.okta.com/oauth2/default' } },
    ],
    [{ preset: 'auth0', domain: 'a.auth0.com' }, { provider: { issuer: 'https://a.auth0.com/' } }],
    [
      { preset: 'keycloak', url: 'https://sso.example', realm: 'staff', id: 'sso' },
      { id: 'sso', provider: { issuer: 'https://sso.example/realms/staff' } },
    ],
    [{ preset: 'gitlab' }, { provider: { issuer: 'https://gitlab.com' } }],
    [{ preset: 'gitlab', url: 'https://git.example' }, { provider: { issuer: 'https://git.example' } }],
    [
      { preset: 'slack', scopes: ['chat:write'] },
      { id: 'slack', scopes: ['chat:write'] },
    ],
  ])('an identity provider may be a preset: %j', async (said, expected) => {
    const prepared = await prepareWith({ identityProviders: [{ ...client, ...said }] });
    expect(prepared.identityProviders).toMatchObject([{ ...client, ...expected }]);
  });

  it('a client key for an identity provider may be in a file, with the key ID it assigned', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trim();
    writeFileSync(join(folder, 'company.key'), key);
    const { clientSecret: _none, ...said } = company;
    const clientKey = { key: { file: 'company.key' }, id: 'k1' };
    const entra = {
      preset: 'microsoft-entra',
      tenant: '72f988bf-86f1-41af-91ab-2d7cd011db47',
      clientId: 'gate',
      clientKey,
    };
    const prepared = await prepareWith({ identityProviders: [{ ...said, clientKey }, entra] });
    expect(prepared.identityProviders).toMatchObject([
      { id: 'company', clientKey: { header: { kid: 'k1', alg: 'RS256' } } },
      { clientKey: { header: { kid: 'k1', alg: 'PS256' } } },
    ]);
    const rejected = prepareWith({ identityProviders: [{ ...said, clientKey: { key: 'canary' } }] });
    const error: unknown = await rejected.catch((thrown: unknown) => thrown);
    expect((error as SettingsError).issues.join()).toMatch(
      /identityProviders\.0\.clientKey\.key \(in \S+\) must be a private key/,
    );
    expect((error as SettingsError).issues.join()).not.toContain('canary');
  });

  it.each([
    [{ preset: 'githib' }, /^identityProviders\.0\.preset \(in file-\d+\.json\): unknown preset; did you mean github\?$/],
    [{ preset: 'okta' }, /^identityProviders\.0\.domain \(in file-\d+\.json\) is required/],
    [{ preset: 'github', realm: 'x' }, /^identityProviders\.0\.realm \(in file-\d+\.json\) does not apply to the preset github$/],
    [{ preset: 'github', kind: {} }, /\.kind \(in \S+\) must be left out with a preset/],
    [{ preset: 'github', clientId: undefined }, /^identityProviders\.0\.clientId \(in file-\d+\.json\) is required/],
  ])('an invalid preset is rejected: %j', async (said, expected) => {
    const error: unknown = await prepareWith({ identityProviders: [{ ...client, ...said }] }).catch(
      (thrown: unknown) => thrown,
    );
    expect((error as SettingsError).issues).toEqual([expect.stringMatching(expected)]);
  }); // biome-ignore format: a table
});
