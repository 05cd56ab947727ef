/** The JWK Set endpoint: the public keys for protected resources elsewhere. */
import { respondJson } from '@portcullis/http';
import type { Route } from '../routes.ts';
import type { PublicJwk } from './algorithms.ts';
import { KEYS_MAX_AGE } from './key-options.ts';
import type { KeyRing } from './key-ring.ts';

/** The set of a moment. @see RFC 7517 §5 */
export function describeKeys(keys: KeyRing): { keys: PublicJwk[] } {
  return { keys: keys.now().published.map(({ publicJwk }) => publicJwk) };
}

export function createJwks(keys: KeyRing): Route {
  return {
    method: 'GET',
    path: '/jwks',
    crossOrigin: true,
    handle: async () => respondJson(describeKeys(keys), { maxAge: KEYS_MAX_AGE }),
  };
}
