/** One-time tokens, such as WebAuthn challenges: created without storage, bound to what must not change, accepted once. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ServerContext } from '../context.ts';
import { deriveKey } from '../encryption/encryptor.ts';
import { hashSecret } from '../secrets.ts';

const EXPIRY_BYTES = 6;
const NONCE_BYTES = 16;
const HEAD_BYTES = EXPIRY_BYTES + NONCE_BYTES;
const MAC_BYTES = 32;

/**
 * A token is its expiry, a nonce, and a MAC over both and the binding.
 * @param purpose a token for one purpose is not valid for another
 * @param lifetime seconds
 */
export function createOneTimeTokens(
  { store, clock, options: { masterKey, previousMasterKeys } }: ServerContext,
  purpose: 'passkey' | 'confirmation',
  lifetime: number,
) {
  const keyFrom = (from: Uint8Array) => deriveKey(from, `${purpose} challenge`);
  const key = keyFrom(masterKey);
  const keys = [key, ...previousMasterKeys.map(keyFrom)];
  const mac = (by: Buffer, head: Buffer, bound: readonly string[]) =>
    createHmac('sha256', by).update(head).update(JSON.stringify(bound)).digest();
  const expiryOf = (bytes: Buffer) => bytes.readUIntBE(0, EXPIRY_BYTES);
  return {
    /** 54 bytes in base64url. @param bound everything that must not change until it is used */
    create(...bound: readonly string[]): string {
      const head = Buffer.alloc(HEAD_BYTES);
      head.writeUIntBE(clock() + lifetime, 0, EXPIRY_BYTES);
      randomBytes(NONCE_BYTES).copy(head, EXPIRY_BYTES);
      return Buffer.concat([head, mac(key, head, bound)]).toString('base64url');
    },
    /** Whether this server created it with this binding, and it has not expired. */
    isValid(token: string, ...bound: readonly string[]): boolean {
      const bytes = Buffer.from(token, 'base64url');
      if (bytes.length !== HEAD_BYTES + MAC_BYTES || bytes.toString('base64url') !== token) return false;
      const head = bytes.subarray(0, HEAD_BYTES);
      const isOwn = (by: Buffer) => timingSafeEqual(bytes.subarray(HEAD_BYTES), mac(by, head, bound));
      return expiryOf(bytes) > clock() && keys.some(isOwn);
    },
    /** Consumes a valid one: of concurrent requests, in any number of processes, one succeeds. */
    consume: (token: string): Promise<boolean> =>
      store.consumeClientAssertion(
        hashSecret(`${purpose} ${token}`),
        expiryOf(Buffer.from(token, 'base64url')),
      ),
  };
}
