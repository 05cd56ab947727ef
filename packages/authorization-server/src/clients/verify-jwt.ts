/** Verifies a JWT by a key set that may be fetched: an unknown key may be a new one, so the keys are then fetched again. */
import { type ClientKeySet, isSameAlgorithm, OAuthError } from '@portcullis/protocol';
import {
  createLocalJWKSet,
  errors,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose';

/** The keys of the issuer. `newest`: the cached ones did not verify. */
export type FindKeys = (wanted: 'any' | 'newest') => Promise<ClientKeySet>;

/** Keys that are tried for a JWT without a `kid`: each costs a verification, and anyone can send one under a client's name. */
const MAX_TRIED_KEYS = 4;

/**
 * @param isFetched whether `newest` may find more keys
 * @throws JOSEError for every issue of the token, OAuthError of `findKeys`
 */
export async function verifyJwt(
  token: string,
  findKeys: FindKeys,
  isFetched: boolean,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  try {
    return await verifyWith(token, findKeys, 'any', options);
  } catch (error) {
    const isUnknownKey =
      error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
    if (!isUnknownKey || !isFetched) throw error;
    return verifyWith(token, findKeys, 'newest', options);
  }
}

/** The `typ` of a token in lower case, without its prefix; of the wrong type it is none that is known. @see RFC 7515 §4.1.9 */
export function typeOf({ typ }: { readonly typ?: unknown }): string | undefined {
  if (typ === undefined) return undefined;
  return typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : '';
}

async function verifyWith(
  token: string,
  findKeys: FindKeys,
  wanted: 'any' | 'newest',
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  // Called after the algorithm was checked, so that no other causes a fetch.
  const keys: JWTVerifyGetKey = async (header, jws) => {
    const { keys: found } = await findKeys(wanted);
    // Under the name of the algorithm that the header has.
    const named = found.map((key) =>
      isSameAlgorithm(key['alg'], header.alg) ? { ...key, alg: header.alg } : key,
    );
    return createLocalJWKSet(structuredClone({ keys: named } as never))(header, jws);
  };
  try {
    return await jwtVerify(token, keys, options);
  } catch (error) {
    if (error instanceof OAuthError) throw error;
    // Any other error is caused by the issuer's key.
    if (!(error instanceof errors.JOSEError)) throw new errors.JWKInvalid('its key cannot be used');
    // Several keys match, and there is no `kid`.
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let tried = 0;
    for await (const key of error) {
      if (tried === MAX_TRIED_KEYS) throw new errors.JWSSignatureVerificationFailed(TOO_MANY_KEYS);
      tried += 1;
      const verified = await jwtVerify(token, key, options).catch(passOver);
      if (verified !== null) return verified;
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

const TOO_MANY_KEYS = `without kid, no more than ${MAX_TRIED_KEYS} matching keys are tried`;

function passOver(error: unknown): null {
  if (error instanceof errors.JWSSignatureVerificationFailed) return null;
  throw error;
}
