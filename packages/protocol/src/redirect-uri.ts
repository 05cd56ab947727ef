/** Redirect URIs: which may be registered, which request matches, and the proof that a target was admitted. */
import { OAuthError } from './errors.ts';
import { isLoopbackHost, readUrl, readWebUrl } from './web-url.ts';

/** What an operator allows beyond https and loopback. */
export interface RedirectPolicy {
  /** Private-use schemes without colon, such as `cursor`. None by default. @see RFC 8252 §7.1 */
  readonly privateUseSchemes: readonly string[];
}

/** https and loopback only. */
export const strictRedirectPolicy: RedirectPolicy = { privateUseSchemes: [] };

/** Schemes that run, embed or read something; no policy can allow them. */
// biome-ignore format: one list
const DANGEROUS_SCHEMES: ReadonlySet<string> = new Set([
  'javascript', 'data', 'vbscript', 'blob', 'file', 'filesystem', 'view-source', 'about', 'ws', 'wss', 'ftp',
  'mailto', 'tel', 'sms', 'intent', 'chrome', 'chrome-extension', 'moz-extension', 'ms-appx', 'jar', 'resource',
]);

/** How a redirect URI was judged. `refused` may be left out beside good ones; `dangerous` condemns its whole request. */
export type RedirectJudgement =
  | { readonly kind: 'https' | 'loopback' | 'private-use' }
  | { readonly kind: 'refused' | 'dangerous'; readonly reason: string };

/**
 * Judges one redirect URI by itself. Redirect URIs MUST be localhost URLs or HTTPS URLs; private-use schemes are an
 * operator's exception.
 * @see seed 5.3(5), OAuth 2.1 draft 13 §2.3
 */
export function judgeRedirectUri(
  uri: string,
  policy: RedirectPolicy = strictRedirectPolicy,
): RedirectJudgement {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(uri.replace(/[^\x21-\x7e]/g, ''))?.[1]?.toLowerCase();
  if (scheme === undefined) return dangerous('must be an absolute URI');
  if (DANGEROUS_SCHEMES.has(scheme)) return dangerous(`must not use the scheme ${scheme}`);
  if (uri.length > 2000) return dangerous('must be at most 2000 characters long');
  const url = readUrl(uri);
  if (url === null)
    return dangerous('must be a well-formed URI without spaces, backslashes or user information');
  if (uri.includes('#')) return dangerous('must have no fragment');
  if (uri.includes('*')) return dangerous('must have no wildcard');
  if (scheme === 'https') return readWebUrl(uri) === null ? dangerous('must have a host') : { kind: 'https' };
  if (scheme === 'http') return judgePlain(uri, url);
  if (policy.privateUseSchemes.includes(scheme)) return { kind: 'private-use' };
  return {
    kind: 'refused',
    reason: `uses the private-use scheme ${scheme}, which this server does not allow`,
  };
}

function judgePlain(uri: string, url: URL): RedirectJudgement {
  // Only the three spellings themselves: 127.1 or 0x7f.1 would be repaired by the parser into one of them.
  if (isLoopbackHost(url.hostname) && loopbackParts(uri) !== null) return { kind: 'loopback' };
  return dangerous('must use https (http is for localhost, 127.0.0.1 and [::1] only)');
}

function dangerous(reason: string): RedirectJudgement {
  return { kind: 'dangerous', reason };
}

/**
 * Whether a requested redirect URI is the registered one: equal byte for byte, or both on the same loopback host and
 * different in the port only.
 * @see OAuth 2.1 draft 13 §4.1.1 and §8.4.2, RFC 8252 §7.3
 */
export function matchesRedirectUri(registered: string, requested: string): boolean {
  if (registered === requested) return true;
  const left = loopbackParts(registered);
  const right = loopbackParts(requested);
  return left !== null && right !== null && left.host === right.host && left.rest === right.rest;
}

/** Host and everything behind the port of a plain-http loopback URI, as written; `null` for any other URI. */
function loopbackParts(uri: string): { host: string; rest: string } | null {
  const match = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?((?:[/?][\x21-\x7e]*)?)$/.exec(uri);
  const [, host, port, rest] = match ?? [];
  if (host === undefined || rest === undefined || Number(port ?? 80) > 65_535) return null;
  return { host, rest };
}

declare const admitted: unique symbol;

/** The proof that a URI was matched with the client's registration: only `admitRedirect` makes one. */
export interface RedirectTarget {
  readonly uri: string;
  /** The scheme and host that a person is shown: `https://app.example`, `http://127.0.0.1:3000`, `cursor:`. */
  readonly display: string;
  readonly kind: 'https' | 'loopback' | 'private-use';
  readonly [admitted]: true;
}

/**
 * Admits the redirect URI of an authorization request. One registered URI may be left out of the request. The URI is
 * judged again, so that a record from before a policy changed cannot be redirected to.
 * @throws OAuthError `invalid_request`, which must be shown by the server itself: there is nowhere to redirect to yet.
 * @see OAuth 2.1 draft 13 §2.3.2 and §4.1.2.1
 */
export function admitRedirect(
  registered: readonly string[],
  requested: string | undefined,
  policy: RedirectPolicy = strictRedirectPolicy,
): RedirectTarget {
  const uri = requested ?? (registered.length === 1 ? registered[0] : undefined);
  if (uri === undefined) {
    throw new OAuthError(
      'invalid_request',
      'Send the redirect_uri: this client has not registered exactly one.',
    );
  }
  if (!registered.some((known) => matchesRedirectUri(known, uri))) {
    throw new OAuthError('invalid_request', 'The redirect_uri is not registered for this client.');
  }
  const judgement = judgeRedirectUri(uri, policy);
  if ('reason' in judgement) {
    throw new OAuthError('invalid_request', `The redirect_uri ${judgement.reason}.`);
  }
  return { uri, kind: judgement.kind, display: displayOf(uri, judgement.kind) } as RedirectTarget;
}

function displayOf(uri: string, kind: RedirectTarget['kind']): string {
  const url = new URL(uri);
  return kind === 'private-use' ? url.protocol : url.host;
}
