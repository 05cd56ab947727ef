/** SHA-256 of text as base64url: at once where the runtime can, else later. */
import { base64url } from 'jose';
import { nodeCrypto } from '../tokens/node-crypto.ts';

/** The digest of a text in UTF-8. */
export function digest(text: string): string | Promise<string> {
  return nodeCrypto === undefined ? digestByWebCrypto(text) : nodeCrypto.hash('sha256', text, 'base64url');
}

async function digestByWebCrypto(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return base64url.encode(new Uint8Array(hash));
}
