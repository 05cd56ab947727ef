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

/** HMAC-SHA-256 of a text under a secret, in base64url. */
type Authenticate = (text: string) => string | Promise<string>;

/**
 * Creates nonces, each valid for one to two lifetimes in seconds.
 * @param secrets the first issues nonces, and those of all are accepted: while it is replaced
 * @see RFC 9449 §8 and §9
 */
export function createDpopNonces(
  secrets: readonly Authenticate[],
  lifetime: number = NONCE_LIFETIME,
): DpopNonces {
  const all = secrets.map(createNonces);
  const periodOf = (now: number): number => Math.floor(now / lifetime);
  return {
    current: (now) => (all[0] as NonceOf)(periodOf(now)),
    async isValid(nonce, now) {
      const period = periodOf(now);
      for (const nonceOf of all) {
        if (nonce === (await nonceOf(period)) || nonce === (await nonceOf(period - 1))) return true;
      }
      return false;
    },
  };
}

type NonceOf = (period: number) => Promise<string>;

/** The nonces of one secret: those of the current and the previous period are computed once. */
function createNonces(authenticate: Authenticate): NonceOf {
  const make = async (period: number): Promise<string> =>
    (await authenticate(CONTEXT + period)).slice(0, LENGTH);
  const made = new Map<number, Promise<string>>();
  return (period) => {
    const found = made.get(period);
    if (found !== undefined) return found;
    for (const other of made.keys()) if (Math.abs(other - period) > 1) made.delete(other);
    const nonce = make(period);
    made.set(period, nonce);
    return nonce;
  };
}
