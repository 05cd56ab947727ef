/** Where a status stands: lists, entries and places by their numbers, and identifiers of grants and tokens that carry one. */
import { newIdentifier } from '../secrets.ts';

/** Tokens of one holder that can be told apart: a byte of bits. Of more that live at once, some are revoked together. */
export const ENTRIES_OF_A_PLACE = 8;

/** 128 KiB of bits, which deflate to next to nothing while hardly any is set. */
export const ENTRIES_OF_A_LIST: number = 2 ** 20;

/** Seconds by which the clock of a guard may be slow: for so long an expired token may still be taken. */
export const SLOW_CLOCKS = 600;

/** The path below which lists are published, each by its number. */
export const LISTS = '/status-lists';

/** Where a list is published. */
export function createUris(issuer: string): (list: number) => string {
  const { origin } = new URL(issuer);
  return (list) => `${origin}${LISTS}/${list}`;
}

/** What an identifier is long without a place behind it. */
const LENGTHS: Readonly<Record<'grant' | 'token', number>> = {
  grant: newIdentifier('grant').length,
  token: newIdentifier('token').length,
};

/** A new identifier that ends with a number. */
export function nameWith(kind: keyof typeof LENGTHS, number: number): string {
  return `${newIdentifier(kind)}${number.toString(36)}`;
}

/** The number that an identifier ends with; `null` when it was made without one. */
export function numberIn(kind: keyof typeof LENGTHS, identifier: string): number | null {
  const digits = identifier.slice(LENGTHS[kind]);
  return DIGITS.test(digits) ? Number.parseInt(digits, 36) : null;
}

/** Ten digits in base 36 are safe integers. */
const DIGITS = /^[0-9a-z]{1,10}$/;
