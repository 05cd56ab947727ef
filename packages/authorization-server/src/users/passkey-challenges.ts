/** WebAuthn challenges: created without storage, bound to a browser, accepted once. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ServerContext } from '../context.ts';
import { deriveKey } from '../encryption/encryptor.ts';
import { hashSecret } from '../secrets.ts';

const EXPIRY_BYTES = 6;
const NONCE_BYTES = 16;
const HEAD_BYTES = EXPIRY_BYTES + NONCE_BYTES;
const MAC_BYTES = 32;

/** A challenge is its expiry, a nonce, and a MAC over both and the binding. It lives as long as a transaction. */
export function createPasskeyChallenges({ store, clock, options }: ServerContext) {
  const { masterKey, previousMasterKeys, lifetimes } = options;
  const keyFrom = (from: Uint8Array) => deriveKey(from, 'passkey challenge');
  const key = keyFrom(masterKey);
  const keys = [key, ...previousMasterKeys.map(keyFrom)];
  const mac = (by: Buffer, head: Buffer, bound: readonly string[]) =>
    createHmac('sha256', by).update(head).update(JSON.stringify(bound)).digest();
  const expiryOf = (bytes: Buffer) => bytes.readUIntBE(0, EXPIRY_BYTES);
  return {
    /** 54 bytes in base64url. @param bound everything that must not change before the response */
    create(...bound: readonly string[]): string {
      const head = Buffer.alloc(HEAD_BYTES);
      head.writeUIntBE(clock() + lifetimes.transaction, 0, EXPIRY_BYTES);
      randomBytes(NONCE_BYTES).copy(head, EXPIRY_BYTES);
      return Buffer.concat([head, mac(key, head, bound)]).toString('base64url');
    },
    /** Whether this server created it with this binding, and it has not expired. */
    isValid(challenge: string, ...bound: readonly string[]): boolean {
      const bytes = Buffer.from(challenge, 'base64url');
      if (bytes.length !== HEAD_BYTES + MAC_BYTES || bytes.toString('base64url') !== challenge) return false;
      const head = bytes.subarray(0, HEAD_BYTES);
      const isOwn = (by: Buffer) => timingSafeEqual(bytes.subarray(HEAD_BYTES), mac(by, head, bound));
      return expiryOf(bytes) > clock() && keys.some(isOwn);
    },
    /** Consumes it: of concurrent responses, in any number of processes, one succeeds. */
    consume: (challenge: string): Promise<boolean> =>
      store.consumeClientAssertion(
        hashSecret(`passkey ${challenge}`),
        expiryOf(Buffer.from(challenge, 'base64url')),
      ),
  };
}
