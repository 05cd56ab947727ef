/** Revocation (RFC 7009): a client revokes its own tokens, and no others. */
import { describe, expect, it } from 'vitest';
import {
  basic,
  CALLBACK,
  claimsOf,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

const isLive = (t: ServerUnderTest, token: unknown) => t.server.isLive(claimsOf(token) as never);

describe('revoking', () => {
  it.each([
    ['without a hint', {}],
    ['with the right hint', { token_type_hint: 'refresh_token' }],
    ['with the wrong hint', { token_type_hint: 'access_token' }],
    ['with an unknown hint', { token_type_hint: 'x' }],
  ])(
    '[AS-REVOKE-60 AS-REVOKE-61 AS-REVOKE-63] revoking a refresh token ends its grant, %s',
    async (_how, hint) => {
      const t = await startServer();
      const [{ body }, bystander] = [await t.signIn(), await t.signIn()];
      expect(await isLive(t, body['access_token'])).toBe(true);
      const answer = await t.post('/revoke', {
        token: String(body['refresh_token']),
        client_id: 'desktop',
        ...hint,
      });
      const header = (name: string) => answer.headers.get(name);
      expect([answer.status, answer.text, header('content-type'), header('cache-control')]).toEqual([
        200,
        '{}',
        'application/json',
        'no-store',
      ]);
      expect((await t.post('/token', refreshing(body['refresh_token']))).body['error']).toBe('invalid_grant');
      expect(await isLive(t, body['access_token'])).toBe(false);
      expect(t.events).toContainEqual(
        expect.objectContaining({ type: 'token.revoked', clientId: 'desktop' }),
      );
      expect((await t.post('/token', refreshing(bystander.body['refresh_token']))).status).toBe(200);
    },
  );

  it('[AS-REVOKE-63] revoking a rotated refresh token ends the grant as well', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    const { body: next } = await t.post('/token', refreshing(body['refresh_token']));
    await t.post('/revoke', { token: String(body['refresh_token']), client_id: 'desktop' });
    expect((await t.post('/token', refreshing(next['refresh_token']))).body['error']).toBe('invalid_grant');
  });

  it('[AS-REVOKE-63] revoking an access token ends that token alone', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    const answer = await t.post('/revoke', { token: String(body['access_token']), client_id: 'desktop' });
    expect(answer.status).toBe(200);
    expect(await isLive(t, body['access_token'])).toBe(false);
    const next = await t.post('/token', refreshing(body['refresh_token']));
    expect([next.status, await isLive(t, next.body['access_token'])]).toEqual([200, true]);
  });

  it('does not revoke an access token in another spelling', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    const before = t.snapshot();
    const answer = await t.post('/revoke', { token: `${body['access_token']}==`, client_id: 'desktop' });
    expect([answer.status, t.snapshot()]).toEqual([200, before]);
    expect(await isLive(t, body['access_token'])).toBe(true);
  });

  it('revokes an access token of an application', async () => {
    const t = await startServer();
    const nightly = basic('nightly', 'nightly-secret');
    const { body } = await t.post('/token', { grant_type: 'client_credentials' }, nightly);
    expect(await isLive(t, body['access_token'])).toBe(true);
    await t.post('/revoke', { token: String(body['access_token']) }, nightly);
    expect(await isLive(t, body['access_token'])).toBe(false);
    // It has no grant.
    expect(t.events.filter(({ type }) => type === 'token.revoked')).toEqual([
      { type: 'token.revoked', clientId: 'nightly' },
    ]);
  });

  it('[AS-REVOKE-61] revocation is idempotent', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    for (const name of ['access_token', 'refresh_token', 'access_token', 'refresh_token']) {
      const { status, text } = await t.post('/revoke', { token: String(body[name]), client_id: 'desktop' });
      expect([status, text]).toEqual([200, '{}']);
    }
    const revoked = t.events.filter(({ type }) => type === 'token.revoked');
    // Revoking an ended token logs no event: repeating it would fill the log.
    expect(revoked).toHaveLength(2);
    const { grant_id: grantId } = claimsOf(body['access_token']);
    for (const event of revoked) expect(event).toMatchObject({ clientId: 'desktop', grantId });
  });
});

describe('a revocation that changes nothing', () => {
  it.each([
    ['an unknown token', () => 'x'.repeat(43)],
    ['a text with dots', () => 'a.b.c'],
    ['60 KB', () => 'x'.repeat(60_000)],
    ['60 KB of dots', () => '.'.repeat(60_000)],
    [
      'a token with another payload',
      (token: string) =>
        token.replace(/\.[^.]*\./, `.${btoa('{"client_id":"desktop"}').replaceAll('=', '')}.`),
    ],
    ['a token with another signature', (token: string) => token.replace(/[^.]*$/, 'A'.repeat(86))],
    [
      'a token without algorithm',
      (token: string) => token.replace(/^[^.]*/, btoa('{"alg":"none"}')).replace(/[^.]*$/, ''),
    ],
  ])('[AS-REVOKE-61] revoking %s changes nothing, with the same response', async (_what, forge) => {
    const t = await startServer();
    const { body } = await t.signIn();
    const before = t.snapshot();
    const { status, text } = await t.post('/revoke', {
      token: forge(String(body['access_token'])),
      client_id: 'desktop',
    });
    expect([status, text]).toEqual([200, '{}']);
    expect(t.snapshot()).toBe(before);
    expect(await isLive(t, body['access_token'])).toBe(true);
  });

  it('revoking an expired access token changes nothing', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    t.clock.now += 600;
    const before = t.snapshot();
    expect(
      (await t.post('/revoke', { token: String(body['access_token']), client_id: 'desktop' })).status,
    ).toBe(200);
    expect(t.snapshot()).toBe(before);
  });

  it.each(['access_token', 'refresh_token'])(
    '[AS-REVOKE-62] revoking another client’s %s is refused and changes nothing',
    async (name) => {
      const t = await startServer();
      const { body } = await t.signIn();
      const { body: other } = await t.register({
        redirect_uris: [CALLBACK],
        token_endpoint_auth_method: 'none',
      });
      const before = t.snapshot();
      const revoke = (clientId: unknown) =>
        t.post('/revoke', { token: String(body[name]), client_id: String(clientId) });
      const refused = await revoke(other['client_id']);
      expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_grant']);
      expect(t.snapshot()).toBe(before);
      expect(await isLive(t, body['access_token'])).toBe(true);
      expect((await t.post('/token', refreshing(body['refresh_token']))).status).toBe(200);
      expect([(await revoke('desktop')).status, await isLive(t, body['access_token'])]).toEqual([200, false]);
    },
  );

  it.each([
    ['no token', { client_id: 'desktop' }, 400, 'invalid_request'],
    [
      'two tokens',
      [
        ['client_id', 'desktop'],
        ['token', 'a'],
        ['token', 'b'],
      ] as [string, string][],
      400,
      'invalid_request',
    ],
    ['no client', { token: 'x' }, 401, 'invalid_client'],
    ['an unknown client', { token: 'x', client_id: 'unknown' }, 401, 'invalid_client'],
    ['a confidential client by its name only', { token: 'x', client_id: 'web' }, 401, 'invalid_client'],
  ])('[AS-REVOKE-64] rejects a revocation with %s', async (_what, form, status, error) => {
    const { post, snapshot } = await startServer();
    const before = snapshot();
    const answer = await post('/revoke', form);
    expect([answer.status, answer.body['error']]).toEqual([status, error]);
    expect(snapshot()).toBe(before);
  });
});
