/**
 * DPoP nonces derived from a secret and the time: nothing is stored, and processes with the same secret accept each
 * other's.
 */

export interface DpopNonces {
  /** Returns the current nonce. */
  current(now: number): Promise<string>;
  /** Whether a nonce was issued here recently. */
  isValid(nonce: unknown, now: number): Promise<boolean>;
}

const CONTEXT = 'portcullis dpop nonce ';

/**
 * Creates nonces, each valid for one to two lifetimes in seconds.
 * @param secret 32 bytes or more
 * @see RFC 9449 §8 and §9
 */
export function createDpopNonces(secret: Uint8Array, lifetime: number): DpopNonces {
  const key = crypto.subtle.importKey(
    'raw',
    new Uint8Array(secret),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign'],
  );

  async function make(period: number): Promise<string> {
    const text = new TextEncoder().encode(CONTEXT + period);
    const tag = new Uint8Array(await crypto.subtle.sign('HMAC', await key, text));
    return btoa(String.fromCharCode(...tag.subarray(0, 24)))
      .replaceAll('+', '-')
      .replaceAll('/', '_');
  }

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
