/** Searches of long lists: when they end, and where they go on. */
import { expect, it, vi } from 'vitest';
import { searchList } from '../src/operations/search-lists.ts';

it('ends a search of slow matches before a whole query of the store was matched, and misses none after it', async () => {
  const all = Array.from({ length: 1_200 }, (_, index) => String(index).padStart(4, '0'));
  const time = { now: 0 };
  vi.spyOn(performance, 'now').mockImplementation(() => time.now);
  const matched: string[] = [];
  const search = (after: string) =>
    searchList(
      async (key, limit) => all.filter((one) => one > key).slice(0, limit),
      (one) => one,
      async (one) => {
        time.now += 5;
        matched.push(one);
        return one.endsWith('7');
      },
      after,
      50,
    );
  const first = await search('');
  expect(matched.length).toBeLessThan(200);
  expect(first.next).toBe(matched.at(-1));
  const found = [...first.items];
  for (let { next } = first; next !== null; ) {
    const page = await search(next);
    found.push(...page.items);
    next = page.next;
  }
  expect(found).toEqual(all.filter((one) => one.endsWith('7')));
  expect(matched).toEqual(all);
});
