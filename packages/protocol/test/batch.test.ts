/** Batches: the order of jobs, the isolation of errors, and how many jobs run per turn. */
import { describe, expect, it, vi } from 'vitest';
import { createBatch } from '../src/batch.ts';

const runBatched = createBatch(setImmediate);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a batch', () => {
  it('a batch runs its jobs in order after the current turn', async () => {
    const done: string[] = [];
    const outcomes = ['a', 'b'].map((name) => runBatched(() => done.push(name)));
    expect(done).toEqual([]);
    expect(await Promise.all(outcomes)).toEqual([1, 2]);
    expect(done).toEqual(['a', 'b']);
  });

  it('a batch runs even when a test uses fake timers', async () => {
    vi.useFakeTimers();
    try {
      expect(await runBatched(() => 'done')).toBe('done');
    } finally {
      vi.useRealTimers();
    }
  });

  it('a batch rejects only the job that throws', async () => {
    const outcomes = await Promise.allSettled([
      runBatched(() => {
        throw new Error('mine');
      }),
      runBatched(() => 'well'),
    ]);
    expect(outcomes).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled', value: 'well' }]);
  });

  it('a batch runs at most 64 jobs per turn', async () => {
    let done = 0;
    const outcomes = Array.from({ length: 150 }, () =>
      runBatched(() => {
        done += 1;
      }),
    );
    const seen: number[] = [];
    for (let index = 0; index < 4; index += 1) {
      await turn();
      seen.push(done);
    }
    expect(seen[0]).toBeLessThanOrEqual(64);
    expect(seen.at(-1)).toBe(150);
    await Promise.all(outcomes);
  });
});
