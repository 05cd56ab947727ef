/** Accounts as they begin. */

import { newIdentifier } from '../secrets.ts';
import type { AccountRecord } from '../store/index.ts';

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
