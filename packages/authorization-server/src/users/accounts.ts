/** Account records and the e-mail key by which an account is found. */
import { domainToASCII, domainToUnicode } from 'node:url';
import { newIdentifier } from '../secrets.ts';
import type { AccountRecord, AccountRole, AuthorizationStore } from '../store/index.ts';

const MAX_EMAIL_LENGTH = 254;
/** UTF-16 units before normalization, which takes quadratic time on long runs of accents. */
const MAX_TEXT_LENGTH = 1024;

/**
 * The key of an e-mail address: trimmed, NFKC, lowercase, the domain in ASCII, because browsers differ in that.
 * @returns `null` if the text cannot be an e-mail address
 */
export function emailKey(text: string): string | null {
  if (text.length > MAX_TEXT_LENGTH) return null;
  const key = text.trim().normalize('NFKC').toLowerCase();
  const [, local, domain] = /^([^\s\p{C}@]{1,64})@([\p{L}\p{M}\p{N}.-]+)$/u.exec(key) ?? [];
  const host = domainToASCII(domain ?? '');
  if (local === undefined || host === '') return null;
  return local.length + host.length < MAX_EMAIL_LENGTH ? `${local}@${host}` : null;
}

/** The forms in which an identity provider may write an address, lowercase: with its domain in ASCII, and in Unicode. */
export function emailForms(key: string): readonly string[] {
  const domain = key.lastIndexOf('@') + 1;
  return [...new Set([key, key.slice(0, domain) + domainToUnicode(key.slice(domain))])];
}

/** Accounts whose identity provider verified an address, in any form. @param key from `emailKey` */
export async function findAccountsByVerifiedEmail(
  store: AuthorizationStore,
  key: string,
): Promise<readonly AccountRecord[]> {
  const found = await Promise.all(emailForms(key).map((form) => store.findAccountsByVerifiedEmail(form)));
  return found.flat();
}

/**
 * The record of a new account.
 * @param emailKey from `emailKey`, or a text without `@` for an account of an identity provider
 * @param createdAt epoch seconds
 */
export function createAccountRecord(
  email: string,
  emailKey: string,
  passwordHash: string,
  createdAt: number,
  role: AccountRole | null = null,
): AccountRecord {
  return {
    id: newIdentifier('user'),
    email,
    emailKey,
    passwordHash,
    createdAt,
    disabledAt: null,
    role,
  };
}
