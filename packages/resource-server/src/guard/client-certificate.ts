/** Tokens that are bound to a certificate of the client: whether the connection was made with it. */
import { OAuthError } from '@portcullis/protocol/protected-resource';
import { decodeBase64url } from '../verifiers/base64url.ts';
import { digest } from '../verifiers/digest.ts';

/** @see RFC 8705 */
export interface CertificateOptions {
  /**
   * Who has asked the client for its certificate: this server, which ends TLS itself (`tls`), or a proxy that hands it on in
   * the `Client-Cert` field (`field`), and takes out of requests what clients wrote there themselves.
   */
  readonly from: 'tls' | 'field';
}

/** A request, as far as its certificate goes. */
export interface CertificateSource {
  /** The socket that it came by, where an adapter knows it. */
  readonly socket?: unknown;
  /** The `Client-Cert` field. */
  readonly clientCertificate?: string | null | undefined;
}

/** What is used of a TLS socket of Node. */
interface TlsSocket {
  getPeerX509Certificate(): { readonly fingerprint256: string } | undefined;
}

/** A longer field is not looked at. */
const MAX_HEADER_LENGTH = 16_384;

/**
 * The authorization server has named the certificate by its SHA-256 thumbprint, and the protected resource MUST compare.
 * @throws OAuthError `invalid_token`
 * @see RFC 8705 §3
 */
export async function checkClientCertificate(
  thumbprint: string,
  { from }: CertificateOptions,
  request: CertificateSource,
): Promise<void> {
  const shown =
    from === 'tls' ? tlsThumbprint(request.socket) : await headerThumbprint(request.clientCertificate);
  if (shown === thumbprint) return;
  throw new OAuthError(
    'invalid_token',
    'Send the access token over a connection with the certificate it is bound to.',
    {
      reason: shown === null ? 'the client has shown no certificate' : 'the certificate is another one',
    },
  );
}

function tlsThumbprint(socket: unknown): string | null {
  const { getPeerX509Certificate } = (socket ?? {}) as Partial<TlsSocket>;
  const certificate = getPeerX509Certificate?.call(socket);
  if (certificate === undefined) return null;
  return Buffer.from(certificate.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url');
}

/**
 * As RFC 9440 writes it, DER in base64 between colons; or PEM in percent-encoding, as some proxies have it at hand.
 * @see RFC 9440 §2.2
 */
function headerThumbprint(field: string | null | undefined): Promise<string> | string | null {
  if (typeof field !== 'string' || field.length > MAX_HEADER_LENGTH) return null;
  const base64 = /^:([A-Za-z0-9+/]+=*):$/.exec(field)?.[1] ?? base64OfPem(field);
  return base64 === null
    ? null
    : digest(decodeBase64url(base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')));
}

function base64OfPem(field: string): string | null {
  try {
    const pem = /^-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----\s*$/;
    return pem.exec(decodeURIComponent(field))?.[1]?.replace(/\s/g, '') ?? null;
  } catch {
    return null;
  }
}
