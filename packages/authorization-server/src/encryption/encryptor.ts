/** Encryption at rest: AES-256-GCM under keys derived from the master key (KEK), which is not in the store, or from a data key (DEK). */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';

/*
 * A ciphertext: version (1 byte) | key identifier (8) | nonce (12) | ciphertext | tag (16).
 * The tag also authenticates version, key identifier and the context, so that a ciphertext that was moved to another row, or
 * that names another key, cannot be decrypted.
 */
const VERSION = 1;
const KEY_ID_AT = 1;
const NONCE_AT = 9;
const TEXT_AT = 21;
const TAG_LENGTH = 16;

/** Encrypts and decrypts under one key. */
export interface Encryptor {
  /** @param context what the ciphertext belongs to, such as the kind and identifier of its record */
  encrypt(plaintext: Uint8Array, context: string): Uint8Array;
  /** @throws DecryptionError if it was encrypted under another key or for another context, or was changed */
  decrypt(ciphertext: Uint8Array, context: string): Buffer;
  /** The same as base64url. */
  encryptText(plaintext: Uint8Array, context: string): string;
  /** `null` for any text that was not encrypted so. */
  decryptText(text: string, context: string): Buffer | null;
  /** Whether a ciphertext names the key that this encryptor encrypts under. */
  isCurrentKey(ciphertext: Uint8Array): boolean;
}

/** A ciphertext that cannot be decrypted. */
export class DecryptionError extends Error {
  override readonly name: string = 'DecryptionError';
  readonly issue: 'other-key' | 'damaged';

  constructor(issue: 'other-key' | 'damaged') {
    super(
      issue === 'other-key'
        ? 'It was encrypted under another key.'
        : 'The ciphertext is damaged or belongs to another context.',
    );
    this.issue = issue;
  }
}

/**
 * @param masterKey 32 bytes; only keys derived from it are used
 * @param previous keys that still decrypt what was encrypted under them, and encrypt nothing any more
 */
export function createEncryptor(masterKey: Uint8Array, previous: readonly Uint8Array[] = []): Encryptor {
  const own = createKeyBox(masterKey);
  const boxes = [own, ...previous.map(createKeyBox)];
  const decrypt = (ciphertext: Uint8Array, context: string): Buffer => {
    const bytes = Buffer.from(ciphertext);
    if (bytes.length < TEXT_AT + TAG_LENGTH || bytes[0] !== VERSION) throw new DecryptionError('damaged');
    const box = boxes.find(({ isCurrentKey }) => isCurrentKey(bytes));
    if (box === undefined) throw new DecryptionError('other-key');
    return box.decrypt(bytes, context);
  };
  return {
    encrypt: own.encrypt,
    decrypt,
    encryptText: (plaintext, context) => own.encrypt(plaintext, context).toString('base64url'),
    decryptText(text, context) {
      try {
        return decrypt(Buffer.from(text, 'base64url'), context);
      } catch (error) {
        if (error instanceof DecryptionError) return null;
        throw error;
      }
    },
    isCurrentKey: own.isCurrentKey,
  };
}
interface KeyBox extends Pick<Encryptor, 'isCurrentKey'> {
  encrypt(plaintext: Uint8Array, context: string): Buffer;
  decrypt(bytes: Buffer, context: string): Buffer;
}

/** Encrypts and decrypts under one key. */
function createKeyBox(masterKey: Uint8Array): KeyBox {
  // From bytes, `node:crypto` would make a key object at each call.
  const key = createSecretKey(deriveKey(masterKey, 'encryption at rest'));
  const keyId = deriveKey(masterKey, 'encryption at rest, key identifier').subarray(0, NONCE_AT - KEY_ID_AT);
  const header = Buffer.concat([Buffer.of(VERSION), keyId]);
  const bound = (context: string) => Buffer.concat([header, Buffer.from(context)]);
  return {
    isCurrentKey: (ciphertext) => keyId.equals(ciphertext.subarray(KEY_ID_AT, NONCE_AT)),
    encrypt(plaintext, context) {
      const nonce = randomBytes(TEXT_AT - NONCE_AT);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(bound(context));
      return Buffer.concat([header, nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
    },
    decrypt(bytes, context) {
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(NONCE_AT, TEXT_AT))
          .setAAD(bound(context))
          .setAuthTag(bytes.subarray(-TAG_LENGTH));
        return Buffer.concat([decipher.update(bytes.subarray(TEXT_AT, -TAG_LENGTH)), decipher.final()]);
      } catch {
        throw new DecryptionError('damaged');
      }
    },
  };
}

/**
 * Derives a key for one purpose from the master key, with HKDF-SHA-256.
 * @see RFC 5869
 */
export function deriveKey(masterKey: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `portcullis 1 ${purpose}`, 32));
}

/** The encryption context of a private signing key. */
export function signingKeyContext(keyId: string): string {
  return `signing key ${keyId}`;
}

/** The encryption context of a data key. */
export function dataKeyContext(id: string): string {
  return `data key ${id}`;
}

/** The encryption context of the `state` of an authorization transaction. */
export function stateContext(transactionId: string): string {
  return `state ${transactionId}`;
}

/** The encryption context of an account's TOTP secret. */
export function totpSecretContext(accountId: string): string {
  return `totp secret ${accountId}`;
}
