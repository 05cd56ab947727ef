/** Secrets: random bytes, stored as hashes, compared in constant time. */
import { hash, randomFillSync, timingSafeEqual } from 'node:crypto';

/** A new secret of 256 bits: 43 characters of A-Z a-z 0-9 - _. */
export function newSecret(): string {
  return randomText(32);
}

/** A new secret whose beginning is an argument of commands, where a hyphen would begin an option. */
export function newTypedSecret(): string {
  return newSecret().replace(/^-/, '_');
}

/** A new identifier; its prefix names what it identifies. */
export function newIdentifier(
  prefix: 'user' | 'client' | 'invite' | 'grant' | 'key' | 'flow' | 'token' | 'scim',
): string {
  return IN_ORDER.has(prefix)
    ? `${prefix}_${sortableTime(Date.now())}${randomText(12)}`
    : `${prefix}_${randomText(16)}`;
}

/** Stored in large numbers: these start with the time, so that inserts are in index order. */
const IN_ORDER: ReadonlySet<string> = new Set(['client', 'invite', 'grant', 'flow', 'scim']);

const TIME_LENGTH = 9;
/** The last time formatted: many identifiers share one millisecond, and formatting costs as much as the rest. */
let written = { at: 0, text: '' };

/** A time as text that sorts by time. @param at milliseconds */
export function sortableTime(at: number): string {
  if (at !== written.at) written = { at, text: at.toString(36).padStart(TIME_LENGTH, '0') };
  return written.text;
}

/** A new secret of 256 bits that rows are found by: it begins with its time of creation. @see lookupKeyOf */
export function newSortableSecret(): string {
  return `${sortableTime(Date.now())}${randomText(32)}`;
}

/** What is stored of a sortable secret: its time, then the hash of the whole, so that inserts are in index order. */
export function lookupKeyOf(ticket: string): string {
  return `${ticket.slice(0, TIME_LENGTH)}${hashSecret(ticket)}`;
}

/** A pool of random bytes: fetching a few at a time costs twenty times as much. */
const stock = Buffer.alloc(4096);
let next = stock.length;

/** Base64url of random bytes, which are erased from the pool. */
export function randomText(size: number): string {
  if (next + size > stock.length) {
    randomFillSync(stock);
    next = 0;
  }
  const end = next + size;
  const text = stock.toString('base64url', next, end);
  stock.fill(0, next, end);
  next = end;
  return text;
}

/** Base64url SHA-256: for secrets of high entropy only, never for passwords. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** Whether a secret matches a stored hash. */
export function matchesSecret(presented: string, expectedHash: string): boolean {
  return equalInConstantTime(hashSecret(presented), expectedHash);
}

/** Compares in constant time; only a difference in length can be measured. */
export function equalInConstantTime(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
