/** Errors of authorization codes: one response for the client, the true reason for the operator; and accounts disabled meanwhile. */
import { describe, expect, it } from 'vitest';
import { CALLBACK, ISSUER, redemption, type ServerUnderTest, startServer } from './server-under-test.ts';

const HOME = '192.0.2.1';
const WRONG = 'w'.repeat(43);

async function redeem(t: ServerUnderTest, form: Readonly<Record<string, string>>, address?: string) {
  const request = new Request(`${ISSUER}/token`, { method: 'POST', body: new URLSearchParams(form) });
  const response = await t.server.handle(request, address === undefined ? {} : { address });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

function reasonOf({ events }: ServerUnderTest): string | undefined {
  return events.findLast((event) => event.type === 'request.rejected')?.reason;
}

const REFUSAL = {
  error: 'invalid_grant',
  error_description: 'The authorization code cannot be redeemed. Start a new authorization request.',
};

interface Case {
  readonly reason: string;
  readonly change?: Readonly<Record<string, string>>;
  readonly before?: (t: ServerUnderTest, good: Readonly<Record<string, string>>) => unknown;
}

const later: Case['before'] = (t) => {
  t.clock.now += 60;
};
const cases: readonly Case[] = [
  { reason: 'code: unknown', change: { code: 'unknown' } },
  { reason: 'code: issued to desktop', change: { client_id: 'web', client_secret: 'web-secret' } },
  { reason: 'code: wrong code_verifier', change: { code_verifier: WRONG } },
  { reason: 'code: expired', before: later },
  { reason: 'code: already used', before: (t, good) => redeem(t, good) },
  { reason: 'code: redirect_uri does not match', change: { redirect_uri: CALLBACK } },
  {
    reason: 'code: account disabled or removed',
    before: (t) => t.execute(`UPDATE accounts SET disabled_at = ${t.clock.now}`),
  },
  {
    reason: 'code: account disabled or removed',
    before: (t) => t.execute('PRAGMA foreign_keys = OFF', 'DELETE FROM accounts'),
  },
];

describe('a rejected authorization code', () => {
  it.each(cases)(
    'T036 answers every rejected code alike, and logs “$reason”',
    async ({ reason, change, before }) => {
      const t = await startServer();
      const { code, verifier } = await t.issueCode();
      const good = redemption(code, verifier);
      await before?.(t, good);
      const refused = await redeem(t, { ...good, ...change });
      expect([refused.status, refused.body]).toEqual([400, REFUSAL]);
      expect(reasonOf(t)).toBe(reason);
      const { status } = await (await startServer()).signIn();
      expect(status).toBe(200);
    },
  );

  it('logs concurrent use as the reason when fifty requests redeem one code', async () => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode();
    await Promise.all(Array.from({ length: 50 }, () => redeem(t, redemption(code, verifier))));
    expect(reasonOf(t)).toBe('code: used by a concurrent request');
    expect(t.events.filter(({ type }) => type === 'token.issued')).toEqual([
      expect.objectContaining({
        grantType: 'authorization_code',
        clientId: 'desktop',
        accountId: 'user_ada',
      }),
    ]);
  });

  it('consumes the code of an account disabled meanwhile, and leaves no grant', async () => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode();
    t.execute(`UPDATE accounts SET disabled_at = ${t.clock.now}`);
    await redeem(t, redemption(code, verifier));
    expect(t.snapshot()).toMatch(/"consumed_at":\d+/);
    t.execute('UPDATE accounts SET disabled_at = NULL');
    const refused = await redeem(t, redemption(code, verifier));
    expect([refused.status, refused.body]).toEqual([400, REFUSAL]);
    expect(await t.store.listGrants('user_ada', t.clock.now, null, 100)).toEqual([]);
  });

  it('T020 rejects a code that a wrong verifier has burned, even from the same network at once', async () => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode();
    await redeem(t, redemption(code, WRONG), HOME);
    const refused = await redeem(t, redemption(code, verifier), HOME);
    expect([refused.status, refused.body]).toEqual([400, REFUSAL]);
  });

  it('T018 reuse of a code redeemed from an unknown network ends its grant', async () => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode();
    expect((await redeem(t, redemption(code, verifier))).status).toBe(200);
    const refused = await redeem(t, redemption(code, verifier), HOME);
    expect([refused.status, refused.body]).toEqual([400, REFUSAL]);
    expect(t.events).toContainEqual(expect.objectContaining({ type: 'authorization_code.replayed' }));
  });
});
