/** Explains errors of connections by their codes. */

/** Error codes of the system and of TLS, with their reason for users. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'connection refused'],
  [
    /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/,
    'it answers plain http: write http:// if that is meant',
  ],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, 'unknown host name'],
  [/TIMEDOUT|TIMEOUT/, 'the connection timed out'],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'the server closed the connection'],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/ALTNAME/, 'its certificate is for another host name'],
  [
    /CERT|ISSUER|SELF_SIGNED|UNABLE_TO_VERIFY/,
    'its certificate was issued by an unknown authority: add that authority with NODE_EXTRA_CA_CERTS',
  ],
];

/** Why there was no connection, for the operator or user who chose the address; `null`: not known. It tells about the network of this process. */
export function explainConnectionError(error: unknown): string | null {
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 5; depth += 1) {
    const code = 'code' in cause ? String(cause.code) : '';
    const known = REASONS.find(([pattern]) => pattern.test(code));
    if (known !== undefined) return known[1];
    // Several addresses were tried, and each failed.
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  }
  return null;
}
