/** Certificate-bound access tokens (RFC 8705): compares the client certificate of the connection with the token. */
import { decodeBase64url, tokenRejected } from '@portcullis/protocol';
import type { CertificateOptions } from '../options.ts';
import type { RequestInfo } from '../request-info.ts';
import { digest } from '../verifiers/node-crypto.ts';

/** The part of a TLS socket of Node that is used. */
interface TlsSocket {
  getPeerX509Certificate(): { readonly fingerprint256: string } | undefined;
}

/** Longer headers are ignored. */
const MAX_HEADER_LENGTH = 16_384;

/**
 * The token contains the SHA-256 thumbprint of the certificate, which the protected resource MUST compare.
 * @throws OAuthError `invalid_token`
 * @see RFC 8705 §3
 */
export async function checkClientCertificate(
  thumbprint: string,
  { from }: CertificateOptions,
  request: Pick<RequestInfo, 'socket' | 'clientCertificate'>,
): Promise<void> {
  const shown =
    from === 'tls' ? tlsThumbprint(request.socket) : await headerThumbprint(request.clientCertificate);
  if (shown === thumbprint) return;
  throw tokenRejected(
    shown === null ? 'the client presented no certificate' : 'the token is bound to another certificate',
    'Send the access token over a connection with the certificate it is bound to.',
  );
}

function tlsThumbprint(socket: unknown): string | null {
  const { getPeerX509Certificate } = (socket ?? {}) as Partial<TlsSocket>;
  const certificate = getPeerX509Certificate?.call(socket);
  if (certificate === undefined) return null;
  return Buffer.from(certificate.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url');
}

/**
 * Reads DER in base64 between colons (RFC 9440), or percent-encoded PEM, which some proxies send.
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
