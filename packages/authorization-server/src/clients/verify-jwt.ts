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
    for await (const key of error) {
      const verified = await jwtVerify(token, key, options).catch(passOver);
      if (verified !== null) return verified;
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function passOver(error: unknown): null {
  if (error instanceof errors.JWSSignatureVerificationFailed) return null;
  throw error;
}
