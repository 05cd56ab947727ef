/** The bits of status lists: which entries have ended, list by list. */
import { ENTRIES_OF_A_LIST, ENTRIES_OF_A_PLACE } from './indexes.ts';

/** By the number of their list; a list in which nothing has ended is left out. */
export type Bits = ReadonlyMap<number, Buffer>;

const BYTES_OF_A_LIST = ENTRIES_OF_A_LIST / 8;
/** A list of which all is as it was. */
export const NOTHING_ENDED: Buffer = Buffer.alloc(BYTES_OF_A_LIST);

/**
 * Bits, and more of them; a list in which none is new stays what it was. There is one for each entry, the lowest of a byte first:
 * the entries of a place are a byte. @see draft-ietf-oauth-status-list §4.1
 */
export function withEnded(bits: Bits, places: readonly number[], tokens: readonly number[]): Bits {
  const lists = new Map(bits);
  const end = (place: number, ended: number): void => {
    const list = Math.floor(place / BYTES_OF_A_LIST);
    const at = place % BYTES_OF_A_LIST;
    const before = lists.get(list) ?? NOTHING_ENDED;
    if (((before[at] ?? 0) & ended) === ended) return;
    const bytes = before === (bits.get(list) ?? NOTHING_ENDED) ? Buffer.from(before) : before;
    lists.set(list, bytes);
    bytes[at] = (bytes[at] ?? 0) | ended;
  };
  for (const place of places) end(place, 0xff);
  for (const entry of tokens) end(Math.floor(entry / ENTRIES_OF_A_PLACE), 1 << (entry % ENTRIES_OF_A_PLACE));
  return lists;
}
