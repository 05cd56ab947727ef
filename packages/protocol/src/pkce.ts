/** PKCE with S256 (RFC 7636): the syntax of verifier and challenge, and the challenge of a verifier. */
import { encodeBase64url } from './jose/base64url.ts';

/** code-verifier = 43*128unreserved */
const UNRESERVED_43_128 = /^[A-Za-z0-9\-._~]{43,128}$/;

/** The only supported method; `plain` is rejected. */
export const CODE_CHALLENGE_METHOD = 'S256';

/** Whether the text is a well-formed code verifier. @see RFC 7636 §4.1 */
export function isCodeVerifier(text: string): boolean {
  return UNRESERVED_43_128.test(text);
}

/** Whether the text is a well-formed S256 challenge: 32 bytes in base64url, 43 characters. @see RFC 7636 §4.2 */
export function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9\-_]{43}$/.test(text);
}

/**
 * Verifies PKCE at the token endpoint: the hash of the `code_verifier` MUST equal the `code_challenge` of the authorization request.
 * @param matchesSha256 compares the base64url SHA-256 of a text with a digest, in constant time; passed in because the digest of
 * Web Crypto is asynchronous and slow
 * @see RFC 7636 §4.6, OAuth 2.1 draft 13 §4.1.3
 */
export function verifyCodeVerifier(
  verifier: string | undefined,
  challenge: string,
  matchesSha256: (text: string, digest: string) => boolean,
): boolean {
  return verifier !== undefined && isCodeVerifier(verifier) && matchesSha256(verifier, challenge);
}

/**
 * Returns BASE64URL(SHA256(ASCII(verifier))). @see RFC 7636 §4.2
 * @example
 * ```ts
 * import { deriveCodeChallenge } from '@portcullis/protocol';
 *
 * // The verifier of RFC 7636, appendix B.
 * const challenge = await deriveCodeChallenge('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk');
 * console.log(challenge); // E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM
 * ```
 */
export async function deriveCodeChallenge(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  return encodeBase64url(new Uint8Array(digest));
}
