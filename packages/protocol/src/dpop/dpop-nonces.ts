/**
 * DPoP nonces derived from a secret and the time: nothing is stored, and processes with the same secret accept each
 * other's.
 */

/** Issues nonces, and recognizes its own. @see RFC 9449 §8 */
export interface DpopNonces {
  /** Returns the current nonce. */
  current(now: number): Promise<string>;
  /** Whether a nonce was issued here recently. */
  isValid(nonce: unknown, now: number): Promise<boolean>;
}

const CONTEXT = 'portcullis dpop nonce ';

/** Seconds for which a nonce is valid at least, by default. */
const NONCE_LIFETIME = 150;

/** Base64url characters of a nonce: 24 bytes. */
const LENGTH = 32;

/**
 * Creates nonces, each valid for one to two lifetimes in seconds.
 * @param authenticate HMAC-SHA-256 of a text under the secret, in base64url
 * @see RFC 9449 §8 and §9
 */
export function createDpopNonces(
  authenticate: (text: string) => string | Promise<string>,
  lifetime: number = NONCE_LIFETIME,
): DpopNonces {
  const make = async (period: number): Promise<string> =>
    (await authenticate(CONTEXT + period)).slice(0, LENGTH);

  /** The nonces of the current and the previous period, computed once. */
  const made = new Map<number, Promise<string>>();

  function nonceOf(period: number): Promise<string> {
    const found = made.get(period);
    if (found !== undefined) return found;
    for (const other of made.keys()) if (Math.abs(other - period) > 1) made.delete(other);
    const nonce = make(period);
    made.set(period, nonce);
    return nonce;
  }

  const periodOf = (now: number): number => Math.floor(now / lifetime);

  return {
    current: (now) => nonceOf(periodOf(now)),
    async isValid(nonce, now) {
      const period = periodOf(now);
      return nonce === (await nonceOf(period)) || nonce === (await nonceOf(period - 1));
    },
  };
}

/** Issues the nonces of the first, and accepts those of all: while their secret is replaced. */
export function combineDpopNonces(all: readonly DpopNonces[]): DpopNonces {
  return {
    current: (now) => (all[0] as DpopNonces).current(now),
    async isValid(nonce, now) {
      for (const nonces of all) if (await nonces.isValid(nonce, now)) return true;
      return false;
    },
  };
}
