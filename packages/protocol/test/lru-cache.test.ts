/** The LRU cache: keeps the newest entries within its bound. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLruCache } from '../src/lru-cache.ts';

const LEAST = 4;

describe('an LRU cache', () => {
  it('the cache holds what was set last, changed or deleted', () => {
    const cache = createLruCache<number>({ entries: LEAST });
    cache.set('a', 1);
    cache.set('a', 2);
    cache.set('b', 3);
    cache.delete('b');
    cache.delete('never there');
    expect([cache.get('a'), cache.get('b'), cache.get('never there')]).toEqual([2, undefined, undefined]);
  });

  it('the cache evicts the entry set longest ago', () => {
    const cache = createLruCache<number>({ entries: LEAST });
    for (let key = 0; key < 3 * LEAST; key += 1) {
      cache.set('again and again', key);
      cache.set(String(key), key);
    }
    expect(cache.get('again and again')).toBe(3 * LEAST - 1);
    expect(cache.get('0')).toBeUndefined();
  });

  it('the cache never loses the newest entries, never returns stale values, and is bounded', () => {
    const step = fc.tuple(fc.constantFrom('set', 'set', 'set', 'delete'), fc.integer({ min: 0, max: 20 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const cache = createLruCache<number>({ entries: LEAST });
        // A map in the order of the last write.
        const model = new Map<string, number>();
        for (const [index, [kind, number]] of steps.entries()) {
          const key = String(number);
          model.delete(key);
          if (kind === 'set') model.set(key, index);
          if (kind === 'set') cache.set(key, index);
          else cache.delete(key);
        }
        const newest = [...model].slice(-LEAST);
        for (const [key, value] of newest) expect(cache.get(key)).toBe(value);
        const found = Array.from({ length: 21 }, (_, key) => cache.get(String(key)));
        for (const [key, value] of found.entries())
          if (value !== undefined) expect(value).toBe(model.get(String(key)));
        expect(found.filter((value) => value !== undefined).length).toBeLessThanOrEqual(2 * LEAST);
      }),
    );
  });

  it('a deleted key leaves its characters to others', () => {
    const cache = createLruCache<number>({ entries: 10, characters: 100 });
    for (let index = 0; index < 100; index += 1) {
      cache.set(`${index}`.padStart(60), index);
      cache.delete(`${index}`.padStart(60));
    }
    cache.set('kept', 1);
    expect([cache.get('kept'), cache.size]).toEqual([1, 1]);
  });

  it('finds the entries of an LRU cache, and nothing else', () => {
    const cache = createLruCache<number>({ entries: 10, characters: 1000 });
    cache.set('a', 1);
    cache.set('a', 2);
    expect([cache.get('a'), cache.get('b'), cache.size]).toEqual([2, undefined, 1]);
  });

  it('distinguishes keys with the same ending', () => {
    const cache = createLruCache<number>({ entries: 10, characters: 1000 });
    const end = 'x'.repeat(100);
    cache.set(`a${end}`, 1);
    expect([cache.get(`a${end}`), cache.get(`b${end}`), cache.get(end)]).toEqual([1, undefined, undefined]);
    cache.set(`b${end}`, 2);
    expect([cache.get(`a${end}`), cache.get(`b${end}`), cache.size]).toEqual([undefined, 2, 1]);
  });

  it('keeps entries that are used, and evicts others', () => {
    const cache = createLruCache<number>({ entries: 100, characters: 100_000 });
    cache.set('used', 0);
    cache.set('unused', 0);
    for (let index = 0; index < 1000; index += 1) {
      cache.set(`filler ${index}`, index);
      cache.get('used');
    }
    expect(cache.get('used')).toBe(0);
    expect(cache.get('unused')).toBeUndefined();
  });

  it('stays within its limits of entries and characters', () => {
    const byEntries = createLruCache<number>({ entries: 100, characters: 1_000_000 });
    const byCharacters = createLruCache<number>({ entries: 100, characters: 1000 });
    for (let index = 0; index < 1_000_000; index += 1) byEntries.set(`key ${index}`, index);
    for (let index = 0; index < 1000; index += 1) byCharacters.set(`${index}`.padStart(100), index);
    expect(byEntries.size).toBeLessThanOrEqual(200);
    expect(byCharacters.size).toBeLessThanOrEqual(20);
  });
});
