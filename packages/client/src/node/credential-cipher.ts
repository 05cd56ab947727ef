/** Encryption of stored credentials: AES-256-GCM, authenticated with the key that they are stored under. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { ClientError } from '../errors.ts';

export interface CredentialCipher {
  /** @param label additional authenticated data: where the text is stored */
  encrypt(text: string, label: string): string;
  /** @throws ClientError `store_unusable` when the text was not encrypted with this key and for this label. */
  decrypt(encrypted: string, label: string): string;
}

const PREFIX = 'aes256gcm.';

export function isEncrypted(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** Creates a cipher; without a key, text is stored as it is. */
export function createCredentialCipher(key: Uint8Array | null): CredentialCipher {
  if (key === null) return { encrypt: (text) => text, decrypt: requirePlain };
  if (key.byteLength !== 32) {
    throw new ClientError('configuration_invalid', 'The key of the credential store must be 32 bytes long.');
  }
  return {
    encrypt(text, label) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(label));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return PREFIX + Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url');
    },
    decrypt(encrypted, label) {
      if (!isEncrypted(encrypted))
        throw new ClientError(
          'store_unusable',
          'The stored credentials are not encrypted, although there is a key.',
        );
      const bytes = Buffer.from(encrypted.slice(PREFIX.length), 'base64url');
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12));
        decipher.setAAD(Buffer.from(label)).setAuthTag(bytes.subarray(12, 28));
        return decipher.update(bytes.subarray(28), undefined, 'utf8') + decipher.final('utf8');
      } catch (cause) {
        const message = 'The stored credentials were encrypted with another key.';
        throw new ClientError('store_unusable', message, { cause });
      }
    },
  };
}

function requirePlain(text: string): string {
  if (!isEncrypted(text)) return text;
  throw new ClientError('store_unusable', 'The stored credentials are encrypted, and the key is missing.');
}
