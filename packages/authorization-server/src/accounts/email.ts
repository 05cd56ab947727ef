/** E-mail addresses as names of accounts: which are plausible, and when two are the same. */
import { domainToASCII } from 'node:url';

const LONGEST_EMAIL = 254;

/**
 * The form by which an account is found: trimmed, NFKC, lowercase, the domain in ASCII (some browsers send it so, others
 * do not). `null` when the text cannot be an address.
 */
export function emailKey(text: string): string | null {
  const key = text.trim().normalize('NFKC').toLowerCase();
  const [, local, domain] = /^([^\s\p{C}@]{1,64})@([\p{L}\p{M}\p{N}.-]+)$/u.exec(key) ?? [];
  const host = domainToASCII(domain ?? '');
  if (local === undefined || host === '') return null;
  return local.length + host.length < LONGEST_EMAIL ? `${local}@${host}` : null;
}
