/** Forged forms: what proves that a form which arrives is the one that this server showed to this browser. */

import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import type { HttpRequest } from '@portcullis/http';
import { deriveKey } from '../encryption/encryptor.ts';
import type { ServerOptions } from '../options.ts';

/** What a form is for: a token for one purpose is none for another. */
type Purpose = 'login' | 'consent' | 'logout' | 'home' | 'second-step';

export interface CsrfTokens {
  /** The hidden field of a form, bound to everything that must not change between showing and sending it. */
  issue(purpose: Purpose, ...bound: readonly string[]): string;
  matches(token: string | undefined, purpose: Purpose, ...bound: readonly string[]): boolean;
}

/** Tokens are HMACs under a key of their own, so nothing has to be stored, and every process knows them. */
export function createCsrfTokens({ masterKey }: ServerOptions): CsrfTokens {
  const key = createSecretKey(deriveKey(masterKey, 'form tokens'));
  const mac = (purpose: Purpose, bound: readonly string[]) =>
    createHmac('sha256', key)
      .update(JSON.stringify([purpose, ...bound]))
      .digest();
  return {
    issue: (purpose, ...bound) => mac(purpose, bound).toString('base64url'),
    matches(token, purpose, ...bound) {
      const presented = Buffer.from(token ?? '', 'base64url');
      const expected = mac(purpose, bound);
      return presented.length === expected.length && timingSafeEqual(presented, expected);
    },
  };
}

/**
 * Whether the browser says that another site sent this form: the second line of defence, behind the token. Our pages
 * send no referrer, which makes browsers send `Origin: null` even to ourselves, so that alone says nothing.
 */
export function isCrossSiteForm(request: HttpRequest, issuer: string): boolean {
  const site = request.headers.get('sec-fetch-site');
  if (site !== null) return site !== 'same-origin' && site !== 'none';
  const origin = request.headers.get('origin');
  return origin !== null && origin !== 'null' && origin !== new URL(issuer).origin;
}
