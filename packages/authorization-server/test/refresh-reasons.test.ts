/** Why a refresh was refused: one answer for the client, the true reason for the operator; and what ends while it is under way. */
import { openStore } from '@portcullis/store';
import { describe, expect, it } from 'vitest';
import { refreshing, type ServerUnderTest, startServer } from './server-under-test.ts';

const REFUSAL = {
  error: 'invalid_grant',
  error_description: 'The refresh token is not valid any more. Start a new authorization request.',
};

interface Case {
  readonly reason: string;
  readonly change?: Readonly<Record<string, string>>;
  readonly before?: (t: ServerUnderTest, token: unknown) => unknown;
}

const cases: readonly Case[] = [
  { reason: 'refresh token: unknown', change: { refresh_token: 'unknown' } },
  { reason: 'refresh token: issued to desktop', change: { client_id: 'web', client_secret: 'web-secret' } },
  {
    reason: 'refresh token: its grant is revoked',
    before: (t, token) => t.post('/revoke', { token: String(token), client_id: 'desktop' }),
  },
  {
    reason: 'refresh token: not used for too long',
    before: (t) => {
      t.clock.now += 30 * 86_400;
    },
  },
  {
    reason: 'refresh token: reused',
    before: async (t, token) => {
      await t.post('/token', refreshing(token));
      t.clock.now += 31;
    },
  },
  {
    reason: 'refresh token: its account is gone',
    before: (t) => t.execute(`UPDATE accounts SET disabled_at = ${t.clock.now}`),
  },
];

describe('a refused refresh', () => {
  it.each(cases)(
    'is answered with the same, and logged with “$reason”',
    async ({ reason, change, before }) => {
      const t = await startServer();
      const { refresh_token: token } = (await t.signIn()).body;
      await before?.(t, token);
      const refused = await t.post('/token', { ...refreshing(token), ...change });
      expect([refused.status, refused.body]).toEqual([400, REFUSAL]);
      const last = t.events.findLast((event) => event.type === 'request.refused');
      expect(last).toMatchObject({ reason });
      const twin = await startServer();
      expect(
        (await twin.post('/token', refreshing((await twin.signIn()).body['refresh_token']))).status,
      ).toBe(200);
    },
  );

  it('T138 is what becomes of one whose grant is revoked while it is under way', async () => {
    const store = await openStore(':memory:');
    const ending: typeof store = {
      ...store,
      async rotateRefreshToken(...rotation) {
        await store.revokeGrant(rotation[0], 1_800_000_000);
        return store.rotateRefreshToken(...rotation);
      },
    };
    const t = await startServer({ store: ending });
    const { refresh_token: token } = (await t.signIn()).body;
    const refused = await t.post('/token', refreshing(token));
    expect([refused.status, refused.body]).toEqual([400, REFUSAL]);
    expect(t.events.map(({ type }) => type)).not.toContain('token.refreshed');
  });
});
