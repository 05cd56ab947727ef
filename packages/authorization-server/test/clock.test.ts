/** T141: clock jumps and slow users: expired credentials are rejected, nothing fails, and nothing is revived. */
import { describe, expect, it } from 'vitest';
import { basic, claimsOf, redemption, refreshing, startServer } from './server-under-test.ts';
import { requestOf, setScene, VERIFIER } from './visitor.ts';

const HOUR = 3600;

describe('T141 a code', () => {
  it.each([[60], [61], [600], [HOUR]])(
    '[AS-CODE-60] rejects a code %i seconds later, and changes nothing',
    async (later) => {
      const t = await startServer();
      const { code, verifier } = await t.issueCode();
      t.clock.now += later;
      const before = t.snapshot();
      const refused = await t.post('/token', redemption(code, verifier));
      expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_grant']);
      expect(t.snapshot()).toBe(before);
      const fresh = await t.issueCode();
      expect((await t.post('/token', redemption(fresh.code, fresh.verifier))).status).toBe(200);
    },
  );

  it.each([[0], [59], [-HOUR]])('accepts a code %i seconds later', async (later) => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode();
    t.clock.now += later;
    expect((await t.post('/token', redemption(code, verifier))).status).toBe(200);
  });
});

describe('T141 tokens', () => {
  it('tokens survive a clock that jumps back an hour and forth again', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    t.clock.now -= HOUR;
    const early = await t.post('/token', refreshing(body['refresh_token']));
    expect(early.status).toBe(200);
    t.clock.now += HOUR;
    const late = await t.post('/token', refreshing(early.body['refresh_token']));
    expect(late.status).toBe(200);
    expect(await t.server.isLive(claimsOf(late.body['access_token']) as never)).toBe(true);
    expect(t.events.filter(({ type }) => type === 'request.failed')).toEqual([]);
  });

  it('a clock that jumps forward does not turn rotated refresh tokens into reuse', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    const next = await t.post('/token', refreshing(body['refresh_token']));
    t.clock.now += HOUR;
    const last = await t.post('/token', refreshing(next.body['refresh_token']));
    expect(last.status).toBe(200);
  });

  it('introspection reports expired tokens as inactive, without an error', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    const ask = () =>
      t.post(
        '/introspect',
        { token: String(body['access_token']) },
        basic('notes-server', 'notes-server-secret'),
      );
    expect((await ask()).body['active']).toBe(true);
    t.clock.now += HOUR;
    expect([(await ask()).status, (await ask()).body]).toEqual([200, { active: false }]);
  });
});

describe('T141 a slow user', () => {
  it.each(['sign-in', 'consent'] as const)(
    'asks a user who takes an hour over %s to start again, and issues no code',
    async (page) => {
      const t = await setScene();
      const sight =
        page === 'sign-in' ? await t.visitor.open(requestOf()) : await t.visitor.signIn(requestOf());
      t.clock.now += HOUR;
      const answers =
        page === 'sign-in' ? { email: 'ada@example.org', password: 'x' } : { decision: 'allow' };
      const late = await t.visitor.submit(sight, answers);
      expect(late.left ?? null).toBeNull();
      expect(late.status).toBeGreaterThanOrEqual(400);
      expect(late.status).toBeLessThan(500);
      expect(t.events.map(({ type }) => type)).not.toContain('authorization_code.issued');
    },
  );

  it('issues a working code to a user who takes nine minutes over consent', async () => {
    const t = await setScene();
    const sight = await t.visitor.signIn(requestOf());
    t.clock.now += 590;
    const { left } = await t.visitor.submit(sight, { decision: 'allow' });
    const form = {
      ...redemption(left?.searchParams.get('code') ?? '', VERIFIER, 'web'),
      client_secret: 'web-secret',
    };
    expect((await t.post('/token', form)).status).toBe(200);
  });
});
