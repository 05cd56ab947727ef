/** The one error of the client: a code for programs, a sentence for people, and never a control character of a server's. */

/** Why something could not be done. */
export type ClientErrorCode =
  // What the caller gave
  | 'configuration_invalid'
  | 'server_url_invalid'
  // Reaching somebody
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

/** Codes of failures that may go away by themselves: whoever meets one keeps the session. */
const TEMPORARY: ReadonlySet<ClientErrorCode> = new Set(['unreachable', 'temporarily_unavailable']);

/** What is known about a failure besides its code and sentence. */
export interface ClientErrorOptions {
  /** The OAuth error code that a server answered with, cleaned. */
  readonly oauthError?: string | undefined;
  /** HTTP status of the answer. */
  readonly status?: number | undefined;
  /** Seconds after which it may be tried again, where the server said so. */
  readonly retryAfter?: number | undefined;
  readonly cause?: unknown;
}

/** Ends what the client was asked to do. `message` says what happened and, where it can, what to do about it. */
export class ClientError extends Error {
  override readonly name: string = 'ClientError';
  readonly code: ClientErrorCode;
  readonly oauthError: string | undefined;
  readonly status: number | undefined;
  readonly retryAfter: number | undefined;

  constructor(code: ClientErrorCode, message: string, options: ClientErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.oauthError = options.oauthError;
    this.status = options.status;
    this.retryAfter = options.retryAfter;
  }

  /** Whether the same may succeed later without anybody doing anything. */
  get temporary(): boolean {
    return TEMPORARY.has(this.code);
  }
}

/**
 * What helps against an authorization server that refuses the resource it is asked for; empty where that is not it.
 * `AADSTS9010010` is how Entra ID says so.
 */
export function resourceAdvice(oauthError: string | undefined, description: string | undefined): string {
  if (oauthError !== 'invalid_target' && !(description ?? '').includes('AADSTS9010010')) return '';
  return (
    ' If it does not know this server, whoever runs it has to add the server to its resources.' +
    ' If it wants another resource, or none, say so for this issuer: resourceIndicators, --resource-for.'
  );
}

/**
 * Text that somebody else wrote, fit to be shown: control characters, bidirectional overrides and line breaks are
 * gone, and it is at most 300 characters long.
 */
export function sanitizeText(text: string): string {
  const cleaned = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return cleaned.length > 300 ? `${cleaned.slice(0, 299)}…` : cleaned;
}
