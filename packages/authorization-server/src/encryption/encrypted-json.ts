/** Values encrypted as text for a browser or a client to carry, so that nothing is stored. */
import type { Encryptor } from './encryptor.ts';

export interface EncryptedJson<T> {
  encrypt(value: T): string;
  /** `null` for any text that this server did not encrypt in the same context. */
  decrypt(text: string): T | null;
}

/**
 * @param context says what the values are, so that none is accepted as another kind
 * @param maxLength characters of a text that is decrypted
 */
export function createEncryptedJson<T>(
  encryptor: Encryptor,
  context: string,
  maxLength: number,
): EncryptedJson<T> {
  return {
    encrypt: (value) => encryptor.encryptText(Buffer.from(JSON.stringify(value)), context),
    decrypt(text) {
      const plaintext = text.length > maxLength ? null : encryptor.decryptText(text, context);
      // Authenticated encryption: only this server made it, so it has the shape that it was encrypted with.
      return plaintext === null ? null : (JSON.parse(plaintext.toString()) as T);
    },
  };
}
