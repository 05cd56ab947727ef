/** The newest DPoP nonce of each server: whatever it sends last is what it wants next. */

export interface DpopNonceCache {
  /** The nonce for requests to that URL's origin. */
  find(url: string): string | null;
  /** Keeps the nonce of an answer, if it has one; tells whether it is a new one. */
  keep(url: string, headers: Headers): boolean;
}

/** Makes an empty collection. @see RFC 9449 §8.2 */
export function createDpopNonceCache(): DpopNonceCache {
  const known = new Map<string, string>();
  return {
    find: (url) => known.get(new URL(url).origin) ?? null,
    keep(url, headers) {
      const nonce = headers.get('dpop-nonce');
      if (nonce === null || !/^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/.test(nonce)) return false;
      const { origin } = new URL(url);
      if (known.get(origin) === nonce) return false;
      known.set(origin, nonce);
      return true;
    },
  };
}
