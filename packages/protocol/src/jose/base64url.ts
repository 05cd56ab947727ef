/** Strict base64url without padding: rejects what a lax decoder would skip or repair. */

const ALPHABET = /^[A-Za-z0-9_-]+$/;

/** Whether the text is base64url without padding, of a possible length. */
export function isBase64url(text: string): boolean {
  return text.length % 4 !== 1 && ALPHABET.test(text);
}

/** Decodes a text for which `isBase64url` is true. */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> {
  if (typeof Buffer !== 'undefined') return Buffer.from(text, 'base64url');
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Encodes bytes as base64url without padding. @see RFC 4648 §5 */
export function encodeBase64url(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
