/** Clock skew: measured against the clock of the database, and reported once per change. */
import { describe, expect, it, vi } from 'vitest';
import { watchClock } from '../src/server/clock-skew.ts';

function setUp(readClock: (now: number) => Promise<number | null>) {
  vi.useFakeTimers();
  const events: unknown[] = [];
  const skew = { seconds: 0 };
  const state = { ahead: 0 };
  const clock = () => Date.now() / 1000 + state.ahead;
  const store = { readClock: () => readClock(Date.now() / 1000) };
  const stop = watchClock(store, (event) => events.push(event), skew, clock);
  const atEnd = () => {
    stop();
    vi.useRealTimers();
  };
  return { events, skew, state, atEnd, pass: () => vi.advanceTimersByTimeAsync(60_000) };
}

describe('clock skew', () => {
  it('is reported when it exceeds five seconds in either direction, and when it has been corrected', async ({
    onTestFinished,
  }) => {
    const { events, skew, state, atEnd, pass } = setUp(async (now) => now);
    onTestFinished(atEnd);
    state.ahead = 4;
    await pass();
    expect([events, Math.round(skew.seconds)]).toEqual([[], 4]);
    state.ahead = -3600;
    await pass();
    await pass();
    expect(Math.round(skew.seconds)).toBe(-3600);
    state.ahead = 0;
    await pass();
    await pass();
    expect(events).toEqual([
      { type: 'clock.skewed', seconds: -3600 },
      { type: 'clock.corrected', seconds: 0 },
    ]);
  });

  it('is not concluded from a slow response, an outage, or a database without a clock of its own', async ({
    onTestFinished,
  }) => {
    const slow = setUp(async (now) => {
      await new Promise((resolve) => setTimeout(resolve, 20_000));
      return now;
    });
    onTestFinished(slow.atEnd);
    const away = setUp(() => Promise.reject(new Error('away')));
    onTestFinished(away.atEnd);
    const none = setUp(async () => null);
    onTestFinished(none.atEnd);
    for (const { pass, state } of [slow, away, none]) {
      state.ahead = 0;
      await pass();
    }
    expect([slow.events, away.events, none.events]).toEqual([[], [], []]);
  });
});
