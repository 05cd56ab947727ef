/** Readiness: a write that works, shared by frequent probes, and the draining phase. */
import { temporarilyUnavailable } from '@portcullis/protocol';
import { describe, expect, it, vi } from 'vitest';
import { createReadiness } from '../src/server/readiness.ts';

function setUp() {
  const state = { pings: 0, writes: 0, failure: null as string | null };
  const events: unknown[] = [];
  const store = {
    async ping() {
      state.pings += 1;
    },
    async checkWritable() {
      state.writes += 1;
      if (state.failure !== null) throw temporarilyUnavailable(state.failure);
    },
  };
  return { state, events, readiness: createReadiness(store, (event) => events.push(event)) };
}

describe('readiness', () => {
  it('a thousand probes cost one write, and a full disk is noticed within two seconds and reported once', async ({
    onTestFinished,
  }) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { state, events, readiness } = setUp();
    const probes = await Promise.all(Array.from({ length: 1000 }, () => readiness.respond()));
    expect(new Set(probes.map(({ status }) => status))).toEqual(new Set([200]));
    expect(state).toMatchObject({ pings: 1000, writes: 1 });

    state.failure = 'the disk is full';
    await vi.advanceTimersByTimeAsync(2001);
    const refused = await readiness.respond();
    expect([refused.status, refused.headers]).toEqual([503, expect.objectContaining({ 'retry-after': '5' })]);
    await readiness.respond();
    expect(state.writes).toBe(2);

    state.failure = null;
    await vi.advanceTimersByTimeAsync(2001);
    expect((await readiness.respond()).status).toBe(200);
    expect(events).toEqual([
      { type: 'readiness.failed', reason: 'the disk is full' },
      { type: 'readiness.recovered' },
    ]);
  });

  it('draining makes it unready at once, and takes time only where readiness is asked for', async ({
    onTestFinished,
  }) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const unasked = setUp().readiness;
    await unasked.drain(3000);
    expect((await unasked.respond()).status).toBe(503);

    const { readiness } = setUp();
    await readiness.respond();
    let isOver = false;
    const drained = readiness.drain(3000).then(() => {
      isOver = true;
    });
    expect((await readiness.respond()).status).toBe(503);
    await vi.advanceTimersByTimeAsync(2999);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await drained;
  });
});
