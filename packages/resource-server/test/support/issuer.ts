/** An issuer for tests: keys made once, access tokens signed by jose, right unless told otherwise. */
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { type JwtVerifierOptions, jwtVerifier, type TokenVerifier } from '../../src/index.ts';

export const ISSUER = 'https://as.example';
export const RESOURCE = 'https://api.example/mcp';
export const NOW = 1_900_000_000;

export interface TestIssuer {
  readonly issuer: string;
  readonly keyId: string;
  readonly publicJwk: JWK;
  readonly privateKey: CryptoKey;
  /** A good token, unless claims or header say otherwise; `undefined` takes a member away. */
  token(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  verifier(options?: Partial<JwtVerifierOptions>): TokenVerifier;
}

let serial = 0;

export async function createIssuer(
  issuer: string = ISSUER,
  algorithm = 'ES256',
  keyId = 'key-1',
): Promise<TestIssuer> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const publicJwk: JWK = { ...(await exportJWK(publicKey)), kid: keyId, alg: algorithm, use: 'sig' };
  return {
    issuer,
    keyId,
    publicJwk,
    privateKey,
    token: (claims = {}, header = {}) =>
      new SignJWT(goodClaims(issuer, claims))
        .setProtectedHeader({ alg: algorithm, typ: 'at+jwt', kid: keyId, ...header })
        .sign(privateKey),
    verifier: (options = {}) => jwtVerifier({ issuer, jwks: { keys: [publicJwk] }, ...options }),
  };
}

/** Claims of RFC 9068 for the resource and the time of the tests. */
export function goodClaims(issuer: string, claims: Record<string, unknown> = {}): Record<string, unknown> {
  serial += 1;
  const all = {
    iss: issuer,
    sub: 'alice',
    aud: RESOURCE,
    client_id: 'notes-app',
    scope: 'notes:read',
    iat: NOW - 10,
    exp: NOW + 600,
    jti: `token-${serial}`,
    grant_id: 'grant-1',
    ...claims,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
