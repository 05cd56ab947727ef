/** The LRU cache: keeps the newest entries within its bound. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLruCache } from '../src/lru-cache.ts';

const LEAST = 4;

describe('an LRU cache', () => {
  it('the cache holds what was set last, changed or deleted', () => {
    const memory = createLruCache<number>(LEAST);
    memory.set('a', 1);
    memory.set('a', 2);
    memory.set('b', 3);
    memory.delete('b');
    memory.delete('never there');
    expect([memory.get('a'), memory.get('b'), memory.get('never there')]).toEqual([2, undefined, undefined]);
  });

  it('the cache evicts the entry set longest ago', () => {
    const memory = createLruCache<number>(LEAST);
    for (let key = 0; key < 3 * LEAST; key += 1) {
      memory.set('again and again', key);
      memory.set(String(key), key);
    }
    expect(memory.get('again and again')).toBe(3 * LEAST - 1);
    expect(memory.get('0')).toBeUndefined();
  });

  it('the cache never loses the newest entries, never returns stale values, and is bounded', () => {
    const step = fc.tuple(fc.constantFrom('set', 'set', 'set', 'delete'), fc.integer({ min: 0, max: 20 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const memory = createLruCache<number>(LEAST);
        // A map in the order of the last write.
        const model = new Map<string, number>();
        for (const [index, [kind, number]] of steps.entries()) {
          const key = String(number);
          model.delete(key);
          if (kind === 'set') model.set(key, index);
          if (kind === 'set') memory.set(key, index);
          else memory.delete(key);
        }
        const newest = [...model].slice(-LEAST);
        for (const [key, value] of newest) expect(memory.get(key)).toBe(value);
        const found = Array.from({ length: 21 }, (_, key) => memory.get(String(key)));
        for (const [key, value] of found.entries())
          if (value !== undefined) expect(value).toBe(model.get(String(key)));
        expect(found.filter((value) => value !== undefined).length).toBeLessThanOrEqual(2 * LEAST);
      }),
    );
  });
});
