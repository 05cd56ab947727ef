/** The client's only error class: a code for programs and a message for users, free of control characters from servers. */

/** The reason of a failure. */
export type ClientErrorCode =
  // Options
  | 'configuration_invalid'
  | 'server_url_invalid'
  // Transport
  | 'unreachable'
  | 'temporarily_unavailable'
  | 'address_refused'
  | 'insecure_url'
  | 'redirected'
  | 'response_too_large'
  // Discovery
  | 'metadata_missing'
  | 'metadata_invalid'
  | 'resource_mismatch'
  | 'issuer_mismatch'
  | 'endpoint_refused'
  | 'pkce_unsupported'
  // Registration
  | 'registration_needed'
  | 'registration_refused'
  | 'registration_issuer_mismatch'
  // Authorization
  | 'sign_in_needed'
  | 'authorization_url_refused'
  | 'authorization_denied'
  | 'authorization_failed'
  | 'response_rejected'
  | 'cancelled'
  // Tokens
  | 'token_refused'
  | 'token_response_invalid'
  // Storage
  | 'store_unusable';

/** Failures that may resolve without action; the session remains. */
const TEMPORARY: ReadonlySet<ClientErrorCode> = new Set(['unreachable', 'temporarily_unavailable']);

/** Details of a failure besides code and message. */
export interface ClientErrorOptions {
  /** The OAuth error code of the response, sanitized. */
  readonly oauthError?: string | undefined;
  /** HTTP status of the response. */
  readonly status?: number | undefined;
  /** Seconds from `Retry-After`. */
  readonly retryAfter?: number | undefined;
  /** The underlying error. */
  readonly cause?: unknown;
}

/** Every failure of the client. `message` says what happened and, where possible, how to fix it. */
export class ClientError extends Error {
  /** `ClientError`. */
  override readonly name: string = 'ClientError';
  /** The reason, for programs. */
  readonly code: ClientErrorCode;
  /** The OAuth error code of the response, sanitized. @see RFC 6749 §5.2 */
  readonly oauthError: string | undefined;
  /** HTTP status of the response. */
  readonly status: number | undefined;
  /** Seconds from `Retry-After`. @see RFC 9110 §10.2.3 */
  readonly retryAfter: number | undefined;

  constructor(code: ClientErrorCode, message: string, options: ClientErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.oauthError = options.oauthError;
    this.status = options.status;
    this.retryAfter = options.retryAfter;
  }

  /** Whether a retry may succeed later without any action. */
  get temporary(): boolean {
    return TEMPORARY.has(this.code);
  }
}

/**
 * Advice for an authorization server that rejects the resource indicator; empty for other errors. Entra ID reports it as
 * `AADSTS9010010`.
 * @see RFC 8707 §2
 */
export function resourceAdvice(oauthError: string | undefined, description: string | undefined): string {
  if (oauthError !== 'invalid_target' && !(description ?? '').includes('AADSTS9010010')) return '';
  return (
    ' If it does not know this server, its operator has to add the server as a resource.' +
    ' If it expects another resource indicator, or none, configure that for this issuer: resourceIndicators, --resource-for.'
  );
}

/**
 * Makes text from a server safe to display: without control characters, bidirectional overrides and line breaks, and at
 * most 300 characters long.
 */
export function sanitizeText(text: string): string {
  const cleaned = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return cleaned.length > 300 ? `${cleaned.slice(0, 299)}…` : cleaned;
}
