/** base64url, written without padding and read strictly: what a lax decoder would skip or repair is refused. */

const ALPHABET = /^[A-Za-z0-9_-]+$/;

/** Whether the text is base64url without padding, of a length that can occur. */
export function isBase64url(text: string): boolean {
  return text.length % 4 !== 1 && ALPHABET.test(text);
}

/** The bytes of a text that `isBase64url`. */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> {
  if (typeof Buffer !== 'undefined') return Buffer.from(text, 'base64url');
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Bytes as base64url without padding, few enough to be arguments of one call. */
export function encodeBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
