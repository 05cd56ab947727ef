/** `node:crypto` if the runtime has it, since others have only WebCrypto; and SHA-256, synchronous where possible. */

import type * as NodeCrypto from 'node:crypto';
import { encodeBase64url } from '@portcullis/protocol';

export const nodeCrypto: typeof NodeCrypto | undefined =
  globalThis.process?.getBuiltinModule?.('node:crypto');

/** Returns the SHA-256 hash of bytes, or of a text in UTF-8, in base64url. */
export function digest(data: string | Uint8Array<ArrayBuffer>): string | Promise<string> {
  return nodeCrypto === undefined ? digestByWebCrypto(data) : nodeCrypto.hash('sha256', data, 'base64url');
}

async function digestByWebCrypto(data: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}
