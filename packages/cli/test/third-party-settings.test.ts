/** Third parties as settings: read from the file, their secrets from elsewhere, and every fault named. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SettingsError } from '../src/faults.ts';
import { prepare, serverOptions } from '../src/settings/prepare.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-third-parties-'));
afterAll(() => rmSync(folder, { recursive: true }));

const greeter = { url: 'http://localhost:3000/mcp', name: 'Greeter', scopes: { greet: 'Greet you' } };

const company = {
  id: 'company',
  name: 'Company',
  kind: { issuer: 'https://login.company.example' },
  clientId: 'gate',
  clientSecret: { variable: 'COMPANY_SECRET' },
  scopes: ['openid', 'files'],
  neededFor: { greet: ['files'] },
  people: { emailDomains: ['company.example'] },
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
    person: { subject: 'id', name: 'login' },
    dialect: 'github',
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

describe('third parties in the configuration file', () => {
  it('reach the authorization server, secrets from variables included', async () => {
    const prepared = await prepareWith({ thirdParties: [company, forge], localAccounts: false });
    expect(serverOptions(prepared, 'http://localhost')).toMatchObject({
      thirdParties: [{ ...company, clientSecret: 'company-secret' }, forge],
      localAccounts: false,
    });
  });

  it.each([
    ['no name', { ...company, name: undefined }, /^thirdParties\.0\.name \(in the file\) must be said/],
    ['a member that does not exist', { ...company, secret: 'x' }, /no member "secret"/],
    [
      'a variable that is not set',
      { ...company, clientSecret: { variable: 'NOWHERE' } },
      /clientSecret \(in the file\) names the variable NOWHERE/,
    ],
    ['no issuer and no endpoints', { ...company, kind: {} }, /^thirdParties\.0\.kind\.issuer/],
    [
      'endpoints without a person',
      { ...forge, kind: { endpoints: forge.kind.endpoints } },
      /^thirdParties\.0\.kind\.person \(in the file\) must be said/,
    ],
    ['a dialect of nobody', { ...forge, kind: { ...forge.kind, dialect: 'klingon' } }, /dialect .* one of/],
    // These the server judges.
    ['an identifier with a slash', { ...company, id: 'a/b' }, /^thirdParties\.0\.id must be/],
    ['a scope of nobody', { ...company, neededFor: { dance: ['files'] } }, /neededFor: "dance" is no scope/],
    ['plain http', { ...company, kind: { issuer: 'http://login.company.example' } }, /kind\.issuer must be/],
  ])('%s is refused', async (_name, party, expected) => {
    const error: unknown = await prepareWith({ thirdParties: [party] }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SettingsError);
    expect((error as SettingsError).faults.join('\n')).toMatch(expected);
    expect((error as SettingsError).faults.join('\n')).not.toContain('forge-secret');
  });
});
