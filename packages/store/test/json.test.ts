/** Lists in a text column: cached within bounds, and equal to what was written. */
import { describe, expect, it } from 'vitest';
import { readList } from '../src/json.ts';

describe('a list in a text column', () => {
  it('returns the list that was written, and the same object to all readers', () => {
    const list = readList('["notes:read","a \\"b\\" \u{1F5DD}"]');
    expect(list).toEqual(['notes:read', 'a "b" \u{1F5DD}']);
    expect(readList('["notes:read","a \\"b\\" \u{1F5DD}"]')).toBe(list);
    expect(readList('[]')).toEqual([]);
  });

  it('returns a frozen list', () => {
    const list = readList('["notes:read"]') as string[];
    expect(() => list.push('notes:write')).toThrow(TypeError);
    expect(readList('["notes:read"]')).toEqual(['notes:read']);
  });

  it('does not cache long lists, and forgets the cache when it is full', () => {
    const long = JSON.stringify(['x'.repeat(600)]);
    expect(readList(long)).toEqual(readList(long));
    expect(readList(long)).not.toBe(readList(long));
    const list = readList('["first"]');
    for (let other = 0; other < 1001; other += 1) readList(`["${other}"]`);
    expect(readList('["first"]')).not.toBe(list);
    expect(readList('["first"]')).toEqual(list);
  });
});
