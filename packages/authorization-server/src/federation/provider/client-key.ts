/** The private key with which this server authenticates to an identity provider (`private_key_jwt`): options, validation, signing. */
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { OptionReport } from '../../option-schema/reader.ts';
import { newSecret } from '../../secrets.ts';
import type { ClientKeyAlgorithm, ClientKeyOptions } from './options.ts';

/** A validated client key. */
export interface ProviderClientKey {
  readonly key: KeyObject;
  readonly header: Readonly<Record<string, string>> & { readonly alg: ClientKeyAlgorithm };
  /** `null`: the issuer. */
  readonly audience: string | null;
  /** `null`: the client. */
  readonly signer: string | null;
}

/** Seconds for which an assertion is valid: enough for clock skew. */
const LIFETIME = 300;
/** Seconds by which our clock may be ahead of the provider's. */
const SKEW = 10;

/** Algorithms that a key can sign with; the first is the default. */
function algorithmsOf(key: KeyObject): readonly ClientKeyAlgorithm[] {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'ed25519') return ['EdDSA'];
  if (key.asymmetricKeyType === 'rsa') return modulusLength >= 2048 ? ['RS256', 'PS256'] : [];
  if (key.asymmetricKeyType !== 'ec') return [];
  return namedCurve === 'prime256v1' ? ['ES256'] : namedCurve === 'secp384r1' ? ['ES384'] : [];
}

/** Reads the key and reports its issues, none of which quotes it. */
export function validateClientKey(
  { audience, signer, certificate, ...options }: ClientKeyOptions,
  path: readonly string[],
  report: OptionReport,
): ProviderClientKey | null {
  const read = readKey(options.key);
  const algorithms = read === null ? [] : algorithmsOf(read.key);
  const [usual] = algorithms;
  if (read === null || usual === undefined) {
    report.add([...path, 'key'], `must be ${KEY_KIND}`);
    return null;
  }
  const { algorithm = usual, id = read.id } = options;
  if (!algorithms.includes(algorithm)) {
    report.add([...path, 'algorithm'], `must fit the key, which cannot sign with ${algorithm}`);
  }
  const thumbprint = readThumbprint(certificate, read.key, (message) =>
    report.add([...path, 'certificate'], message),
  );
  return {
    key: read.key,
    header: {
      alg: algorithm,
      ...(id !== undefined && { kid: id }),
      ...(thumbprint !== null && { 'x5t#S256': thumbprint }),
    },
    audience: audience ?? null,
    signer: signer ?? null,
  };
}

const KEY_KIND =
  'a private key as PKCS #8 in PEM or as a JWK: EC P-256 or P-384, RSA of at least 2048 bits, or Ed25519';

function readKey(text: string): { readonly key: KeyObject; readonly id: string | undefined } | null {
  try {
    if (!text.trimStart().startsWith('{')) return { key: createPrivateKey(text), id: undefined };
    const jwk = JSON.parse(text);
    const id: unknown = jwk['kid'];
    const key = createPrivateKey({ key: jwk, format: 'jwk' });
    return { key, id: typeof id === 'string' && id !== '' ? id : undefined };
  } catch {
    // The parser's message may quote the key.
    return null;
  }
}

function readThumbprint(
  certificate: string | undefined,
  key: KeyObject,
  fail: (message: string) => void,
): string | null {
  if (certificate === undefined) return null;
  try {
    const read = new X509Certificate(certificate);
    if (read.checkPrivateKey(key)) return createHash('sha256').update(read.raw).digest('base64url');
    fail('must match the key');
  } catch {
    fail('must be a certificate in PEM');
  }
  return null;
}

/**
 * Signs a client assertion for one request.
 * @param audience the issuer of the provider, unless configured otherwise. Never a URL from metadata: a malicious provider that
 * names an endpoint of another provider would get an assertion that is valid there.
 * @param now epoch seconds
 * @see RFC 7523 §3
 */
export async function signAssertion(
  { key, header, ...own }: ProviderClientKey,
  clientId: string,
  audience: string,
  now: number,
): Promise<string> {
  // Loaded only if there is a client key.
  const { SignJWT } = await import('jose');
  return new SignJWT({ jti: newSecret() })
    .setProtectedHeader({ ...header, typ: 'JWT' })
    .setIssuer(own.signer ?? clientId)
    .setSubject(clientId)
    .setAudience(own.audience ?? audience)
    .setIssuedAt(now - SKEW)
    .setNotBefore(now - SKEW)
    .setExpirationTime(now + LIFETIME)
    .sign(key);
}
