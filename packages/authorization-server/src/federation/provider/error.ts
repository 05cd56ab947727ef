/** Errors of identity providers: an outage, an OAuth error, or an invalid response. */
import { OutboundError } from '@portcullis/http/outbound';
import { OAuthError } from '@portcullis/protocol';
import * as oauth from 'oauth4webapi';

export type IdentityProviderErrorKind =
  /** It does not respond, or reports that it is unavailable. Retryable; nothing is concluded from it. */
  | 'outage'
  /** It responds with an OAuth error. */
  | 'refused'
  /** Its response is invalid: the wrong issuer, nonce, key or format. */
  | 'misbehaved';

/** The message is for the audit log: it never contains a token or a text of the provider. */
export class IdentityProviderError extends Error {
  override readonly name: string = 'IdentityProviderError';
  readonly kind: IdentityProviderErrorKind;
  /** The provider's error code, if it is well-formed. */
  readonly code: string | null;
  /** Seconds after which to retry; `null` if the provider did not say. */
  readonly retryAfter: number | null;
  /** Whether the request may have taken effect although its response was lost. */
  readonly isResponseLost: boolean;

  constructor(
    kind: IdentityProviderErrorKind,
    message: string,
    more: {
      readonly code?: string;
      readonly retryAfter?: number | null;
      readonly isResponseLost?: boolean;
    } = {},
  ) {
    super(message);
    this.kind = kind;
    this.code = more.code ?? null;
    this.retryAfter = more.retryAfter ?? null;
    this.isResponseLost = more.isResponseLost ?? false;
  }
}

/** Whether a retry after a while may succeed. */
export function isUnavailable({ kind, code }: IdentityProviderError): boolean {
  return kind === 'outage' || code === 'temporarily_unavailable' || code === 'server_error';
}

/** Seconds after which a user should try again, if the provider did not say. */
export const DEFAULT_RETRY_AFTER = 30;

/** The longest `Retry-After` of a provider that is respected. Seconds. */
export const MAX_PROVIDER_RETRY_AFTER = 300;

/** Throws if the response reports that the provider is unavailable or limits our rate. @see RFC 9110 §15.6, RFC 6585 §4 */
export function checkAvailable(response: Response, now: number): void {
  const { status, headers } = response;
  const isLimited = status === 429 || (status === 403 && headers.get('x-ratelimit-remaining') === '0');
  if (status < 500 && status !== 408 && !isLimited) return;
  throw new IdentityProviderError('outage', `it responded with status ${status}`, {
    retryAfter: readRetryAfter(headers, now),
  });
}

/** Reads seconds or a date. @see RFC 9110 §10.2.3 */
function readRetryAfter(headers: Headers, now: number): number | null {
  const text = headers.get('retry-after') ?? '';
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Math.ceil(Date.parse(text) / 1000) - now;
  return Number.isNaN(seconds) ? null : Math.min(MAX_PROVIDER_RETRY_AFTER, Math.max(1, seconds));
}

/**
 * Apple's code for a user who declines.
 * @see https://developer.apple.com/documentation/signinwithapplerestapi/request-an-authorization-to-the-sign-in-with-apple-server.
 */
const CANCELLED_AT_APPLE = 'user_cancelled_authorize';

/** Classifies anything that was thrown. */
export function toIdentityProviderError(error: unknown): IdentityProviderError {
  if (error instanceof IdentityProviderError) return error;
  if (error instanceof OutboundError) return readOutboundIssue(error);
  if (isLate(error)) {
    return new IdentityProviderError('outage', 'no response (timeout)', { isResponseLost: true });
  }
  if (error instanceof oauth.ResponseBodyError) return refused(error.error);
  if (error instanceof oauth.AuthorizationResponseError) {
    return refused(error.error === CANCELLED_AT_APPLE ? 'access_denied' : error.error);
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    return refused(error.cause.find(({ parameters }) => parameters.error !== undefined)?.parameters.error);
  }
  const code = error instanceof Error ? ('code' in error ? String(error.code) : error.name) : 'unknown';
  return new IdentityProviderError('misbehaved', `invalid response (${code})`);
}

/** Whether an operation exceeded its limit as a whole, alone or as a flight that others joined. */
function isLate(error: unknown): boolean {
  if (error instanceof OAuthError) return error.code === 'temporarily_unavailable';
  return error instanceof DOMException && error.name === 'TimeoutError';
}

/** After these the request was never sent, so it cannot have taken effect. */
const NEVER_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

function readOutboundIssue({ reason, cause }: OutboundError): IdentityProviderError {
  if (reason === 'address')
    return new IdentityProviderError('misbehaved', 'it resolves to an address that is not allowed');
  if (reason === 'size' || reason === 'encoding') {
    return new IdentityProviderError('misbehaved', `response not accepted (${reason})`, {
      isResponseLost: true,
    });
  }
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return new IdentityProviderError('outage', `no response (${reason})`, {
    isResponseLost: !NEVER_SENT.includes(code),
  });
}

/** The provider chooses the code; anything that does not look like one is not repeated. */
function refused(code: string | undefined): IdentityProviderError {
  const isCode = code !== undefined && /^[a-z_]{1,50}$/.test(code);
  return isCode
    ? new IdentityProviderError('refused', `it responded ${code}`, { code })
    : new IdentityProviderError('refused', 'it responded with an unknown error');
}
