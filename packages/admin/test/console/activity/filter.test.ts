/** Filters of Activity: read from an address, and written as one and as a command. */
import { describe, expect, it } from 'vitest';
import {
  addressOf,
  chipsOf,
  commandOf,
  readBefore,
  readFilter,
} from '../../../src/console/activity/filter.ts';

const read = (query: string) => readFilter(new URLSearchParams(query));

describe('a filter of Activity', () => {
  it.each([
    { query: '', chips: [], command: 'portcullis events' },
    {
      query: 'type=token.*&user=ada%40example.com',
      chips: ['event token.*', 'user ada@example.com'],
      command: "portcullis events --type 'token.*' --user ada@example.com",
    },
    { query: "client=it's;rm", chips: ["app it's;rm"], command: "portcullis events --client 'it'\\''s;rm'" },
    {
      query: 'since=2026-03-01T04:00:00Z',
      chips: ['since 2026-03-01 04:00'],
      command: 'portcullis events --since 2026-03-01T04:00:00.000Z',
    },
  ])('of $query is shown as chips and as a command', ({ query, chips, command }) => {
    const filter = read(query);
    expect(chipsOf(filter).map(({ label, value }) => `${label} ${value}`)).toEqual(chips);
    expect(commandOf(filter)).toBe(command);
    expect(read(addressOf(filter).split('?')[1] ?? '')).toEqual(filter);
  });

  it('is removed from the address by its chip alone', () => {
    const [first] = chipsOf(read('type=token.issued&tool=x'));
    expect(first?.without).toBe('/admin/activity?tool=x');
  });

  it.each([
    'unknown=1',
    'type=a&type=b',
    'since=yesterday',
    'until=never',
    'before=%00',
    `tool=${'x'.repeat(501)}`,
  ])('is refused for %s', (query) => {
    expect(() => [read(query), readBefore(new URLSearchParams(query))]).toThrow();
  });
});
