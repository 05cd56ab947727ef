/** SHA-256 in base64url: synchronous where the runtime supports it. */
import { encodeBase64url } from './base64url.ts';
import { nodeCrypto } from './node-crypto.ts';

/** Hashes bytes, or a text in UTF-8. */
export function digest(data: string | Uint8Array<ArrayBuffer>): string | Promise<string> {
  return nodeCrypto === undefined ? digestByWebCrypto(data) : nodeCrypto.hash('sha256', data, 'base64url');
}

async function digestByWebCrypto(data: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}
