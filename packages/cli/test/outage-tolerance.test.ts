/** How long a token is accepted while the store cannot say whether it has ended. */
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol';
import { expect, it } from 'vitest';
import { createOutageTolerance } from '../src/server/outage-tolerance.ts';

const claims = (jti: string) => ({
  ...{ iss: 'https://as.example', sub: 'ada', aud: 'https://as.example/mcp', exp: 600, iat: 0 },
  ...{ jti, client_id: 'app', grant_id: 'grant_1' },
});

/** A store that answers, or is away. */
function setUp(freshness: number) {
  const state = { now: 0, answer: true as boolean | Error, asked: 0 };
  const tolerance = createOutageTolerance(freshness, () => state.now);
  const isLive = tolerance.wrap(async () => {
    state.asked += 1;
    if (state.answer instanceof Error) throw state.answer;
    return state.answer;
  });
  return {
    state,
    tolerance,
    ask: (jti = 'one') => isLive(claims(jti)).catch((error: OAuthError) => error.status),
  };
}

const AWAY = temporarilyUnavailable('the store is away');

it('accepts what was live a moment before, for the configured seconds of an outage', async () => {
  const { state, ask } = setUp(5);
  expect(await ask()).toBe(true);
  state.answer = AWAY;
  state.now = 5000;
  expect(await ask()).toBe(true);
  state.now = 5001;
  expect(await ask()).toBe(503);
  // Acceptance in an outage is no answer of the store.
  state.answer = true;
  expect(await ask()).toBe(true);
});

it('accepts nothing that was not asked for before, and asks the store every time while it answers', async () => {
  const { state, ask } = setUp(5);
  for (let count = 0; count < 3; count += 1) expect(await ask()).toBe(true);
  expect(state.asked).toBe(3);
  state.answer = AWAY;
  expect(await ask('another')).toBe(503);
});

it('never accepts a token that is known to have ended, by the store or by an event of this process', async () => {
  for (const type of ['token.revoked', 'grant.revoked', 'account.disabled', 'provider_token.ended']) {
    const { state, tolerance, ask } = setUp(5);
    expect(await ask()).toBe(true);
    tolerance.note({ type });
    state.answer = AWAY;
    expect([type, await ask()]).toEqual([type, 503]);
  }
  const { state, ask } = setUp(5);
  expect(await ask()).toBe(true);
  state.answer = false;
  expect(await ask()).toBe(false);
  state.answer = AWAY;
  expect(await ask()).toBe(503);
});

it('accepts nothing during an outage by default, and hides no other error', async () => {
  const none = setUp(0);
  expect(await none.ask()).toBe(true);
  none.state.answer = AWAY;
  expect(await none.ask()).toBe(503);
  const other = setUp(5);
  expect(await other.ask()).toBe(true);
  other.state.answer = new OAuthError('invalid_token', 'No.');
  expect(await other.ask()).toBe(401);
});

it('uses the pins of tools that were read a moment before, and passes everything else on', async () => {
  const state = { now: 0, away: false };
  const saved: unknown[] = [];
  const store = {
    async findPins() {
      if (state.away) throw AWAY;
      return [{ name: 'read' }];
    },
    savePendingPin: async (...args: unknown[]) => saved.push(args) > 0,
  } as never;
  const pins = createOutageTolerance(5, () => state.now).wrapPins(store);
  const list = { server: '/mcp', backend: 'b', kind: 'tool' } as const;
  expect(await pins.findPins(list)).toEqual([{ name: 'read' }]);
  state.away = true;
  state.now = 5000;
  expect(await pins.findPins(list)).toEqual([{ name: 'read' }]);
  await expect(pins.findPins({ ...list, server: '/other' })).rejects.toBe(AWAY);
  state.now = 5001;
  await expect(pins.findPins(list)).rejects.toBe(AWAY);
  expect(await pins.savePendingPin(list, {} as never, 0)).toBe(true);
  expect(saved).toHaveLength(1);
});

it('a result that was overtaken by one that the token has ended does not revive it', async () => {
  const results: PromiseWithResolvers<boolean>[] = [];
  let isAway = false;
  const isLive = createOutageTolerance(5, () => 0).wrap(() => {
    if (isAway) return Promise.reject(AWAY);
    const result = Promise.withResolvers<boolean>();
    results.push(result);
    return result.promise;
  });
  const [slow, quick] = [isLive(claims('one')), isLive(claims('one'))];
  results[1]?.resolve(false);
  expect(await quick).toBe(false);
  results[0]?.resolve(true);
  expect(await slow).toBe(true);
  isAway = true;
  await expect(isLive(claims('one'))).rejects.toMatchObject({ status: 503 });
});
