/** Unsupported grant types: rejected before anything is parsed, and not advertised. */
import { describe, expect, it } from 'vitest';
import { basic, startServer } from './server-under-test.ts';

const JAG = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';
const assertion = `${btoa('{"alg":"ES256","typ":"oauth-id-jag+jwt"}')}.${btoa('{"iss":"https://idp.example"}')}.c2ln`;

const requests: readonly (readonly [title: string, form: Readonly<Record<string, string>>])[] = [
  ['T032 an identity assertion', { grant_type: JAG, assertion }],
  ['T032 an identity assertion of 60 KB', { grant_type: JAG, assertion: assertion.repeat(600) }],
  [
    'T032 an identity assertion for another server',
    { grant_type: JAG, assertion, resource: 'https://evil.example' },
  ],
  ['T034 a device code', { grant_type: DEVICE, device_code: 'a'.repeat(43) }],
  ['T022 a password', { grant_type: 'password', username: 'ada@example.org', password: 'x' }],
  ['T022 the implicit grant', { grant_type: 'implicit' }],
];

describe('the token endpoint', () => {
  it.each(requests)('[AS-TOK-75] the token endpoint rejects %s', async (_title, form) => {
    const t = await startServer();
    const machine = basic('nightly', 'nightly-secret');
    const before = t.snapshot();
    const refused = await t.post('/token', form, machine);
    expect([refused.status, refused.body['error']]).toEqual([400, 'unsupported_grant_type']);
    expect(refused.body).not.toHaveProperty('access_token');
    expect(t.snapshot()).toBe(before);
    // The same client is served with its own grant type.
    expect((await t.post('/token', { grant_type: 'client_credentials' }, machine)).status).toBe(200);
  });

  it('T032 rejects an identity assertion of more than 64 KB without reading it', async () => {
    const t = await startServer();
    const form = { grant_type: JAG, assertion: 'a'.repeat(1_000_000) };
    const before = t.snapshot();
    expect((await t.post('/token', form, basic('nightly', 'nightly-secret'))).status).toBe(413);
    expect(t.snapshot()).toBe(before);
  });
});

it('T032 T034 T062 unsupported grants are not advertised, and their endpoints do not exist', async () => {
  const t = await startServer();
  const { body } = await t.send('/.well-known/oauth-authorization-server');
  expect(body['grant_types_supported']).toEqual([
    'authorization_code',
    'refresh_token',
    'client_credentials',
  ]);
  expect(body).not.toHaveProperty('device_authorization_endpoint');
  for (const path of ['/device_authorization', '/device']) {
    expect((await t.post(path, { client_id: 'desktop' })).status).toBe(404);
  }
});
