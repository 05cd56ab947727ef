/** Sealing what is kept: AES-256-GCM, bound to where it is kept. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { ClientError } from '../errors.ts';

export interface CredentialCipher {
  encrypt(text: string, label: string): string;
  /** Throws `store_unusable` when the text was sealed with another key or for another place. */
  decrypt(sealed: string, label: string): string;
}

const PREFIX = 'sealed1.';

export function isEncrypted(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** Makes a seal; without a key what is closed stays readable. */
export function createCredentialCipher(key: Uint8Array | null): CredentialCipher {
  if (key === null) return { encrypt: (text) => text, decrypt: openPlain };
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
    decrypt(sealed, label) {
      if (!isEncrypted(sealed)) return sealed;
      const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64url');
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAAD(
          Buffer.from(label),
        );
        decipher.setAuthTag(bytes.subarray(12, 28));
        return decipher.update(bytes.subarray(28), undefined, 'utf8') + decipher.final('utf8');
      } catch (cause) {
        throw new ClientError('store_unusable', 'The kept credentials were sealed with another key.', {
          cause,
        });
      }
    },
  };
}

function openPlain(text: string): string {
  if (!isEncrypted(text)) return text;
  throw new ClientError('store_unusable', 'The kept credentials are sealed: the key is missing.');
}
