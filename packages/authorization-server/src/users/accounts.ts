/** E-mail addresses as names of accounts: which are plausible, and when two are the same. */

import { domainToASCII } from 'node:url';
import { newIdentifier } from '../secrets.ts';
import type { AccountRecord } from '../store/index.ts';

const MAX_EMAIL_LENGTH = 254;
/** UTF-16 units before anything is normalized: sorting the accents of a longer text takes the square of its length. */
const MAX_TEXT_LENGTH = 1024;

/**
 * The form by which an account is found: trimmed, NFKC, lowercase, the domain in ASCII (some browsers send it so, others
 * do not). `null` when the text cannot be an address.
 */
export function emailKey(text: string): string | null {
  if (text.length > MAX_TEXT_LENGTH) return null;
  const key = text.trim().normalize('NFKC').toLowerCase();
  const [, local, domain] = /^([^\s\p{C}@]{1,64})@([\p{L}\p{M}\p{N}.-]+)$/u.exec(key) ?? [];
  const host = domainToASCII(domain ?? '');
  if (local === undefined || host === '') return null;
  return local.length + host.length < MAX_EMAIL_LENGTH ? `${local}@${host}` : null;
}

/**
 * The record of a new account.
 * @param emailKey by which it is found
 * @param createdAt epoch seconds
 */
export function createAccountRecord(
  email: string,
  emailKey: string,
  passwordHash: string,
  createdAt: number,
): AccountRecord {
  return {
    id: newIdentifier('user'),
    email: email.trim(),
    emailKey,
    passwordHash,
    createdAt,
    disabledAt: null,
  };
}
