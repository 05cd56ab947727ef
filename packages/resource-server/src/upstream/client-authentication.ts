/** Authenticates a protected server at its authorization server, by client secret or private key. */
import { basicCredentials } from '@portcullis/protocol';
import type { CryptoKey, JWK } from 'jose';

/** A client secret or a private key. */
export type ExchangeCredentials =
  | { readonly clientSecret: string; readonly clientKey?: never }
  /** A private key as JWK, with `alg`; its public part is registered for the client. */
  | { readonly clientKey: JWK; readonly clientSecret?: never };

/** What is added to a token request. */
interface ClientAuthentication {
  readonly parameters: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Seconds. */
const ASSERTION_LIFETIME = 60;

/**
 * Creates the client authentication. @param client its identifier, and the issuer: the only audience of an assertion.
 * @see RFC 6749 §2.3.1, RFC 7523 §2.2
 */
export function createClientAuthentication(
  client: { readonly clientId: string; readonly issuer: string } & ExchangeCredentials,
  clock: () => number,
): () => Promise<ClientAuthentication> {
  const { clientId, clientSecret, clientKey, issuer } = client;
  if (clientKey === undefined) {
    const authorization = basicCredentials(clientId, clientSecret);
    return async () => ({ parameters: {}, headers: { authorization } });
  }
  const key = importKey(clientKey);
  // Callers see the rejection.
  key.catch(() => {});
  return async () => ({
    parameters: {
      client_id: clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await signAssertion(await key, { clientId, issuer, jwk: clientKey, now: clock() }),
    },
    headers: {},
  });
}

/** The library is loaded only if there is a key. */
async function importKey(jwk: JWK): Promise<CryptoKey> {
  const { importJWK } = await import('jose');
  return (await importJWK(jwk)) as CryptoKey;
}

/** Signs an assertion for one server and one use. @see RFC 7523 §3 */
async function signAssertion(
  key: CryptoKey,
  about: { readonly clientId: string; readonly issuer: string; readonly jwk: JWK; readonly now: number },
): Promise<string> {
  const { clientId, issuer, jwk, now } = about;
  const { SignJWT } = await import('jose');
  return new SignJWT()
    .setProtectedHeader({ alg: jwk.alg ?? 'ES256', ...(jwk.kid !== undefined && { kid: jwk.kid }) })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(issuer)
    .setIssuedAt(now)
    .setExpirationTime(now + ASSERTION_LIFETIME)
    .setJti(crypto.randomUUID())
    .sign(key);
}
