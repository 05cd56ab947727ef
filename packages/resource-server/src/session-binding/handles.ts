/** Handles, such as session, task or state identifiers, bound to the principal that they were made for. */
import { temporarilyUnavailable } from '@portcullis/protocol/protected-resource';
import type { Principal } from '../principal.ts';
import { encodeBase64url } from '../verifiers/base64url.ts';

/**
 * What tells one principal from another: issuer, client and subject together. The same person by another client is
 * another principal, and the same subject of another issuer is another person.
 */
export function principalKey({ issuer, clientId, subject }: Principal): string {
  return JSON.stringify([issuer, clientId, subject]);
}

/** Things that live in this process, each of one principal: transports by session, tasks by identifier. */
export interface HandleTable<Value> {
  /** Keeps a value, and makes a handle for it that nobody can guess. */
  create(principal: Principal, value: Value): string;
  /** As `open`, under a handle that somebody else has made. Returns whether it was free. */
  bind(principal: Principal, handle: string, value: Value): boolean;
  /** The value; `undefined` for an unknown handle and for one of another principal alike. */
  find(principal: Principal, handle: string): Value | undefined;
  /** Forgets it; nothing happens to one of another principal. */
  remove(principal: Principal, handle: string): void;
}

/** How much a table may hold. */
export interface HandleTableOptions<Value> {
  /** Handles of all principals together; 10,000 when left out. */
  readonly maxHandles?: number;
  /** Handles of one principal, whose oldest is closed for the next; 100 when left out. */
  readonly maxHandlesPerPrincipal?: number;
  /** Told of values that had to make room. */
  readonly onEvicted?: (value: Value) => void;
}

/**
 * Creates a table of handles. A handle alone never authenticates: it is found only for the principal of the request.
 * @see security best practices, session and state handle hijacking
 */
export function createHandleTable<Value>(options: HandleTableOptions<Value> = {}): HandleTable<Value> {
  const {
    maxHandles: most = 10_000,
    maxHandlesPerPrincipal: mostEach = 100,
    onEvicted: onClosed = () => {},
  } = options;
  const owned = new Map<string, Map<string, Value>>();
  const owners = new Map<string, string>();

  function bind(principal: Principal, handle: string, value: Value): boolean {
    if (owners.has(handle)) return false;
    const owner = principalKey(principal);
    const values = owned.get(owner) ?? new Map<string, Value>();
    if (values.size >= mostEach) evictOldest(owner, values);
    else if (owners.size >= most) throw temporarilyUnavailable('there are more handles than can be kept', 60);
    owned.set(owner, values.set(handle, value));
    owners.set(handle, owner);
    return true;
  }

  function evictOldest(owner: string, values: Map<string, Value>): void {
    const [oldest] = values;
    if (oldest === undefined) return;
    forget(owner, oldest[0]);
    onClosed(oldest[1]);
  }

  function forget(owner: string, handle: string): void {
    const values = owned.get(owner);
    if (values?.delete(handle) !== true) return;
    owners.delete(handle);
    if (values.size === 0) owned.delete(owner);
  }

  return {
    bind,
    create(principal, value) {
      const handle = crypto.randomUUID();
      bind(principal, handle, value);
      return handle;
    },
    find: (principal, handle) => owned.get(principalKey(principal))?.get(handle),
    remove: (principal, handle) => forget(principalKey(principal), handle),
  };
}

/** Handles that are nowhere kept: they carry the proof of their principal, for any process that has the secret. */
export interface SignedHandles {
  /** Binds text, such as the identifier of a task or a state, to a principal. The text can be read by the client. */
  sign(principal: Principal, text: string): Promise<string>;
  /** The text; `null` for a handle of another principal, or one that nobody has sealed. */
  verify(principal: Principal, handle: string): Promise<string | null>;
}

/**
 * Creates a seal.
 * @param secret 32 bytes or more, the same in all processes
 */
export function createSignedHandles(secret: Uint8Array): SignedHandles {
  if (secret.length < 32) throw new TypeError('The secret of a seal must be 32 bytes or more.');
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = crypto.subtle.importKey('raw', new Uint8Array(secret), algorithm, false, ['sign', 'verify']);

  const signedBytes = (principal: Principal, text: string): Uint8Array<ArrayBuffer> =>
    new TextEncoder().encode(`portcullis handle ${principalKey(principal)} ${text}`);

  return {
    async sign(principal, text) {
      const tag = new Uint8Array(await crypto.subtle.sign('HMAC', await key, signedBytes(principal, text)));
      return `${encodeBase64url(new TextEncoder().encode(text))}.${encodeBase64url(tag)}`;
    },
    async verify(principal, handle) {
      const [text, tag, ...more] = handle.split('.').map(decode);
      if (!text || !tag || more.length > 0) return null;
      const written = new TextDecoder().decode(text);
      const isGood = await crypto.subtle.verify('HMAC', await key, tag, signedBytes(principal, written));
      return isGood ? written : null;
    },
  };
}

function decode(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
