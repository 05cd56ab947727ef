/** Client assertions: a client proves itself by a JWT that it signed for this server, and that works once. */
import { hash } from 'node:crypto';
import { createLocalJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import type { Configuration } from '../configuration.ts';
import type { ClientKeys } from './client-keys.ts';
import { methodsOf, type ResolvedClient } from './resolved-client.ts';

/** The only type of assertion. @see RFC 7523 §2.2 */
export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Asymmetric ones only. The metadata documents list these. */
export const assertionAlgorithms: readonly string[] = [
  'ES256',
  'ES384',
  'EdDSA',
  'Ed25519',
  'PS256',
  'RS256',
];

/** Seconds that an assertion may still have to live. */
const LONGEST_LIFE = 3600;
/** Seconds by which clocks may differ. */
const TOLERANCE = 30;
const LONGEST = 16_384;

/** What an assertion may call itself: not an access token, not a logout token. @see RFC 7523bis §4 */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'client-authentication+jwt']);

/** Why an assertion that came from a network does not prove its client; `null` when it does. Then it is spent. */
export type CheckAssertion = (
  client: ResolvedClient,
  assertion: string,
  network: string | null,
) => Promise<string | null>;

/** The identifier that an assertion claims, unverified; empty when nothing can be read. */
export function claimedClient(assertion: string): string {
  try {
    const payload: unknown = JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString());
    const { sub } = (payload ?? {}) as { readonly sub?: unknown };
    return assertion.length <= LONGEST && typeof sub === 'string' ? sub : '';
  } catch {
    return '';
  }
}

/** @see RFC 7523 §3, draft-ietf-oauth-rfc7523bis §4 */
export function createCheckAssertion(
  { issuer, store, clock }: Pick<Configuration, 'issuer' | 'store' | 'clock'>,
  clientKeys: ClientKeys,
): CheckAssertion {
  return async (client, assertion, network) => {
    if (!methodsOf(client.metadata).includes('private_key_jwt')) return 'private_key_jwt is not registered';
    if (assertion.length > LONGEST) return 'assertion: too long';
    try {
      const payload = await verify(client, assertion, network);
      const fault = faultOf(payload);
      if (fault !== null) return `assertion: ${fault}`;
      const { jti, exp = 0 } = payload;
      const unique = hash('sha256', JSON.stringify([client.id, jti]), 'base64url');
      // Point of no return: of all who present this assertion, one is the first.
      return (await store.spendAssertion(unique, exp + TOLERANCE)) ? null : 'assertion: used before';
    } catch (error) {
      if (error instanceof errors.JOSEError) return `assertion: ${error.message}`;
      throw error;
    }
  };

  /** A key that is not at hand may be a new one. */
  async function verify(
    client: ResolvedClient,
    assertion: string,
    network: string | null,
  ): Promise<JWTPayload> {
    try {
      return await verifyWith(client, assertion, 'any', network);
    } catch (error) {
      const isUnknownKey =
        error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
      if (!isUnknownKey || client.metadata.jwks_uri === undefined) throw error;
      return verifyWith(client, assertion, 'newest', network);
    }
  }

  async function verifyWith(
    client: ResolvedClient,
    assertion: string,
    wanted: 'any' | 'newest',
    network: string | null,
  ): Promise<JWTPayload> {
    const keys = createLocalJWKSet(
      structuredClone((await clientKeys.find(client.metadata, wanted, network)) as never),
    );
    const { token_endpoint_auth_signing_alg: only } = client.metadata;
    const law = {
      algorithms: assertionAlgorithms.filter((name) => only === undefined || name === only),
      issuer: client.id,
      subject: client.id,
      audience: issuer,
      requiredClaims: ['exp', 'jti'],
      clockTolerance: TOLERANCE,
      currentDate: new Date(clock() * 1000),
    };
    const { payload, protectedHeader } = await jwtVerify(assertion, keys, law).catch(
      async (error: unknown) => {
        // Whatever else comes of a key that the client wrote, it is not our fault.
        if (!(error instanceof errors.JOSEError)) throw new errors.JWKInvalid('its key cannot be used');
        // Several keys fit, and nothing says which one it was.
        if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
        for await (const key of error) {
          const verified = await jwtVerify(assertion, key, law).catch(passOver);
          if (verified !== null) return verified;
        }
        throw new errors.JWSSignatureVerificationFailed();
      },
    );
    const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, '');
    if (type !== undefined && !TYPES.has(type)) throw new errors.JWTInvalid('its typ is another');
    return payload;
  }

  function faultOf({ aud, exp = 0, iat, jti }: JWTPayload): string | null {
    // The audience MUST be the issuer alone: one that is meant for several servers could be replayed among them.
    if (typeof aud !== 'string') return 'its audience is not one string';
    if (exp > clock() + LONGEST_LIFE + TOLERANCE) return `it lives longer than ${LONGEST_LIFE} seconds`;
    if (iat !== undefined && !(iat <= clock() + TOLERANCE)) return 'it was issued in the future';
    return typeof jti === 'string' && jti !== '' ? null : 'it has no jti';
  }
}

function passOver(error: unknown): null {
  if (error instanceof errors.JWSSignatureVerificationFailed) return null;
  throw error;
}
