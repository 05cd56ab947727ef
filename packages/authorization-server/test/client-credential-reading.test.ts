/** Reading client credentials from a request (RFC 6749 §2.3.1), and the errors for malformed ones. */
import { describe, expect, it } from 'vitest';
import { basic, CLIENTS, startServer } from './server-under-test.ts';

const MACHINE = { grant_type: 'client_credentials' };
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const header = (value: string) => ({ authorization: value });
const encoded = (text: string) => `Basic ${btoa(text)}`;
const NOT_BASIC = 'The Authorization header must hold base64 of client_id:client_secret.';
const ASSERT = `Send client_assertion with the type ${TYPE}.`;
const UNIDENTIFIED = 'Identify the client: send client_id, or authenticate as it registered.';
const UNKNOWN = expect.any(String);

describe('client credentials of a request', () => {
  it.each<readonly [string, Readonly<Record<string, string>>, Readonly<Record<string, string>>, unknown]>([
    ['a header without a colon', header(encoded('nightly')), {}, NOT_BASIC],
    ['a header of one character', header(encoded('n')), {}, NOT_BASIC],
    ['a header that is no base64', header('Basic ???'), {}, NOT_BASIC],
    ['a header with more behind it', header(`${encoded('nightly:nightly-secret')} x`), {}, NOT_BASIC],
    ['a header with something hung on', header(`${encoded('nightly:nightly-secret')}-`), {}, NOT_BASIC],
    ['the scheme alone', header('Basic'), {}, NOT_BASIC],
    ['another scheme that ends like it', header(`x${encoded('nightly:nightly-secret')}`), {}, UNIDENTIFIED],
    ['nothing', {}, {}, UNIDENTIFIED],
    ['an assertion without its type', {}, { client_assertion: 'a.b.c' }, ASSERT],
    ['the type of an assertion alone', {}, { client_assertion_type: TYPE }, ASSERT],
    [
      'two ways at once',
      basic('nightly', 'nightly-secret'),
      { client_secret: 'nightly-secret' },
      'Use only one client authentication method.',
    ],
    [
      'two names',
      basic('nightly', 'nightly-secret'),
      { client_id: 'web' },
      'The client_id in the form differs from the one in the Authorization header.',
    ],
    ['half an encoding', header(encoded('nightly:nightly-secret%zz')), {}, UNKNOWN],
  ])(
    '[AS-AUTH-64] rejects and explains Basic credentials with %s',
    async (_title, headers, form, description) => {
      const t = await startServer();
      const before = t.snapshot();
      const refused = await t.post('/token', { ...MACHINE, ...form }, headers);
      expect([400, 401]).toContain(refused.status);
      expect(refused.body['error_description']).toEqual(description);
      expect(t.snapshot()).toBe(before);
      expect((await t.post('/token', MACHINE, basic('nightly', 'nightly-secret'))).status).toBe(200);
    },
  );

  it.each([
    ['both escaped', 'tool%3Anightly', 'half%25+a+secret'],
    ['the identifier escaped, the secret as it is', 'tool%3Anightly', 'half% a secret'],
  ])('[AS-AUTH-60] reads Basic credentials with %s', async (_title, id, secret) => {
    const machine = { client_id: 'tool:nightly', grant_types: ['client_credentials'] };
    const t = await startServer({ clients: [...CLIENTS, { ...machine, client_secret: 'half% a secret' }] });
    expect((await t.post('/token', MACHINE, header(encoded(`${id}:${secret}`)))).status).toBe(200);
    const before = t.snapshot();
    for (const wrong of [`${id}:half`, `tool:nightly:${secret}`, `tool%253Anightly:${secret}`]) {
      expect((await t.post('/token', MACHINE, header(encoded(wrong)))).status).toBe(401);
    }
    expect(t.snapshot()).toBe(before);
  });

  it('[AS-AUTH-60] reads Basic credentials with an escaped identifier and a secret that needs no escaping', async () => {
    const clients = [
      ...CLIENTS,
      { client_id: 'tool:plain', client_secret: 'plain-secret', grant_types: ['client_credentials'] },
    ];
    const t = await startServer({ clients });
    expect((await t.post('/token', MACHINE, header(encoded('tool%3Aplain:plain-secret')))).status).toBe(200);
    const before = t.snapshot();
    expect((await t.post('/token', MACHINE, header(encoded('tool:plain:plain-secret')))).status).toBe(401);
    expect(t.snapshot()).toBe(before);
  });

  it('a secret without an identifier identifies no client', async () => {
    const t = await startServer();
    const before = t.snapshot();
    const { status, body } = await t.post('/token', { ...MACHINE, client_secret: 'web-secret' });
    expect([status, body['error']]).toEqual([401, 'invalid_client']);
    expect(t.events.at(-1)).toMatchObject({ type: 'request.rejected', reason: 'unknown client' });
    expect(t.snapshot()).toBe(before);
  });

  const claims = (payload: unknown) => `a.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.c`;

  it.each([
    ['is no JWT', 'nightly'],
    ['has a payload that is no JSON', 'a.b.c'],
    ['has no claims', claims(null)],
    ['has a sub that is no string', claims({ sub: 7 })],
    ['is too long', claims({ sub: 'nightly', more: 'x'.repeat(16_384) })],
  ])('[AS-AUTH-66] an assertion that %s identifies no client', async (_what, client_assertion) => {
    const t = await startServer();
    const before = t.snapshot();
    const form = { ...MACHINE, client_assertion, client_assertion_type: TYPE };
    const { status, body } = await t.post('/token', form);
    expect([status, body['error']]).toEqual([401, 'invalid_client']);
    expect(t.events.at(-1)).toMatchObject({ type: 'request.rejected', reason: 'unknown client' });
    await t.post('/token', { ...form, client_assertion: claims({ sub: 'nightly' }) });
    expect(t.events.at(-1)).toMatchObject({ reason: 'private_key_jwt is not registered: "nightly"' });
    expect(t.snapshot()).toBe(before);
  });

  it('unknown clients get the same response as wrong secrets; the audit log tells them apart', async () => {
    const t = await startServer();
    const answers = [
      await t.post('/token', MACHINE, basic('missing', 'x')),
      await t.post('/token', MACHINE, basic('nightly', 'x')),
    ];
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    const reasons = t.events.flatMap((event) => (event.type === 'request.rejected' ? [event.reason] : []));
    expect(reasons).toEqual(['unknown client', 'wrong secret: "nightly"']);
  });

  it('a secret in place of the client identifier is in no event, an identifier as this server issues them is', async () => {
    const t = await startServer();
    const before = t.snapshot();
    const secret = 'nightly-secret';
    for (const path of ['/token', '/introspect', '/revoke', '/par']) {
      await t.post(path, { ...MACHINE, token: 'x' }, basic(secret, 'nightly'));
      await t.post(path, { ...MACHINE, token: 'x', client_id: secret, client_secret: 'nightly' });
      await t.post(path, { ...MACHINE, token: 'x', client_id: secret });
    }
    const issued = `client_${'x'.repeat(22)}`;
    await t.post('/token', { ...MACHINE, client_id: issued });
    const reasons = t.events.flatMap((event) => (event.type === 'request.rejected' ? [event.reason] : []));
    expect(reasons).toEqual([
      ...Array.from({ length: 12 }, () => 'unknown client'),
      expect.stringContaining(issued),
    ]);
    expect(JSON.stringify(t.events)).not.toContain(secret);
    expect(t.snapshot()).toBe(before);
  });
});
