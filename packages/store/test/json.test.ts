/** Lists in a text column: cached within bounds, and equal to what was written. */
import { describe, expect, it } from 'vitest';
import { readList } from '../src/json.ts';

describe('a list in a column', () => {
  it('is what is written there, and the same for all who read it', () => {
    const list = readList('["notes:read","a \\"b\\" \u{1F5DD}"]');
    expect(list).toEqual(['notes:read', 'a "b" \u{1F5DD}']);
    expect(readList('["notes:read","a \\"b\\" \u{1F5DD}"]')).toBe(list);
    expect(readList('[]')).toEqual([]);
  });

  it('can be changed by nobody', () => {
    const list = readList('["notes:read"]') as string[];
    expect(() => list.push('notes:write')).toThrow(TypeError);
    expect(readList('["notes:read"]')).toEqual(['notes:read']);
  });

  it('is read again when it is long, or when many others came', () => {
    const long = JSON.stringify(['x'.repeat(600)]);
    expect(readList(long)).toEqual(readList(long));
    expect(readList(long)).not.toBe(readList(long));
    const list = readList('["first"]');
    for (let other = 0; other < 1001; other += 1) readList(`["${other}"]`);
    expect(readList('["first"]')).not.toBe(list);
    expect(readList('["first"]')).toEqual(list);
  });
});
