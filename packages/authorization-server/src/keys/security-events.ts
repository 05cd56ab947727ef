/** Signs security event tokens, and encrypts what the transmitter stores of receivers. */
import type { ServerContext } from '../context.ts';
import type { KeyRing } from './key-ring.ts';
import { signJwt } from './signing-key.ts';

/** What a transmitter of security events needs of its authorization server. */
export interface SecurityEventKeys {
  /** @returns a signed token of the type `secevent+jwt` @see RFC 8417 §2.3 */
  sign(claims: Readonly<Record<string, unknown>>): Promise<string>;
  /** @param context what the text belongs to: it can only be decrypted with the same context */
  encrypt(text: string, context: string): Uint8Array;
  /** Whether a ciphertext is under the newest master key. */
  isCurrent(ciphertext: Uint8Array): boolean;
  /** @throws DecryptionError */
  decrypt(ciphertext: Uint8Array, context: string): string;
}

export function createSecurityEventKeys(
  { encryptor }: Pick<ServerContext, 'encryptor'>,
  keys: KeyRing,
): SecurityEventKeys {
  const contextOf = (context: string) => `security-event:${context}`;
  return {
    async sign(claims) {
      await keys.refresh();
      return signJwt(keys.now().signing, 'secevent+jwt', claims);
    },
    encrypt: (text, context) => encryptor.encrypt(Buffer.from(text), contextOf(context)),
    isCurrent: encryptor.isCurrentKey,
    decrypt: (ciphertext, context) => encryptor.decrypt(ciphertext, contextOf(context)).toString(),
  };
}
