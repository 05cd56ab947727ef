/** Opaque access tokens: encrypted claims that are meaningless to their bearer and that introspection decrypts. */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import type { AccessTokenClaims } from '@portcullis/protocol';
import { deriveKey } from '../encryption/encryptor.ts';
import type { EncryptionOptions } from '../encryption/options.ts';

/*
 * `opaque.` and, in base64url: key identifier (8 bytes) | salt (16) | ciphertext | tag (16).
 * Each token has a key of its own, derived from the master key and its salt, so no key encrypts twice and the nonce can be fixed:
 * random nonces under one key would be safe for some billion tokens only. @see NIST SP 800-38D §8.3
 */
const PREFIX = 'opaque.';
const ID_LENGTH = 8;
const TEXT_AT = ID_LENGTH + 16;
const TAG_LENGTH = 16;
const NONCE = new Uint8Array(12);

/** Whether a token has the form of an opaque one, which no other token has. */
export function isOpaqueToken(token: string): boolean {
  return token.startsWith(PREFIX);
}

export function createOpaqueTokens({ masterKey, previousMasterKeys }: EncryptionOptions) {
  const own = createBox(masterKey);
  const boxes = [own, ...previousMasterKeys.map(createBox)];
  return {
    encrypt: (claims: AccessTokenClaims): string =>
      PREFIX + own.encrypt(JSON.stringify(claims)).toString('base64url'),
    /** The claims of a token of this server; `null` for any other text. */
    decrypt(token: string): AccessTokenClaims | null {
      if (!isOpaqueToken(token)) return null;
      const text = token.slice(PREFIX.length);
      const bytes = Buffer.from(text, 'base64url');
      // Each token has one spelling only, so that cached results belong to it.
      if (bytes.length < TEXT_AT + TAG_LENGTH || bytes.toString('base64url') !== text) return null;
      const opened = boxes.find(({ isOwn }) => isOwn(bytes))?.open(bytes) ?? null;
      return opened === null ? null : (JSON.parse(opened) as AccessTokenClaims);
    },
  };
}

/** Encrypts and decrypts under keys derived from one master key. */
function createBox(masterKey: Uint8Array) {
  const root = deriveKey(masterKey, 'opaque access tokens');
  const id = deriveKey(masterKey, 'opaque access tokens, key identifier').subarray(0, ID_LENGTH);
  const keyOf = (salt: Uint8Array) => createHmac('sha256', root).update(salt).digest();
  return {
    isOwn: (token: Buffer) => id.equals(token.subarray(0, ID_LENGTH)),
    encrypt(text: string): Buffer {
      const salt = randomBytes(TEXT_AT - ID_LENGTH);
      const cipher = createCipheriv('aes-256-gcm', keyOf(salt), NONCE).setAAD(id);
      return Buffer.concat([id, salt, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
    },
    open(token: Buffer): string | null {
      const key = keyOf(token.subarray(ID_LENGTH, TEXT_AT));
      const decipher = createDecipheriv('aes-256-gcm', key, NONCE, { authTagLength: TAG_LENGTH })
        .setAAD(id)
        .setAuthTag(token.subarray(-TAG_LENGTH));
      try {
        return (
          decipher.update(token.subarray(TEXT_AT, -TAG_LENGTH), undefined, 'utf8') + decipher.final('utf8')
        );
      } catch {
        return null;
      }
    },
  };
}
