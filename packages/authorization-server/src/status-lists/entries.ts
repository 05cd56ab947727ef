/** Entries of the status lists: how entries, status indexes and lists are numbered, and how a token id carries its entry. */
import { newIdentifier } from '../secrets.ts';

/**
 * Entries that belong to one status index: a byte of bits, so that eight live tokens of one owner can be revoked one by one. If
 * more are live at once, some share an entry and are revoked together.
 */
export const ENTRIES_PER_INDEX = 8;

/** 128 KiB of bits, which compress to next to nothing while hardly any is set. */
export const ENTRIES_PER_LIST: number = 2 ** 20;

/** Seconds by which a resource server's clock may be slow: for that long it may still accept an expired token. */
export const CLOCK_SKEW = 600;

/** The path below which lists are published, each under its number. */
export const STATUS_LISTS_PATH = '/status-lists';

/** Where a list is published. */
export function createListUri(issuer: string): (list: number) => string {
  const { origin } = new URL(issuer);
  return (list) => `${origin}${STATUS_LISTS_PATH}/${list}`;
}

const TOKEN_ID_LENGTH = newIdentifier('token').length;

/** A new `jti` that ends with the entry of its token, so that the identifier of a revoked token determines its bit. */
export function newTokenId(entry: number): string {
  return `${newIdentifier('token')}${entry.toString(36)}`;
}

/** Ten digits in base 36 are a safe integer. */
const DIGITS = /^[0-9a-z]{1,10}$/;

/** The entry that a token id ends with; `null` if it was made without one. */
export function entryOfTokenId(tokenId: string): number | null {
  const digits = tokenId.slice(TOKEN_ID_LENGTH);
  return DIGITS.test(digits) ? Number.parseInt(digits, 36) : null;
}
