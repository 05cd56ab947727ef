/** Errors of refresh requests: one response for the client, the true reason for the operator; and races with revocation. */
import { describe, expect, it } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { FILES, NOTES, refreshing, type ServerUnderTest, startServer } from './server-under-test.ts';

const REFUSAL = {
  error: 'invalid_grant',
  error_description: 'The refresh token is no longer valid. Start a new authorization request.',
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
    reason: 'refresh token: grant revoked',
    before: (t, token) => t.post('/revoke', { token: String(token), client_id: 'desktop' }),
  },
  {
    reason: 'refresh token: idle for too long',
    before: (t) => {
      t.clock.now += 30 * 86_400;
    },
  },
  {
    reason: 'refresh token: reused',
    before: async (t, token) => {
      const next = await t.post('/token', refreshing(token));
      await t.post('/token', refreshing(next.body['refresh_token']));
    },
  },
  {
    reason: 'refresh token: account disabled or removed',
    before: (t) => t.execute(`UPDATE accounts SET disabled_at = ${t.clock.now}`),
  },
];

describe('a rejected refresh', () => {
  it.each(cases)(
    'answers every rejected refresh alike, and logs “$reason”',
    async ({ reason, change, before }) => {
      const t = await startServer();
      const { refresh_token: token } = (await t.signIn()).body;
      await before?.(t, token);
      const refused = await t.post('/token', { ...refreshing(token), ...change });
      expect([refused.status, refused.body]).toEqual([400, REFUSAL]);
      const last = t.events.findLast((event) => event.type === 'request.rejected');
      expect(last).toMatchObject({ reason });
      const twin = await startServer();
      expect(
        (await twin.post('/token', refreshing((await twin.signIn()).body['refresh_token']))).status,
      ).toBe(200);
    },
  );

  it('T138 rejects a refresh whose grant is revoked concurrently', async () => {
    const store = await openEmptyStore();
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
    expect(t.events.map(({ type }) => type)).not.toContain('refresh_token.rotated');
  });

  it('[AS-REF-68] logs the grant’s expiry rather than the token’s idle timeout', async () => {
    const t = await startServer({ lifetimes: { grant: 1000, refreshIdle: 900 } });
    const { refresh_token: token } = (await t.signIn()).body;
    t.clock.now += 899;
    const next = await t.post('/token', refreshing(token));
    expect(next.status).toBe(200);
    t.clock.now += 101;
    expect((await t.post('/token', refreshing(next.body['refresh_token']))).body).toEqual(REFUSAL);
    expect(reasonsOf(t)).toEqual(['refresh token: grant expired']);
  });

  it('rejects a well-formed refresh token of an unknown grant, or of one without refresh tokens', async () => {
    const t = await startServer();
    const { refresh_token: token } = (await t.signIn()).body;
    const [grant, number, proof] = String(token).split('~');
    t.execute(`UPDATE grants SET refresh_token_hash = NULL WHERE id = 'grant_${grant}'`);
    for (const name of ['none', grant]) {
      const refused = await t.post('/token', refreshing([name, number, proof].join('~')));
      expect([refused.status, refused.body]).toEqual([400, REFUSAL]);
    }
    expect(reasonsOf(t)).toEqual(['refresh token: unknown', 'refresh token: unknown']);
    expect(t.events.filter(({ type }) => type === 'request.failed')).toEqual([]);
  });
});

describe('reuse of a refresh token with an invalid request', () => {
  const invalid: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
    ['a scope that was not granted', [['scope', 'files:read']]],
    ['a malformed scope', [['scope', '"']]],
    ['two scopes', [['scope', 'notes:read'], ['scope', 'notes:read']]],
    ['another resource', [['resource', FILES]]],
    ['an unknown resource', [['resource', 'https://evil.example/']]],
    ['two resources', [['resource', NOTES], ['resource', FILES]]],
  ]; // biome-ignore format: a table

  it.each(invalid)('[AS-REF-63] T028 revokes the family although %s is requested', async (_what, extra) => {
    const t = await startServer();
    const { refresh_token: token } = (await t.signIn()).body;
    const next = await t.post('/token', refreshing(token));
    const form = [...Object.entries(refreshing(token)), ...extra];
    // As a retry, it is an ordinary invalid request.
    const early = await t.post('/token', form);
    expect([early.status, early.body['error']]).not.toEqual([400, 'invalid_grant']);
    expect((await t.post('/token', refreshing(next.body['refresh_token']))).status).toBe(200);
    for (const _time of ['live', 'revoked']) {
      const refused = await t.post('/token', form);
      expect([refused.status, refused.body]).toEqual([400, REFUSAL]);
    }
    expect(t.events.filter(({ type }) => type === 'refresh_token.reuse_detected')).toMatchObject([
      { clientId: 'desktop', resource: NOTES, scopes: ['notes:read', 'notes:write'] },
    ]);
    expect((await t.post('/token', refreshing(next.body['refresh_token']))).body).toEqual(REFUSAL);
    expect(new Set(reasonsOf(t).slice(1))).toEqual(
      new Set(['refresh token: reused', 'refresh token: grant revoked']),
    );
  });

  it('[AS-REF-63] T028 detects reuse although the grant is over its rate limit', async () => {
    const t = await startServer({ rateLimits: { refreshes: { burst: 10, perMinute: 1 } } });
    const { refresh_token: token } = (await t.signIn()).body;
    const next = await t.post('/token', refreshing(token));
    const statuses: number[] = [];
    for (let n = 1; n < 11; n++)
      statuses.push((await t.post('/token', refreshing(next.body['refresh_token']))).status);
    expect([statuses[8], statuses[9]]).toEqual([200, 429]);
    expect((await t.post('/token', refreshing(token))).body).toEqual(REFUSAL);
    expect(t.events.map(({ type }) => type)).toContain('refresh_token.reuse_detected');
  });
});

const reasonsOf = ({ events }: ServerUnderTest): readonly unknown[] =>
  events.flatMap((event) => (event.type === 'request.rejected' ? [event.reason] : []));

describe('a refresh that loses a race', () => {
  /** Two servers on one store; `before` runs at the other before the first rotation of this one. */
  async function startBoth(meanwhile: (t: ServerUnderTest) => Promise<unknown>) {
    const store = await openEmptyStore();
    const other = await startServer({ store });
    let isFirst = true;
    const overtaken: typeof store = {
      ...store,
      close: async () => {},
      async rotateRefreshToken(...rotation) {
        if (isFirst) {
          isFirst = false;
          await meanwhile(other);
        }
        return store.rotateRefreshToken(...rotation);
      },
    };
    return { t: await startServer({ store: overtaken }), other };
  }

  it('T138 a refresh that loses a race gets the same successor', async () => {
    let token: unknown;
    let given: unknown;
    const { t, other } = await startBoth(async (beside) => {
      given = (await beside.post('/token', refreshing(token))).body['refresh_token'];
    });
    token = (await other.signIn()).body['refresh_token'];
    const answer = await t.post('/token', refreshing(token));
    expect([answer.status, answer.body['refresh_token']]).toEqual([200, given]);
    expect(t.events.map(({ type }) => type)).toContain('refresh_token.retried');
  });

  it('T028 a race lost to two refreshes revokes the family', async () => {
    let token: unknown;
    const { t, other } = await startBoth(async (beside) => {
      for (let times = 0; times < 2; times += 1) {
        token = (await beside.post('/token', refreshing(token))).body['refresh_token'];
      }
    });
    token = (await other.signIn()).body['refresh_token'];
    const refused = await t.post('/token', refreshing(token));
    expect([refused.status, refused.body]).toEqual([400, REFUSAL]);
    const about = { clientId: 'desktop', accountId: 'user_ada', scopes: ['notes:read', 'notes:write'] };
    expect(t.events.filter(({ type }) => type === 'refresh_token.reuse_detected')).toMatchObject([about]);
    expect((await t.post('/token', refreshing(token))).body).toEqual(REFUSAL);
    expect(reasonsOf(t)).toEqual(['refresh token: reused', 'refresh token: grant revoked']);
  });

  it('a refresh answers 503 when the store contradicts itself, after two attempts', async () => {
    const store = await openEmptyStore();
    let tries = 0;
    const undecided: typeof store = {
      ...store,
      async rotateRefreshToken() {
        tries += 1;
        return 'conflict';
      },
    };
    const t = await startServer({ store: undecided });
    const { refresh_token: token } = (await t.signIn()).body;
    const answer = await t.post('/token', refreshing(token));
    expect([answer.status, answer.body['error'], tries]).toEqual([503, 'temporarily_unavailable', 2]);
    expect(t.events.map(({ type }) => type)).not.toContain('refresh_token.rotated');
    expect(t.events.findLast(({ type }) => type.startsWith('request.'))).toMatchObject({
      reason: 'the store contradicts itself about a refresh token',
    });
  });
});
