/** Verifies the signature and registered claims of JWTs that clients sign, with jose, which is loaded with the first one. */
import { OAuthError } from '@portcullis/protocol';
import { createLocalJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { ResolvedClient } from './client.ts';
import type { ClientKeys } from './client-keys.ts';

/** A JWT with a valid signature, audience and lifetime. */
export interface VerifiedClientJwt {
  readonly payload: JWTPayload;
}

/** What is required of a JWT. */
export interface ClientJwtRules {
  /** The only algorithm that the client registered; any of the allowed ones without it. */
  readonly algorithm?: string | undefined;
  /** Accepted `typ` values in lower case; none at all is accepted too. */
  readonly types: ReadonlySet<string>;
  readonly issuer: string;
  readonly subject?: string;
  readonly audience: string;
  readonly requiredClaims: readonly string[];
}

/** Returns the verified JWT, or the issue. */
export type VerifyClientJwt = (
  client: ResolvedClient,
  jwt: string,
  site: string | null,
  rules: ClientJwtRules,
) => Promise<VerifiedClientJwt | { readonly issue: string }>;

/** Requirements of every JWT. */
export interface ClientJwtPolicy {
  readonly algorithms: readonly string[];
  /** Clock tolerance in seconds. */
  readonly tolerance: number;
}

/** @see RFC 7523 §3, RFC 9101 §6.2 */
export function createVerifyClientJwt(
  { algorithms, tolerance }: ClientJwtPolicy,
  clock: () => number,
  clientKeys: ClientKeys,
): VerifyClientJwt {
  return async (client, jwt, site, rules) => {
    try {
      return { payload: await verify(client, jwt, site, rules) };
    } catch (error) {
      if (error instanceof errors.JOSEError) return { issue: error.message };
      throw error;
    }
  };

  /** An unknown key may be a new one, so the keys are fetched again. */
  async function verify(
    client: ResolvedClient,
    jwt: string,
    site: string | null,
    rules: ClientJwtRules,
  ): Promise<JWTPayload> {
    try {
      return await verifyWith(client, jwt, 'any', site, rules);
    } catch (error) {
      const isUnknownKey =
        error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
      if (!isUnknownKey || client.metadata.jwks_uri === undefined) throw error;
      return verifyWith(client, jwt, 'newest', site, rules);
    }
  }

  async function verifyWith(
    client: ResolvedClient,
    jwt: string,
    wanted: 'any' | 'newest',
    site: string | null,
    { algorithm, types, requiredClaims, ...claims }: ClientJwtRules,
  ): Promise<JWTPayload> {
    // Called after the algorithm was checked, so that no other causes a fetch.
    const keys: JWTVerifyGetKey = async (header, jws) => {
      const set = await clientKeys.find(client.metadata, wanted, site);
      return createLocalJWKSet(structuredClone(set as never))(header, jws);
    };
    const options = {
      ...claims,
      algorithms: algorithms.filter((name) => algorithm === undefined || name === algorithm),
      requiredClaims: [...requiredClaims],
      clockTolerance: tolerance,
      currentDate: new Date(clock() * 1000),
    };
    const { payload, protectedHeader } = await jwtVerify(jwt, keys, options).catch(async (error: unknown) => {
      if (error instanceof OAuthError) throw error;
      // Any other error is caused by the client's key.
      if (!(error instanceof errors.JOSEError)) throw new errors.JWKInvalid('its key cannot be used');
      // Several keys match, and there is no `kid`.
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      for await (const key of error) {
        const verified = await jwtVerify(jwt, key, options).catch(passOver);
        if (verified !== null) return verified;
      }
      throw new errors.JWSSignatureVerificationFailed();
    });
    const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, '');
    if (type !== undefined && !types.has(type)) throw new errors.JWTInvalid('its typ is another');
    return payload;
  }
}

function passOver(error: unknown): null {
  if (error instanceof errors.JWSSignatureVerificationFailed) return null;
  throw error;
}
