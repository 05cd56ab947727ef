/** Credentials towards a backend: what would fail with the first request is refused at startup. */
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { GatewayServerOptions } from '../src/options.ts';
import { defineTestServers } from './support/gateway.ts';

type Credentials = NonNullable<NonNullable<GatewayServerOptions['backend']>['credentials']>;

const AT = ['servers', '0', 'backend', 'credentials'];

function issuesOf(credentials: object): readonly { readonly path: readonly string[] }[] {
  const backend = { url: 'https://backend.example/mcp', credentials: credentials as Credentials };
  try {
    defineTestServers([{ path: '/a', backend }], 'https://gateway.example');
    return [];
  } catch (error) {
    return JSON.parse((error as Error).message);
  }
}

const pemOf = (type: 'pkcs8' | 'sec1', namedCurve = 'P-256'): string =>
  generateKeyPairSync('ec', { namedCurve }).privateKey.export({ type, format: 'pem' }).toString();

describe('the value of a header', () => {
  it.each(['Bearer canary\n', 'Bearer canary\r\nx-admin: 1', 'canary \u{1f511}', 'ключ'])(
    'is one line of ASCII: %j is refused, and not quoted',
    (value) => {
      const issues = issuesOf({ as: 'header', value });
      expect(issues).toEqual([
        { path: [...AT, 'value'], message: expect.stringContaining('must be one line') },
      ]);
      expect(JSON.stringify(issues)).not.toContain('canary');
    },
  );

  it('may be any other', () => {
    expect(issuesOf({ as: 'header', name: 'X-API-Key', value: 'a b~"c"=' })).toEqual([]);
  });
});

describe('the key of a client', () => {
  const client = { as: 'application', clientId: 'gate' };
  const keyIssue = {
    path: [...AT, 'clientKey', 'privateKey'],
    message: expect.stringContaining('PKCS #8 PEM'),
  };

  it('is PKCS #8 in PEM and fits its algorithm', () => {
    const privateKey = pemOf('pkcs8');
    expect(issuesOf({ ...client, clientKey: { privateKey } })).toEqual([]);
    expect(
      issuesOf({ ...client, clientKey: { privateKey: pemOf('pkcs8', 'P-384'), algorithm: 'ES384' } }),
    ).toEqual([]);
    expect(issuesOf({ ...client, clientKey: { privateKey, algorithm: 'RS256' } })).toEqual([keyIssue]);
    for (const wrong of ['canary', pemOf('sec1'), pemOf('pkcs8', 'P-384')])
      expect(issuesOf({ ...client, clientKey: { privateKey: wrong } })).toEqual([keyIssue]);
    expect(JSON.stringify(issuesOf({ ...client, clientKey: { privateKey: 'canary' } }))).not.toContain(
      'canary',
    );
  });

  it('has an algorithm that there is', () => {
    const [issue, ...others] = issuesOf({
      ...client,
      clientKey: { privateKey: pemOf('pkcs8'), algorithm: 'es256' },
    });
    expect([issue?.path, others]).toEqual([[...AT, 'clientKey', 'algorithm'], []]);
  });
});

describe('scopes', () => {
  it('are single ones', () => {
    expect(issuesOf({ as: 'user', scopes: ['files:read', 'https://example.com/a.b'] })).toEqual([]);
    expect(issuesOf({ as: 'user', scopes: ['files:read files:write'] })).toMatchObject([
      { path: [...AT, 'scopes', '0'] },
    ]);
  });
});
