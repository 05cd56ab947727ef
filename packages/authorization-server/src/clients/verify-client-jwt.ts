/** Verifies the signature and registered claims of JWTs that clients sign, with jose, which is loaded with the first one. */
import { isSameAlgorithm } from '@portcullis/protocol';
import { errors, type JWTPayload } from 'jose';
import type { ResolvedClient } from './client.ts';
import type { ClientKeys } from './client-keys.ts';
import { CLIENT_CLOCK_TOLERANCE, clientAssertionAlgorithms } from './read-client-credentials.ts';
import { typeOf, verifyJwt } from './verify-jwt.ts';

/** A JWT with a valid signature, audience and lifetime. */
export interface VerifiedClientJwt {
  readonly payload: JWTPayload;
}

/** What is required of a JWT. */
interface ClientJwtRules {
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

/** @see RFC 7523 §3, RFC 9101 §6.2 */
export function createVerifyClientJwt(clock: () => number, clientKeys: ClientKeys): VerifyClientJwt {
  return async (client, jwt, site, rules) => {
    try {
      return { payload: await verify(client, jwt, site, rules) };
    } catch (error) {
      if (error instanceof errors.JOSEError) return { issue: error.message };
      throw error;
    }
  };

  async function verify(
    client: ResolvedClient,
    jwt: string,
    site: string | null,
    { algorithm, types, requiredClaims, ...claims }: ClientJwtRules,
  ): Promise<JWTPayload> {
    const { metadata } = client;
    const { payload, protectedHeader } = await verifyJwt(
      jwt,
      (wanted) => clientKeys.find(metadata, wanted, site),
      metadata.jwks_uri !== undefined,
      {
        ...claims,
        algorithms: clientAssertionAlgorithms.filter(
          (name) => algorithm === undefined || isSameAlgorithm(name, algorithm),
        ),
        requiredClaims: [...requiredClaims],
        clockTolerance: CLIENT_CLOCK_TOLERANCE,
        currentDate: new Date(clock() * 1000),
      },
    );
    const type = typeOf(protectedHeader);
    if (type !== undefined && !types.has(type)) throw new errors.JWTInvalid('its typ is another');
    return payload;
  }
}
