/** DPoP: keys, proofs of possession for each request, and the newest nonce of each server. */
import { encodeBase64url } from '@portcullis/protocol';
import { type ClientSigningKey, type PrivateEcJwk, readSigningKey, signClientJwt } from './signing-key.ts';

/** Signature algorithm of all DPoP keys. */
export const DPOP_ALGORITHM = 'ES256';

/** Input of one proof. */
export interface DpopProofInput {
  readonly method: string;
  /** Query and fragment are left out of the proof. */
  readonly url: string;
  /** The access token that it accompanies; `null` at the token endpoint. */
  readonly accessToken: string | null;
  /** The server's newest nonce; `null` when it never sent one. */
  readonly nonce: string | null;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Never used before. */
  readonly jti: string;
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

/** Creates the value of one `DPoP` header. @see RFC 9449 §4.2 */
export async function createDpopProof(key: PrivateEcJwk, input: DpopProofInput): Promise<string> {
  const url = new URL(input.url);
  const { kty, crv, x, y } = key;
  const claims = {
    jti: input.jti,
    htm: input.method,
    htu: `${url.origin}${url.pathname}`,
    iat: Math.floor(input.now / 1000),
    ...(input.accessToken !== null && { ath: await hashToken(input.accessToken) }),
    ...(input.nonce !== null && { nonce: input.nonce }),
  };
  return signClientJwt(await importKey(key), { typ: 'dpop+jwt', jwk: { kty, crv, x, y } }, claims);
}

async function hashToken(token: string): Promise<string> {
  return encodeBase64url(
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))),
  );
}

export type DpopNonceCache = ReturnType<typeof createDpopNonceCache>;

/** Milliseconds by which clocks may differ, far less than servers tolerate. */
const TOLERATED_SKEW = 30_000;

/** The newest nonce of each origin: each response replaces the previous one. @see RFC 9449 §8.2 */
export function createDpopNonceCache() {
  const nonces = new Map<string, string>();
  const skews = new Map<string, number>();
  const skewOf = (url: string): number => skews.get(new URL(url).origin) ?? 0;
  return {
    /**
     * The time for a proof: that of the server, if this computer's clock is wrong.
     * @param now epoch milliseconds, by this computer's clock
     */
    timeFor: (url: string, now: number): number => now + skewOf(url),
    /** Compares clocks by the `Date` of a response that rejects a proof. Returns whether another proof may be accepted. */
    adjustTime(url: string, headers: Headers, now: number): boolean {
      const date = Date.parse(headers.get('date') ?? '');
      if (Number.isNaN(date) || Math.abs(date - now - skewOf(url)) <= TOLERATED_SKEW) return false;
      skews.set(new URL(url).origin, date - now);
      return true;
    },
    /** The nonce for requests to the origin of a URL. */
    find: (url: string): string | null => nonces.get(new URL(url).origin) ?? null,
    /** Stores the nonce of a response, if any; returns whether it is a new one. */
    store(url: string, headers: Headers): boolean {
      const nonce = headers.get('dpop-nonce');
      if (nonce === null || !/^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/.test(nonce)) return false;
      const { origin } = new URL(url);
      if (nonces.get(origin) === nonce) return false;
      nonces.set(origin, nonce);
      return true;
    },
  };
}
