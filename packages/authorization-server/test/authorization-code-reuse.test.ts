/** Reuse of an authorization code by its own client: a double submission is harmless, a replay ends the grant. */
import { describe, expect, it } from 'vitest';
import {
  claimsOf,
  ISSUER,
  redemption,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

const HOME = '192.0.2.1';

/** Redeems a code from an address; returns status and body. */
async function redeemFrom(
  { server }: ServerUnderTest,
  address: string | undefined,
  form: Record<string, string>,
) {
  const request = new Request(`${ISSUER}/token`, { method: 'POST', body: new URLSearchParams(form) });
  const response = await server.handle(request, address === undefined ? {} : { address });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** A code redeemed from the home network, and the tokens issued. */
async function setOut() {
  const t = await startServer();
  const { code, verifier } = await t.issueCode();
  const form = redemption(code, verifier);
  const { status, body } = await redeemFrom(t, HOME, form);
  expect(status).toBe(200);
  const claims = claimsOf(body['access_token']) as never;
  return { t, form, body, isLive: () => t.server.isLive(claims) };
}

describe('an authorization code used twice', () => {
  it.each([
    ['in the same second', HOME, 0],
    ['five seconds later', HOME, 5],
    ['in another spelling of the address', '::ffff:192.0.2.1', 1],
  ])(
    '[AS-CODE-61] T137 rejects a code reused from the network that redeemed it, %s, and ends nothing',
    async (_when, from, later) => {
      const { t, form, body, isLive } = await setOut();
      const before = t.snapshot();
      t.clock.now += later;
      const again = await redeemFrom(t, from, form);
      expect([again.status, again.body['error']]).toEqual([400, 'invalid_grant']);
      expect(t.snapshot()).toBe(before);
      expect(await isLive()).toBe(true);
      expect(t.events.map(({ type }) => type)).not.toContain('authorization_code.replayed');
      expect(t.events).toContainEqual(expect.objectContaining({ reason: 'code: sent twice concurrently' }));
      expect((await t.post('/token', refreshing(body['refresh_token']))).status).toBe(200);
    },
  );

  it.each([
    ['six seconds later', HOME, 6],
    ['from another network', '192.0.2.2', 0],
    ['from an unknown network', undefined, 0],
  ])('[AS-CODE-61 AS-CODE-62] T018 a code reused %s ends the grant', async (_when, from, later) => {
    const { t, form, body, isLive } = await setOut();
    t.clock.now += later;
    const again = await redeemFrom(t, from, form);
    expect([again.status, again.body['error']]).toEqual([400, 'invalid_grant']);
    expect(await isLive()).toBe(false);
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'authorization_code.replayed', clientId: 'desktop' }),
    );
    expect((await t.post('/token', refreshing(body['refresh_token']))).body['error']).toBe('invalid_grant');
  });

  it('[AS-CODE-62] T018 a late replay ends the grant although an earlier one was harmless', async () => {
    const { t, form, isLive } = await setOut();
    await redeemFrom(t, HOME, form);
    t.clock.now += 60;
    await redeemFrom(t, HOME, form);
    expect(await isLive()).toBe(false);
  });

  it.each([
    ['another redirect_uri', [['redirect_uri', 'https://evil.example/']]],
    ['two redirect_uris', [['redirect_uri', 'http://127.0.0.1/callback'], ['redirect_uri', 'x']]],
    ['another resource', [['resource', 'https://evil.example/']]],
  ])('[AS-CODE-62] T018 a replay ends the grant although it has %s', async (_what, extra) => {
    const { t, form, isLive } = await setOut();
    t.clock.now += 60;
    const again = await t.post('/token', [...Object.entries(form), ...(extra as [string, string][])]);
    expect([again.status, again.body['error']]).toEqual([400, 'invalid_grant']);
    expect(await isLive()).toBe(false);
  }); // biome-ignore format: a table

  it('[AS-CODE-62] T018 a replay without the right verifier ends nothing, so that an observer cannot', async () => {
    const { t, form, body, isLive } = await setOut();
    const before = t.snapshot();
    t.clock.now += 60;
    const again = await t.post('/token', { ...form, code_verifier: 'x'.repeat(43) });
    expect([again.status, again.body['error']]).toEqual([400, 'invalid_grant']);
    expect([t.snapshot(), await isLive()]).toEqual([before, true]);
    expect((await t.post('/token', refreshing(body['refresh_token']))).status).toBe(200);
  });
});
