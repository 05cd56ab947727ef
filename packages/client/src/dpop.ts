/** DPoP: keys, proofs of possession for each request, and the newest nonce of each server. */
import { encodeBase64url } from '@portcullis/protocol';
import { type ClientSigningKey, type PrivateEcJwk, readSigningKey, signClientJwt } from './signing-key.ts';

/** Signature algorithm of all DPoP keys. */
export const DPOP_ALGORITHM = 'ES256';

/** The request that a proof belongs to. */
export interface ProvenRequest {
  readonly method: string;
  /** Query and fragment are left out of the proof. */
  readonly url: string;
  /** The access token that it accompanies; `null` at the token endpoint. */
  readonly accessToken: string | null;
}

/** Generates a DPoP key (P-256) as a private JWK, to be stored with its token. @see RFC 9449 §4.2, RFC 7517 §4 */
export async function createDpopKey(): Promise<PrivateEcJwk> {
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
    'verify',
  ]);
  const { x = '', y = '', d = '' } = await crypto.subtle.exportKey('jwk', pair.privateKey);
  return { kty: 'EC', crv: 'P-256', x, y, d };
}

const importedKeys = new WeakMap<PrivateEcJwk, Promise<ClientSigningKey>>();

function importKey(key: PrivateEcJwk): Promise<ClientSigningKey> {
  const known = importedKeys.get(key);
  if (known !== undefined) return known;
  const importing = readSigningKey({ ...key }, DPOP_ALGORITHM);
  importedKeys.set(key, importing);
  return importing;
}

async function hashToken(token: string): Promise<string> {
  return encodeBase64url(
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))),
  );
}

export type ClientProofs = ReturnType<typeof createClientProofs>;

/** Milliseconds by which clocks may differ, far less than servers tolerate. */
const TOLERATED_SKEW = 30_000;

/**
 * Creates proofs with the newest nonce of each origin, and in its time. Each response replaces the previous nonce.
 * @param clock epoch milliseconds
 * @see RFC 9449 §8.2
 */
export function createClientProofs(clock: () => number) {
  const nonces = new Map<string, string>();
  const skews = new Map<string, number>();

  return {
    /** Creates the value of one `DPoP` header. @see RFC 9449 §4.2 */
    async create(key: PrivateEcJwk, { method, url, accessToken }: ProvenRequest): Promise<string> {
      const { origin, pathname } = new URL(url);
      const { kty, crv, x, y } = key;
      const nonce = nonces.get(origin);
      const claims = {
        jti: crypto.randomUUID(),
        htm: method,
        htu: `${origin}${pathname}`,
        iat: Math.floor((clock() + (skews.get(origin) ?? 0)) / 1000),
        ...(accessToken !== null && { ath: await hashToken(accessToken) }),
        ...(nonce !== undefined && { nonce }),
      };
      return signClientJwt(await importKey(key), { typ: 'dpop+jwt', jwk: { kty, crv, x, y } }, claims);
    },
    /**
     * Learns the nonce and, from the `Date` of a response that rejects a proof, the time of an origin.
     * @param error the OAuth error code of the response, if any
     * @returns whether another proof may be accepted now
     */
    learn(url: string, headers: Headers, error: string | null | undefined): boolean {
      const isNew = storeNonce(url, headers.get('dpop-nonce'));
      if (error === 'invalid_dpop_proof') return adjustTime(url, headers);
      return isNew && error === 'use_dpop_nonce';
    },
  };

  /** Returns whether the nonce is a new one. */
  function storeNonce(url: string, nonce: string | null): boolean {
    if (nonce === null || !/^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/.test(nonce)) return false;
    const { origin } = new URL(url);
    if (nonces.get(origin) === nonce) return false;
    nonces.set(origin, nonce);
    return true;
  }

  /** Returns whether the clock of the origin differs from the one assumed so far. */
  function adjustTime(url: string, headers: Headers): boolean {
    const { origin } = new URL(url);
    const skew = Date.parse(headers.get('date') ?? '') - clock();
    if (Number.isNaN(skew) || Math.abs(skew - (skews.get(origin) ?? 0)) <= TOLERATED_SKEW) return false;
    skews.set(origin, skew);
    return true;
  }
}
