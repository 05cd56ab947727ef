/** Sealed IDs: a backend's IDs of sessions, events, tasks and requests, encrypted for the one user and client that may use them. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { createLruCache, type LruCache } from '@portcullis/protocol';
import { MAX_OPENED_IDS, MAX_OWNER_KEYS } from '../limits.ts';
import { anonymousOwnerOf, type Owner, ownerKey } from '../servers/request.ts';

/** The kind of a sealed ID; one kind never opens as another. A request state is that of the backend, or of an action of the user (`action`). */
export type SealedKind = 'session' | 'event' | 'task' | 'request' | 'action' | 'question';

/** Clients compare these IDs: they are sealed deterministically. */
const COMPARED: ReadonlySet<SealedKind> = new Set(['task', 'question']);

/** Seals and opens IDs; any process with the same master key opens them, and nothing is stored. */
export type Sealer = ReturnType<typeof createSealer>;

/*
 * A sealed ID: base64url of version (1 byte) | key identifier (4) | nonce (12) | ciphertext | tag (16). Each owner has a separate
 * key for each kind: the ID of another user, client, server, backend or kind does not open, and no key ever encrypts
 * so many IDs that random nonces repeat. The nonce of an ID that clients compare is derived from its text by another key:
 * it repeats only with the text. @see NIST SP 800-38D §8.3, RFC 8452 §1
 */
const VERSION = 1;
const NONCE_AT = 5;
const TEXT_AT = 17;
const NONCE_LENGTH = TEXT_AT - NONCE_AT;
const TAG_LENGTH = 16;

interface SealerKey {
  readonly header: Buffer;
  /** The key of an owner. */
  readonly of: (name: string) => KeyObject;
}

/**
 * @param masterKey 32 bytes
 * @param previous master keys whose sealed IDs still open
 */
export function createSealer(masterKey: Uint8Array, previous: readonly Uint8Array[] = []) {
  const own = createSealerKey(masterKey);
  const keys = [own, ...previous.map(createSealerKey)];
  const opened: OpenedIds = createLruCache({ entries: MAX_OWNER_KEYS });
  return {
    /** @param plaintext what the backend issued; at most a few kilobytes */
    seal(kind: SealedKind, owner: Owner, plaintext: string): string {
      const name = nameOf(kind, owner);
      const nonce = COMPARED.has(kind) ? derivedNonce(own, name, plaintext) : randomBytes(NONCE_LENGTH);
      const cipher = createCipheriv('aes-256-gcm', own.of(name), nonce).setAAD(own.header);
      const parts = [
        own.header,
        nonce,
        cipher.update(plaintext, 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ];
      return Buffer.concat(parts).toString('base64url');
    },
    /** `null`: it was sealed for another owner, is of another kind, or was not sealed here. */
    open(kind: SealedKind, owner: Owner, sealed: string): string | null {
      const key = keyOf(owner);
      const known = opened.get(key)?.get(sealed);
      if (known?.kind === kind && known.backend === owner.backend) return known.text;
      const bytes = decode(sealed);
      const found = bytes && keys.find(({ header }) => header.equals(bytes.subarray(0, NONCE_AT)));
      const text = found ? decrypt(found.of(nameOf(kind, owner)), bytes) : null;
      if (text !== null) remember(opened, key, sealed, { kind, backend: owner.backend, text });
      return text;
    },
  };
}

/** An ID opens as one kind only. */
interface OpenedId {
  readonly kind: SealedKind;
  readonly backend: string;
  readonly text: string;
}

/** Opening takes as long as the rest of a request, and each request repeats the session id. By the keys of owners, which are hashed already. */
type OpenedIds = LruCache<Map<string, OpenedId>>;

function remember(opened: OpenedIds, key: string, sealed: string, id: OpenedId): void {
  let own = opened.get(key);
  if (own === undefined) {
    own = new Map();
    opened.set(key, own);
  }
  if (own.size >= MAX_OPENED_IDS) own.clear();
  own.set(sealed, id);
}

function derivedNonce(key: SealerKey, name: string, plaintext: string): Buffer {
  return createHmac('sha256', key.of(`nonce ${name}`))
    .update(plaintext)
    .digest()
    .subarray(0, NONCE_LENGTH);
}

/** What a sealed ID is bound to. The text of a session names its address, or holds nothing that a backend issued. */
function nameOf(kind: SealedKind, owner: Owner): string {
  return kind === 'session' ? `session ${keyOf(owner)}` : `${kind} ${keyOf(owner)} ${owner.backend}`;
}

function keyOf(owner: Owner): string {
  return ownerKey(owner.isAnonymous === true ? anonymousOwnerOf(owner) : owner);
}

function createSealerKey(masterKey: Uint8Array): SealerKey {
  const derive = (purpose: string, length: number) =>
    Buffer.from(hkdfSync('sha256', masterKey, '', `portcullis 1 gateway handles${purpose}`, length));
  const root = derive('', 32);
  // Ciphers take twice as long with bytes as with a key object.
  const known = createLruCache<KeyObject>({ entries: MAX_OWNER_KEYS });
  return {
    header: Buffer.concat([Buffer.of(VERSION), derive(', key identifier', NONCE_AT - 1)]),
    of(name) {
      const found = known.get(name);
      if (found !== undefined) return found;
      const key = createSecretKey(createHmac('sha256', root).update(name).digest());
      known.set(name, key);
      return key;
    },
  };
}

/** Only the canonical encoding is accepted: a sealed ID has one form. */
function decode(sealed: string): Buffer | null {
  const bytes = Buffer.from(sealed, 'base64url');
  return bytes.length >= TEXT_AT + TAG_LENGTH && bytes.toString('base64url') === sealed ? bytes : null;
}

function decrypt(key: KeyObject, bytes: Buffer): string | null {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(NONCE_AT, TEXT_AT))
      .setAAD(bytes.subarray(0, NONCE_AT))
      .setAuthTag(bytes.subarray(-TAG_LENGTH));
    return decipher.update(bytes.subarray(TEXT_AT, -TAG_LENGTH), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}
