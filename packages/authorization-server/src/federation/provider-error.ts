/** What can go wrong with a third party: it is away, it says no, or it answers what it must not. */
import { OutboundError } from '@portcullis/http/outbound';
import * as oauth from 'oauth4webapi';

export type IdentityProviderErrorKind =
  /** Nobody answers, or only to say that it cannot answer now. It may be asked again later, and nothing follows from it. */
  | 'outage'
  /** It answers with an OAuth error. */
  | 'refused'
  /** Its answer is none that it may give: the wrong issuer, nonce, key or form. */
  | 'misbehaved';

/** Ends a conversation with a third party. The message is for the operator's log: it never holds a token or a text of theirs. */
export class IdentityProviderError extends Error {
  override readonly name: string = 'ThirdPartyFault';
  readonly kind: IdentityProviderErrorKind;
  /** Their error code, when it is well-formed. */
  readonly code: string | null;
  /** Seconds after which they may be asked again; `null` when they did not say. */
  readonly retryAfter: number | null;
  /** Whether they may have done what was asked although their answer never came. */
  readonly isLost: boolean;

  constructor(
    kind: IdentityProviderErrorKind,
    message: string,
    more: { readonly code?: string; readonly retryAfter?: number | null; readonly isLost?: boolean } = {},
  ) {
    super(message);
    this.kind = kind;
    this.code = more.code ?? null;
    this.retryAfter = more.retryAfter ?? null;
    this.isLost = more.isLost ?? false;
  }
}

/** Whether it may be asked again after a while, and then answer as it should. */
export function isUnavailable({ kind, code }: IdentityProviderError): boolean {
  return kind === 'outage' || code === 'temporarily_unavailable' || code === 'server_error';
}

/** Seconds after which a person is told to come again to a third party that did not say for itself. */
export const DEFAULT_RETRY_AFTER = 30;

/** The longest that a third party may make this server wait. Seconds. */
const LONGEST_WAIT = 300;

/** An answer that says that there is none now. @see RFC 9110 §15.6, RFC 6585 §4 */
export function checkAvailable(response: Response, now: number): void {
  const { status, headers } = response;
  const isLimited = status === 429 || (status === 403 && headers.get('x-ratelimit-remaining') === '0');
  if (status < 500 && status !== 408 && !isLimited) return;
  throw new IdentityProviderError('outage', `it answered with status ${status}`, {
    retryAfter: readRetryAfter(headers, now),
  });
}

/** Seconds, or a date. @see RFC 9110 §10.2.3 */
function readRetryAfter(headers: Headers, now: number): number | null {
  const text = headers.get('retry-after') ?? '';
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Math.ceil(Date.parse(text) / 1000) - now;
  return Number.isNaN(seconds) ? null : Math.min(LONGEST_WAIT, Math.max(1, seconds));
}

/** Whatever was thrown, as what it means. */
export function toIdentityProviderError(error: unknown): IdentityProviderError {
  if (error instanceof IdentityProviderError) return error;
  if (error instanceof OutboundError) return readOutboundIssue(error);
  if (error instanceof oauth.ResponseBodyError) return refused(error.error);
  if (error instanceof oauth.AuthorizationResponseError) return refused(error.error);
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    return refused(error.cause.find(({ parameters }) => parameters.error !== undefined)?.parameters.error);
  }
  const code = error instanceof Error ? ('code' in error ? String(error.code) : error.name) : 'unknown';
  return new IdentityProviderError('misbehaved', `its answer is not in order (${code})`);
}

/** What nobody has heard of cannot have been done. */
const NEVER_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

function readOutboundIssue({ reason, cause }: OutboundError): IdentityProviderError {
  if (reason === 'address')
    return new IdentityProviderError('misbehaved', 'it leads to an address that is not contacted');
  if (reason === 'size' || reason === 'encoding') {
    return new IdentityProviderError('misbehaved', `its answer is not taken (${reason})`, { isLost: true });
  }
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return new IdentityProviderError('outage', `it does not answer (${reason})`, {
    isLost: !NEVER_SENT.includes(code),
  });
}

/** Codes are theirs to choose; what does not look like one is not repeated anywhere. */
function refused(code: string | undefined): IdentityProviderError {
  const isCode = code !== undefined && /^[a-z_]{1,50}$/.test(code);
  return isCode
    ? new IdentityProviderError('refused', `it answered ${code}`, { code })
    : new IdentityProviderError('refused', 'it answered with an error of its own');
}
