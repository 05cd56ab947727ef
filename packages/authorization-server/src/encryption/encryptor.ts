/** Sealing: encrypts what must rest in the store unreadable, under a key that is not in the store. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/*
 * An envelope: version (1 byte) | key identifier (8) | nonce (12) | ciphertext | tag (16).
 * The tag also covers version, key identifier and the place that the envelope belongs to, so that an envelope moved to
 * another row, or one that claims another key, does not open.
 */
const VERSION = 1;
const KEY_ID_AT = 1;
const NONCE_AT = 9;
const TEXT_AT = 21;
const TAG_LENGTH = 16;

/** Opens and closes envelopes under one sealing key. */
export interface Encryptor {
  /** @param place what the envelope belongs to, such as the table and identifier of its row */
  encrypt(plaintext: Uint8Array, place: string): Uint8Array;
  /** @throws SealingError when the envelope was sealed under another key, for another place, or was changed. */
  decrypt(envelope: Uint8Array, place: string): Buffer;
  /** Whether an envelope names the key that this sealer seals under. */
  isCurrentKey(envelope: Uint8Array): boolean;
}

/** An envelope that does not open. */
export class DecryptionError extends Error {
  override readonly name: string = 'SealingError';
  readonly issue: 'other-key' | 'damaged';

  constructor(issue: 'other-key' | 'damaged') {
    super(
      issue === 'other-key'
        ? 'It was sealed under another key.'
        : 'The envelope is damaged or not of this place.',
    );
    this.issue = issue;
  }
}

/**
 * @param masterKey 32 bytes; only keys derived from it are used
 * @param previous keys that still open what was sealed under them; nothing is sealed under them any more
 */
export function createEncryptor(masterKey: Uint8Array, previous: readonly Uint8Array[] = []): Encryptor {
  const own = createBox(masterKey);
  const boxes = [own, ...previous.map(createBox)];
  return {
    encrypt: own.encrypt,
    decrypt(envelope, place) {
      const bytes = Buffer.from(envelope);
      if (bytes.length < TEXT_AT + TAG_LENGTH || bytes[0] !== VERSION) throw new DecryptionError('damaged');
      const box = boxes.find(({ isCurrentKey: isOwn }) => isOwn(bytes));
      if (box === undefined) throw new DecryptionError('other-key');
      return box.open(bytes, place);
    },
    isCurrentKey: own.isCurrentKey,
  };
}

interface Box extends Pick<Encryptor, 'encrypt' | 'isCurrentKey'> {
  open(bytes: Buffer, place: string): Buffer;
}

/** Opens and closes under one key. */
function createBox(masterKey: Uint8Array): Box {
  const key = deriveKey(masterKey, 'seal');
  const keyId = deriveKey(masterKey, 'seal key identifier').subarray(0, NONCE_AT - KEY_ID_AT);
  const header = Buffer.concat([Buffer.of(VERSION), keyId]);
  const bound = (place: string) => Buffer.concat([header, Buffer.from(place)]);
  return {
    isCurrentKey: (envelope) => keyId.equals(envelope.subarray(KEY_ID_AT, NONCE_AT)),
    encrypt(plaintext, place) {
      const nonce = randomBytes(TEXT_AT - NONCE_AT);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(bound(place));
      return Buffer.concat([header, nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
    },
    open(bytes, place) {
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(NONCE_AT, TEXT_AT))
          .setAAD(bound(place))
          .setAuthTag(bytes.subarray(-TAG_LENGTH));
        return Buffer.concat([decipher.update(bytes.subarray(TEXT_AT, -TAG_LENGTH)), decipher.final()]);
      } catch {
        throw new DecryptionError('damaged');
      }
    },
  };
}

/**
 * A key for one purpose: HKDF-SHA-256 of the sealing key.
 * @see RFC 5869
 */
export function deriveKey(masterKey: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `portcullis 1 ${purpose}`, 32));
}
