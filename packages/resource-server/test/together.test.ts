import { describe, expect, it, vi } from 'vitest';
import { together } from '../src/tokens/together.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('work that is done together', () => {
  it('is done in its order, after the turn that brings it', async () => {
    const done: string[] = [];
    const outcomes = ['a', 'b'].map((name) => together(() => done.push(name)));
    expect(done).toEqual([]);
    expect(await Promise.all(outcomes)).toEqual([1, 2]);
    expect(done).toEqual(['a', 'b']);
  });

  it('is done although a test holds the clock', async () => {
    vi.useFakeTimers();
    try {
      expect(await together(() => 'done')).toBe('done');
    } finally {
      vi.useRealTimers();
    }
  });

  it('fails alone', async () => {
    const outcomes = await Promise.allSettled([
      together(() => {
        throw new Error('mine');
      }),
      together(() => 'well'),
    ]);
    expect(outcomes).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled', value: 'well' }]);
  });

  it('leaves others a turn between when there is much of it', async () => {
    let done = 0;
    const outcomes = Array.from({ length: 150 }, () =>
      together(() => {
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
