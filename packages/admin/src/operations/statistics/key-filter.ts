/**
 * A Bloom filter of the values that the events of an hour have, so that a search reads the hours only in which it may find something.
 * It is written when the hour is counted: an index would be written with each event, on the path of a token.
 */
import { hash } from 'node:crypto';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';

/** One value in fifty is found in vain, and rarely in the same part of the hour as well. */
const BITS_EACH = 8;
const HASHES = 5;
const LEAST_BYTES = 16;

/** Details that a search compares, those with the rarest values first. */
export const SEARCHED_DETAILS = ['reference', 'tool', 'server', 'error', 'decision', 'outcome'] as const;

/** What a search compares: columns and details of events. */
export type KeyCriteria = Readonly<
  Partial<
    Record<'type' | 'client' | 'user' | 'grant' | (typeof SEARCHED_DETAILS)[number], string | undefined>
  >
>;

/** Parts of an hour that are told apart. */
export const HOUR_PARTS = 16;

/** A key of an hour, for a part of it. */
export function keyOfPart(key: string, part: number): string {
  return `${part} ${key}`;
}

/** The keys of an event that `keysOfCriteria` may name. */
export function keysOfEvent(event: AuditEventRecord): readonly string[] {
  const { type, clientId: client, accountId: user, grantId: grant, details } = event;
  const columns = { type, client, user, grant };
  const keys = Object.entries(columns).flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${value}`],
  );
  keys.push(`family=${type.split('.', 1)[0]}`);
  for (const name of SEARCHED_DETAILS)
    if (typeof details[name] === 'string') keys.push(`${name}=${details[name]}`);
  return keys;
}

/** The keys that every matching event has. Of a pattern only that of all below a first name (`token.*`) is one. */
export function keysOfCriteria({ type, ...others }: KeyCriteria): readonly string[] {
  const keys = Object.entries(others).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  );
  if (type === undefined) return keys;
  if (!type.endsWith('*')) return [...keys, `type=${type}`];
  const [, family] = /^([a-z_]+)\..*\*$/.exec(type) ?? [];
  return family === undefined ? keys : [...keys, `family=${family}`];
}

/** A filter with these keys. */
export function createKeyFilter(keys: ReadonlySet<string>): Uint8Array {
  const filter = new Uint8Array(Math.max(LEAST_BYTES, Math.ceil((keys.size * BITS_EACH) / 8)));
  for (const key of keys)
    for (const bit of bitsOf(hashesOf(key), filter.length * 8))
      filter[bit >> 3] = (filter[bit >> 3] ?? 0) | (1 << (bit & 7));
  return filter;
}

/** Whether all keys may be in it; `true` is wrong at times, `false` never. @param hashes by `hashesOf` */
export function mayContain(filter: Uint8Array, hashes: readonly KeyHashes[]): boolean {
  return hashes.every((one) =>
    bitsOf(one, filter.length * 8).every((bit) => ((filter[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0),
  );
}

export type KeyHashes = readonly [number, number];

/** Two hashes, of which all positions are computed. */
export function hashesOf(key: string): KeyHashes {
  const digest = hash('sha256', key, 'buffer');
  return [digest.readUInt32LE(0), (digest.readUInt32LE(4) | 1) >>> 0];
}

function bitsOf([first, step]: KeyHashes, size: number): readonly number[] {
  return Array.from({ length: HASHES }, (_, index) => (first + index * step) % size);
}
