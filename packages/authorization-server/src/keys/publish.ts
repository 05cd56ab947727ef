/** The JWK Set endpoint: the public keys for protected resources elsewhere. */
import { respondJson } from '@portcullis/http';
import type { Route } from '../routes.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Seconds for which a verifier may keep the set; a new key signs nothing before they have passed. */
const MAX_AGE = 300;

/** @see RFC 7517 §5 */
export function createJwks(keys: SigningKeys): Route {
  const document = { keys: keys.map(({ publicJwk }) => publicJwk) };
  return {
    method: 'GET',
    path: '/jwks',
    crossOrigin: true,
    handle: async () => respondJson(document, { maxAge: MAX_AGE }),
  };
}
