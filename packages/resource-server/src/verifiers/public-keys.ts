/** Reads the public keys of a JWKS, each for the one algorithm that it may verify. */
import { createBatch, isKeyOfAlgorithm, type JwsAlgorithm } from '@portcullis/protocol';
import type { JWK } from 'jose';
import { createEs256Verifier } from './es256.ts';
import { nodeCrypto } from './node-crypto.ts';

/** A JSON Web Key Set as published. @see RFC 7517 §5 */
export interface KeySet {
  readonly keys: readonly unknown[];
}

/** A public key and the one algorithm that it is used for. */
export interface PublicKey {
  /** The `kid` that the issuer published it with, if any. */
  readonly id: string | undefined;
  /** Verifies the signature of a token. */
  verify(token: string, signingInput: string, signature: string): Promise<boolean>;
}

/** Public keys by algorithm and key id. */
export interface PublicKeys {
  /** Finds the key with that id, or, without an id, the only key for the algorithm. `undefined` if there is none. */
  find(algorithm: string, keyId: string | undefined): PublicKey | undefined;
  /** Whether the set contains a key with that id, for whatever algorithm. */
  hasId(keyId: string | undefined): boolean;
}

/** On the real `setImmediate`, even if a test fakes the timers later. Runtimes that lack it verify asynchronously anyway. */
const runBatched = createBatch(globalThis.setImmediate);

/** The maximum number of keys that are read. */
const MAX_KEYS = 100;

/**
 * Reads a key set for the allowed algorithms. Drops keys that cannot verify them: of another type or use, too small,
 * or with private members.
 * @returns `null` if no key is left
 */
export function readKeySet(set: unknown, algorithms: readonly JwsAlgorithm[]): PublicKeys | null {
  const keys = (set as KeySet | null)?.keys;
  if (!Array.isArray(keys)) return null;
  const byId = new Map<string, PublicKey>();
  const ids = new Set<unknown>();
  const only = new Map<string, PublicKey | null>();
  for (const jwk of keys.slice(0, MAX_KEYS)) {
    ids.add((jwk as JWK | null)?.kid);
    for (const algorithm of algorithms) {
      const key = readPublicKey(jwk, algorithm);
      if (key === null) continue;
      const id = keyIdOf(jwk, algorithm);
      if (id !== null && !byId.has(id)) byId.set(id, key);
      only.set(algorithm, only.has(algorithm) ? null : key);
    }
  }
  if (only.size === 0) return null;
  const find: PublicKeys['find'] = (algorithm, keyId) =>
    keyId === undefined ? (only.get(algorithm) ?? undefined) : byId.get(`${algorithm} ${keyId}`);
  return { find, hasId: (keyId) => keyId !== undefined && ids.has(keyId) };
}

function keyIdOf(jwk: unknown, algorithm: JwsAlgorithm): string | null {
  const { kid } = jwk as JWK;
  return typeof kid === 'string' ? `${algorithm} ${kid}` : null;
}

/** Reads a key for one algorithm; `null` if it does not fit. */
export function readPublicKey(jwk: unknown, algorithm: JwsAlgorithm): PublicKey | null {
  return isKeyOfAlgorithm(jwk, algorithm) ? createPublicKey(jwk as JWK, algorithm) : null;
}

/** Creates a public key; `null` if its members do not form one. */
function createPublicKey(jwk: JWK, algorithm: JwsAlgorithm): PublicKey | null {
  const publicJwk = publicMembersOf(jwk);
  const id = typeof jwk.kid === 'string' ? jwk.kid : undefined;
  if (!isKey(publicJwk)) return null;
  if (algorithm === 'ES256') {
    const verify = createEs256Verifier({ x: String(jwk.x), y: String(jwk.y) });
    if (verify !== null)
      return {
        id,
        verify: (_token, signingInput, signature) => runBatched(() => verify(signingInput, signature)),
      };
  }
  const loaded = loadVerify(publicJwk, algorithm);
  return { id, verify: async (token) => (await loaded)(token) };
}

/** Whether the members form a key. Without `node:crypto` that shows at first use. */
function isKey(jwk: JWK): boolean {
  try {
    nodeCrypto?.createPublicKey({ key: { ...jwk }, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}

/** Only public members are passed on. */
function publicMembersOf({ kty, crv, x, y, n, e }: JWK): JWK {
  const members = Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as JWK;
}

/** Verifies tokens with a key of any type; with an unusable key, none. The library is loaded only for such a key. */
async function loadVerify(jwk: JWK, algorithm: JwsAlgorithm): Promise<(token: string) => Promise<boolean>> {
  const { compactVerify, importJWK } = await import('jose');
  const key = await importJWK(jwk, algorithm).catch(() => null);
  if (key === null || key instanceof Uint8Array) return async () => false;
  return (token) =>
    compactVerify(token, key, { algorithms: [algorithm] }).then(
      () => true,
      () => false,
    );
}
