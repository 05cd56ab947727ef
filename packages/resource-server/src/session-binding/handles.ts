/** Binds session, task and state identifiers to a principal, against session hijacking. Optional. */
import { encodeBase64url, temporarilyUnavailable } from '@portcullis/protocol';
import type { Principal } from '../principal.ts';

/**
 * A key that identifies a principal: issuer, client and subject together. The same user with another client is
 * another principal, and the same subject of another issuer is another user.
 */
export function principalKey({ issuer, clientId, subject }: Principal): string {
  return JSON.stringify([issuer, clientId, subject]);
}

/** Values in this process that belong to a principal: transports by session, tasks by identifier. */
export interface HandleTable<Value> {
  /** Stores a value under a new, unguessable handle. */
  create(principal: Principal, value: Value): string;
  /** Stores a value under an existing handle. @returns whether the handle was free */
  bind(principal: Principal, handle: string, value: Value): boolean;
  /** Returns the value; `undefined` for an unknown handle and for one of another principal alike. */
  find(principal: Principal, handle: string): Value | undefined;
  /** Removes a handle; one of another principal is left unchanged. */
  remove(principal: Principal, handle: string): void;
}

/** Limits of a handle table. */
export interface HandleTableOptions<Value> {
  /** Handles of all principals; 10,000 by default. */
  readonly maxHandles?: number;
  /** Handles of one principal, whose oldest is evicted for the next; 100 by default. */
  readonly maxHandlesPerPrincipal?: number;
  /** Called with values that were evicted. */
  readonly onEvicted?: (value: Value) => void;
}

/**
 * Creates a handle table. A handle never authenticates by itself: it is found only for the principal of the request.
 * @see MCP security best practices, session hijacking
 */
export function createHandleTable<Value>(options: HandleTableOptions<Value> = {}): HandleTable<Value> {
  const { maxHandles = 10_000, maxHandlesPerPrincipal = 100, onEvicted = () => {} } = options;
  const owned = new Map<string, Map<string, Value>>();
  const owners = new Map<string, string>();

  function bind(principal: Principal, handle: string, value: Value): boolean {
    if (owners.has(handle)) return false;
    const owner = principalKey(principal);
    const values = owned.get(owner) ?? new Map<string, Value>();
    if (values.size >= maxHandlesPerPrincipal) evictOldest(owner, values);
    else if (owners.size >= maxHandles) throw temporarilyUnavailable('the handle table is full', 60);
    owned.set(owner, values.set(handle, value));
    owners.set(handle, owner);
    return true;
  }

  function evictOldest(owner: string, values: Map<string, Value>): void {
    const [oldest] = values;
    if (oldest === undefined) return;
    forget(owner, oldest[0]);
    onEvicted(oldest[1]);
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

/** Stateless handles that prove their principal, for any process that has the secret. */
export interface SignedHandles {
  /** Signs text, such as the identifier of a task, for a principal. The client can read the text. */
  sign(principal: Principal, text: string): Promise<string>;
  /** Returns the text; `null` for a handle of another principal, or a forged one. */
  verify(principal: Principal, handle: string): Promise<string | null>;
}

/**
 * Creates signed handles.
 * @param secret 32 bytes or more, the same in all processes
 * @throws TypeError if the secret is too short
 */
export function createSignedHandles(secret: Uint8Array): SignedHandles {
  if (secret.length < 32) throw new TypeError('The secret of signed handles must be 32 bytes or more.');
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
