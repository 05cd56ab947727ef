/** Verifies the signature and registered claims of a client assertion with jose, which is loaded with the first assertion. */
import { OAuthError } from '@portcullis/protocol';
import { createLocalJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { ResolvedClient } from './client.ts';
import type { ClientKeys } from './client-keys.ts';

/** An assertion with a valid signature, audience and lifetime. */
export interface VerifiedClientAssertion {
  readonly payload: JWTPayload;
}

/** Returns the verified assertion, or the issue. */
export type VerifyClientAssertion = (
  client: ResolvedClient,
  assertion: string,
  site: string | null,
) => Promise<VerifiedClientAssertion | { readonly issue: string }>;

/** Requirements of every assertion. */
export interface ClientAssertionPolicy {
  readonly algorithms: readonly string[];
  /** The required audience. */
  readonly issuer: string;
  /** Clock tolerance in seconds. */
  readonly tolerance: number;
}

/** Accepted `typ` values: not an access token, not a logout token. @see RFC 7523bis §4 */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'client-authentication+jwt']);

/** @see RFC 7523 §3, draft-ietf-oauth-rfc7523bis §4 */
export function createVerifyClientAssertion(
  { algorithms, issuer, tolerance }: ClientAssertionPolicy,
  clock: () => number,
  clientKeys: ClientKeys,
): VerifyClientAssertion {
  return async (client, assertion, site) => {
    try {
      return { payload: await verify(client, assertion, site) };
    } catch (error) {
      if (error instanceof errors.JOSEError) return { issue: error.message };
      throw error;
    }
  };

  /** An unknown key may be a new one, so the keys are fetched again. */
  async function verify(client: ResolvedClient, assertion: string, site: string | null): Promise<JWTPayload> {
    try {
      return await verifyWith(client, assertion, 'any', site);
    } catch (error) {
      const isUnknownKey =
        error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
      if (!isUnknownKey || client.metadata.jwks_uri === undefined) throw error;
      return verifyWith(client, assertion, 'newest', site);
    }
  }

  async function verifyWith(
    client: ResolvedClient,
    assertion: string,
    wanted: 'any' | 'newest',
    site: string | null,
  ): Promise<JWTPayload> {
    // Called after the algorithm was checked, so that no other causes a fetch.
    const keys: JWTVerifyGetKey = async (header, jws) => {
      const set = await clientKeys.find(client.metadata, wanted, site);
      return createLocalJWKSet(structuredClone(set as never))(header, jws);
    };
    const { token_endpoint_auth_signing_alg: only } = client.metadata;
    const options = {
      algorithms: algorithms.filter((name) => only === undefined || name === only),
      issuer: client.id,
      subject: client.id,
      audience: issuer,
      requiredClaims: ['exp', 'jti'],
      clockTolerance: tolerance,
      currentDate: new Date(clock() * 1000),
    };
    const { payload, protectedHeader } = await jwtVerify(assertion, keys, options).catch(
      async (error: unknown) => {
        if (error instanceof OAuthError) throw error;
        // Any other error is caused by the client's key.
        if (!(error instanceof errors.JOSEError)) throw new errors.JWKInvalid('its key cannot be used');
        // Several keys match, and there is no `kid`.
        if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
        for await (const key of error) {
          const verified = await jwtVerify(assertion, key, options).catch(passOver);
          if (verified !== null) return verified;
        }
        throw new errors.JWSSignatureVerificationFailed();
      },
    );
    const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, '');
    if (type !== undefined && !TYPES.has(type)) throw new errors.JWTInvalid('its typ is another');
    return payload;
  }
}

function passOver(error: unknown): null {
  if (error instanceof errors.JWSSignatureVerificationFailed) return null;
  throw error;
}
