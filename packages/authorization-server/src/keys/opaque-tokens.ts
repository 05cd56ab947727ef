/** Access tokens that say nothing to whoever carries them: claims sealed under the sealing key, which introspection opens. */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import type { AccessTokenClaims } from '@portcullis/protocol';
import { deriveKey } from '../encryption/encryptor.ts';
import type { ServerOptions } from '../options.ts';

/*
 * `opaque.` and, in base64url: key identifier (8 bytes) | salt (16) | ciphertext | tag (16).
 * Each token has a key of its own, made of the sealing key and its salt. So no key seals twice and its nonce may be fixed: random
 * nonces under one key are good for some thousand million tokens only. @see NIST SP 800-38D §8.3
 */
const PREFIX = 'opaque.';
const ID_LENGTH = 8;
const TEXT_AT = ID_LENGTH + 16;
const TAG_LENGTH = 16;
const NONCE = new Uint8Array(12);

export interface OpaqueTokens {
  encrypt(claims: AccessTokenClaims): string;
  /** The claims of a token that was sealed here; `null` for any other text. */
  decrypt(token: string): AccessTokenClaims | null;
}

/** Whether a token may be one of these, and can be none of any other kind. */
export function isOpaqueToken(token: string): boolean {
  return token.startsWith(PREFIX);
}

/** Makes and opens them; whoever has the sealing key can do both. */
export function createOpaqueTokens({
  masterKey,
  previousMasterKeys,
}: Pick<ServerOptions, 'masterKey' | 'previousMasterKeys'>): OpaqueTokens {
  const own = createBox(masterKey);
  const boxes = [own, ...previousMasterKeys.map(createBox)];
  return {
    encrypt: (claims) => PREFIX + own.seal(JSON.stringify(claims)).toString('base64url'),
    decrypt(token) {
      if (!isOpaqueToken(token)) return null;
      const text = token.slice(PREFIX.length);
      const bytes = Buffer.from(text, 'base64url');
      // One spelling for each token, so that what is remembered of one counts for it.
      if (bytes.length < TEXT_AT + TAG_LENGTH || bytes.toString('base64url') !== text) return null;
      const opened = boxes.find(({ isOwn }) => isOwn(bytes))?.open(bytes) ?? null;
      return opened === null ? null : (JSON.parse(opened) as AccessTokenClaims);
    },
  };
}

/** Opens and closes under keys made of one sealing key. */
function createBox(masterKey: Uint8Array) {
  const root = deriveKey(masterKey, 'opaque access tokens');
  const id = deriveKey(masterKey, 'opaque access tokens, key identifier').subarray(0, ID_LENGTH);
  const keyOf = (salt: Uint8Array) => createHmac('sha256', root).update(salt).digest();
  return {
    isOwn: (token: Buffer) => id.equals(token.subarray(0, ID_LENGTH)),
    seal(text: string): Buffer {
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
