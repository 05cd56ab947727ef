/** The one error of Portcullis: what goes on the wire, with what status, and what only the operator may read. */

/** Error codes and the status each has unless its thrower says otherwise. */
const STATUS_OF = {
  // The OAuth 2.1 framework
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  access_denied: 403,
  unsupported_response_type: 400,
  server_error: 500,
  temporarily_unavailable: 503,
  // Resource indicators: RFC 8707 §2
  invalid_target: 400,
  // Bearer tokens: RFC 6750 §3.1
  invalid_token: 401,
  insufficient_scope: 403,
  // Proof of possession: RFC 9449 §12.2; a protected resource answers 401
  invalid_dpop_proof: 400,
  use_dpop_nonce: 400,
  // Dynamic registration: RFC 7591 §3.2.2
  invalid_redirect_uri: 400,
  invalid_client_metadata: 400,
  invalid_software_statement: 400,
  unapproved_software_statement: 400,
  // Revocation: RFC 7009 §2.2.1
  unsupported_token_type: 400,
  // OpenID Connect Core §3.1.2.6, asked for by `prompt=none`
  login_required: 400,
  consent_required: 400,
  interaction_required: 400,
} as const;

/** A registered OAuth error code. */
export type OAuthErrorCode = keyof typeof STATUS_OF;

/** What can be said about an error besides its code and its public sentence. */
export interface OAuthErrorOptions {
  /** HTTP status, where it differs from the code's own. */
  readonly status?: number;
  /** The private reason, for the event log only. */
  readonly reason?: string;
  /** Seconds after which the request may be tried again. */
  readonly retryAfter?: number;
  /** Scopes that the refused operation needs, for a challenge. */
  readonly scopes?: readonly string[];
  readonly cause?: unknown;
}

/**
 * Ends a request. It has three audiences: `code` for programs, `description` (one safe sentence that says what to do)
 * for developers, `reason` for the operator's event log only.
 * @see OAuth 2.1 draft 13 §3.2.4
 */
export class OAuthError extends Error {
  override readonly name: string = 'OAuthError';
  readonly code: OAuthErrorCode;
  readonly description: string;
  readonly status: number;
  readonly reason: string | undefined;
  readonly retryAfter: number | undefined;
  readonly scopes: readonly string[] | undefined;

  constructor(code: OAuthErrorCode, description: string, options: OAuthErrorOptions = {}) {
    super(`${code}: ${description}`, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.description = sanitizeErrorText(description);
    this.status = options.status ?? STATUS_OF[code];
    this.reason = options.reason;
    this.retryAfter = options.retryAfter;
    this.scopes = options.scopes;
  }
}

/** The JSON body of an OAuth error. */
export interface ErrorDocument {
  readonly error: OAuthErrorCode;
  readonly error_description?: string;
}

/** The document that an error is answered with. */
export function errorDocument(error: OAuthError): ErrorDocument {
  return error.description === ''
    ? { error: error.code }
    : { error: error.code, error_description: error.description };
}

/**
 * Text fit for `error_description`: every character that may not stand there becomes `?`, a double quote `'`.
 * MUST NOT include characters outside %x20-21 / %x23-5B / %x5D-7E.
 * @see OAuth 2.1 draft 13 §3.2.4
 */
export function sanitizeErrorText(text: string): string {
  return text
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replace(/[^\x20-\x7e]/gu, '?');
}

/** The dependency that a request needs cannot be had now: 503, to be tried again after `retryAfter` seconds. */
export function temporarilyUnavailable(reason: string, retryAfter = 5, cause?: unknown): OAuthError {
  return new OAuthError('temporarily_unavailable', 'The service cannot answer now. Try again shortly.', {
    reason,
    retryAfter,
    cause,
  });
}

/** Too many of these requests came: 429, to be tried again after `retryAfter` seconds. @see RFC 6585 §4 */
export function tooManyRequests(reason: string, retryAfter: number): OAuthError {
  return new OAuthError('temporarily_unavailable', 'Too many requests. Try again later.', {
    status: 429,
    reason,
    retryAfter,
  });
}
