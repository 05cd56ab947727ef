/** The JWK Set endpoint: the public keys by which resource servers verify access tokens. */
import { respondJson } from '@portcullis/http';
import type { Route } from './http/router.ts';
import type { KeyRing } from './keys/key-ring.ts';
import { KEYS_MAX_AGE } from './keys/options.ts';
import type { PublicJwk } from './keys/signing-algorithms.ts';

/** The current key set. @see RFC 7517 §5 */
export function toJwks(keys: KeyRing): { keys: PublicJwk[] } {
  return { keys: keys.now().published.map(({ publicJwk }) => publicJwk) };
}

export function createJwksEndpoint(keys: KeyRing): Route {
  return {
    method: 'GET',
    path: '/jwks',
    crossOrigin: true,
    handle: async () => respondJson(toJwks(keys), { maxAge: KEYS_MAX_AGE }),
  };
}
