/** The only error class for OAuth errors: what is sent to the client, its status, and what only the operator sees. */

import type { AuthenticationRequirement } from './authentication.ts';

/** Error codes and their default statuses. */
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
  // Device authorization: RFC 8628 §3.5
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  // Request objects and pushed requests: RFC 9101 §7
  invalid_request_object: 400,
  invalid_request_uri: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  // Bearer tokens: RFC 6750 §3.1
  invalid_token: 401,
  insufficient_scope: 403,
  // Step-up authentication: RFC 9470 §3
  insufficient_user_authentication: 401,
  // Proof of possession: RFC 9449 §12.2; a protected resource responds 401
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
  // OpenID Connect Core Unmet Authentication Requirements
  unmet_authentication_requirements: 400,
} as const;

/** A registered OAuth error code. */
export type OAuthErrorCode = keyof typeof STATUS_OF;

/** Details of an error besides its code and public description. */
export interface OAuthErrorOptions {
  /** HTTP status, if it differs from the code's default. */
  readonly status?: number;
  /** The private reason, for the audit log only. */
  readonly reason?: string;
  /** The path of the configured rule that refused the request, for the audit log only. */
  readonly rule?: string;
  /** Seconds after which the request may be retried. */
  readonly retryAfter?: number;
  /** Scopes that the rejected operation requires, for a challenge. */
  readonly scopes?: readonly string[];
  /** The nonce that the next DPoP proof must carry. @see RFC 9449 §8 */
  readonly dpopNonce?: string;
  /** The authentication that the rejected operation requires, for a challenge. */
  readonly authentication?: AuthenticationRequirement;
  readonly cause?: unknown;
}

/**
 * Thrown to end a request. It has three audiences: `code` for programs, `description` (one safe sentence that says
 * what to do) for developers, `reason` for the operator's audit log only.
 * @see RFC 6749 §5.2, OAuth 2.1 draft 13 §3.2.4
 */
export class OAuthError extends Error {
  override readonly name: string = 'OAuthError';
  readonly code: OAuthErrorCode;
  readonly description: string;
  readonly status: number;
  readonly reason: string | undefined;
  readonly rule: string | undefined;
  readonly retryAfter: number | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly dpopNonce: string | undefined;
  readonly authentication: AuthenticationRequirement | undefined;

  constructor(code: OAuthErrorCode, description: string, options: OAuthErrorOptions = {}) {
    super(`${code}: ${description}`, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.description = sanitizeErrorText(description);
    this.status = options.status ?? STATUS_OF[code];
    this.reason = options.reason;
    this.rule = options.rule;
    this.retryAfter = options.retryAfter;
    this.scopes = options.scopes;
    this.dpopNonce = options.dpopNonce;
    this.authentication = options.authentication;
  }
}

/** The error of metadata that names a member, which the description begins with. */
export function invalidMetadata(description: string): OAuthError {
  return new OAuthError('invalid_client_metadata', description);
}

/** The JSON body of an OAuth error. @see RFC 6749 §5.2 */
export interface ErrorDocument {
  readonly error: OAuthErrorCode;
  readonly error_description?: string;
}

/** Builds the JSON body of an error. */
export function errorDocument(error: OAuthError): ErrorDocument {
  return error.description === ''
    ? { error: error.code }
    : { error: error.code, error_description: error.description };
}

/**
 * Makes text safe for `error_description`: a double quote becomes `'`, every other character that is not allowed
 * becomes `?`. MUST NOT include characters outside %x20-21 / %x23-5B / %x5D-7E.
 * @see RFC 6749 §5.2
 */
export function sanitizeErrorText(text: string): string {
  return text
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replace(/[^\x20-\x7e]/gu, '?');
}

/** An access token that is not accepted. @param reason what is wrong with it, for the operator only */
export function tokenRejected(
  reason: string,
  description = 'The access token is not valid here.',
): OAuthError {
  return new OAuthError('invalid_token', description, { reason });
}

/** A dependency of the request is unavailable: 503, to be retried after `retryAfter` seconds. */
export function temporarilyUnavailable(reason: string, retryAfter = 5, cause?: unknown): OAuthError {
  return new OAuthError(
    'temporarily_unavailable',
    'The service is temporarily unavailable. Try again shortly.',
    {
      reason,
      retryAfter,
      cause,
    },
  );
}

/** Rate limit exceeded: 429, to be retried after `retryAfter` seconds. @see RFC 6585 §4 */
export function tooManyRequests(reason: string, retryAfter: number): OAuthError {
  return new OAuthError('temporarily_unavailable', 'Too many requests. Try again later.', {
    status: 429,
    reason,
    retryAfter,
  });
}
