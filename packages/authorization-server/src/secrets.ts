/** Secrets of this server: made from random bytes, stored as hashes, compared in constant time. */
import { hash, randomFillSync, timingSafeEqual } from 'node:crypto';

/** A new secret of 256 bits: 43 characters of A-Z a-z 0-9 - _. */
export function newSecret(): string {
  return randomText(32);
}

/** A new identifier, with a prefix that says of what. */
export function newIdentifier(
  prefix: 'user' | 'client' | 'invite' | 'grant' | 'key' | 'flow' | 'token',
): string {
  return IN_ORDER.has(prefix) ? `${prefix}_${moment()}${randomText(12)}` : `${prefix}_${randomText(16)}`;
}

/** Of these many are stored: each begins with its moment, so that they arrive in the order of the index. The others tell nothing. */
const IN_ORDER: ReadonlySet<string> = new Set(['client', 'invite', 'grant', 'flow']);

/** Milliseconds, as text in the order of time. */
function moment(): string {
  return sortableTime(Date.now());
}

const MOMENT = 9;
/** The moment that was written last: of one there are many identifiers, and writing it takes as long as the rest of one. */
let written = { at: 0, text: '' };

/** A moment as text in the order of time. @param at milliseconds */
export function sortableTime(at: number): string {
  if (at !== written.at) written = { at, text: at.toString(36).padStart(MOMENT, '0') };
  return written.text;
}

/** A new secret of 256 bits that rows are found by: it begins with its moment. @see lookupKeyOf */
export function newSortableSecret(): string {
  return `${moment()}${randomText(32)}`;
}

/** What is stored of a ticket: its moment as it is, then the hash of the whole, so that rows arrive in the order of their keys. */
export function lookupKeyOf(ticket: string): string {
  return `${ticket.slice(0, MOMENT)}${hashSecret(ticket)}`;
}

/** Base64url of so many random bytes, for a name among others of its moment. */
export function newSuffix(bytes: number): string {
  return randomText(bytes);
}

/** Random bytes to come: fetched a few at a time they would cost twenty times as much. */
const stock = Buffer.alloc(4096);
let next = stock.length;

/** Base64url of random bytes. What was given out is nowhere else any more. */
function randomText(size: number): string {
  if (next + size > stock.length) {
    randomFillSync(stock);
    next = 0;
  }
  const taken = stock.subarray(next, next + size);
  next += size;
  const text = taken.toString('base64url');
  taken.fill(0);
  return text;
}

/** Base64url SHA-256: for secrets of high entropy only, never for passwords. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** Whether a secret is the one that was hashed. */
export function matchesSecret(presented: string, expectedHash: string): boolean {
  return equalInConstantTime(hashSecret(presented), expectedHash);
}

/** Whether two texts are the same: how long it takes tells nothing but whether they are of one length. */
export function equalInConstantTime(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
