/** CSRF protection: HMAC tokens that bind a form to its page, browser and session, and a check of the sending site. */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { HttpRequest } from '@portcullis/http';
import { deriveKey } from '../encryption/encryptor.ts';
import type { EncryptionOptions } from '../encryption/options.ts';

/** A token for one purpose is not valid for another. */
type Purpose = 'login' | 'consent' | 'logout' | 'account' | 'second-factor' | 'console';

export type CsrfTokens = ReturnType<typeof createCsrfTokens>;

/** Tokens are HMACs under a key derived for them: nothing is stored, and every process can verify them. */
export function createCsrfTokens({ masterKey, previousMasterKeys }: EncryptionOptions) {
  const keyFrom = (from: Uint8Array) => createSecretKey(deriveKey(from, 'form tokens'));
  const key = keyFrom(masterKey);
  const keys = [key, ...previousMasterKeys.map(keyFrom)];
  const mac = (by: KeyObject, purpose: Purpose, bound: readonly string[]) =>
    createHmac('sha256', by)
      .update(JSON.stringify([purpose, ...bound]))
      .digest();
  return {
    /** The hidden field of a form, bound to everything that must be the same when it is sent. */
    issue: (purpose: Purpose, ...bound: readonly string[]): string =>
      mac(key, purpose, bound).toString('base64url'),
    matches(token: string | undefined, purpose: Purpose, ...bound: readonly string[]): boolean {
      const received = Buffer.from(token ?? '', 'base64url');
      return keys.some((one) => {
        const expected = mac(one, purpose, bound);
        return received.length === expected.length && timingSafeEqual(received, expected);
      });
    },
  };
}

/**
 * Whether the browser reports that another site sent this form: a second line of defense, behind the token. Our pages send no
 * referrer, so browsers send `Origin: null` even from our own forms, and that value proves nothing.
 */
export function isCrossSiteForm(request: HttpRequest, issuer: string): boolean {
  const site = request.headers.get('sec-fetch-site');
  if (site !== null) return site !== 'same-origin' && site !== 'none';
  const origin = request.headers.get('origin');
  return origin !== null && origin !== 'null' && origin !== new URL(issuer).origin;
}
