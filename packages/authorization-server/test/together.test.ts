/** Work done together: in its order, in one go, and each outcome goes to who asked. */
import { describe, expect, it } from 'vitest';
import { together } from '../src/keys/together.ts';

describe('work that is asked for together', () => {
  it('is done in order before anybody gets on with the outcome', async () => {
    const happened: string[] = [];
    const work = together((name: string) => {
      happened.push(`did ${name}`);
      return name.toUpperCase();
    });
    const ask = async (name: string) => {
      const outcome = await work(name);
      happened.push(`got ${outcome}`);
    };
    await Promise.all(['a', 'b', 'c'].map(ask));
    expect(happened).toEqual(['did a', 'did b', 'did c', 'got A', 'got B', 'got C']);
  });

  it('fails for the one that failed', async () => {
    const work = together((count: number) => {
      if (count === 2) throw new Error('two');
      return count;
    });
    const outcomes = await Promise.allSettled([1, 2, 3].map(work));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await expect(work(4)).resolves.toBe(4);
  });
});
