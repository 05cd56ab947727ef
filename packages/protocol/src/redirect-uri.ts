/**
 * Redirect URIs: validation at registration, exact matching at the authorization endpoint, and the proof of that
 * match (open redirect).
 */
import { OAuthError } from './errors.ts';
import { createLruCache, type LruCache } from './lru-cache.ts';
import { isLoopbackHost, readUrl } from './parsing/web-url.ts';

/** What the operator allows in addition to https and loopback. */
export interface RedirectPolicy {
  /** Private-use schemes without colon, such as `cursor`. None by default. @see RFC 8252 §7.1 */
  readonly privateUseSchemes: readonly string[];
  /** Single private-use redirect URIs, whatever their schemes; a pattern must match the whole URI. None by default. */
  readonly privateUseUris?: readonly (string | RegExp)[];
  /** The origin of the authorization server. No client has an endpoint there: its code would be sent to our own pages. */
  readonly ownOrigin?: string;
}

/** https and loopback only. */
export const strictRedirectPolicy: RedirectPolicy = { privateUseSchemes: [] };

/** Schemes that execute, embed or open something; no policy can allow them. */
// biome-ignore format: one list
const DANGEROUS_SCHEMES: ReadonlySet<string> = new Set([
  'javascript', 'livescript', 'vbscript', 'data', 'blob', 'file', 'filesystem', 'view-source', 'about', 'jar',
  'mhtml', 'mk', 'res', 'resource', 'cid', 'mid', 'ws', 'wss', 'ftp', 'sftp', 'ssh', 'telnet', 'gopher', 'dict',
  'ldap', 'ldaps', 'smb', 'mailto', 'tel', 'sms', 'callto', 'intent', 'android-app', 'content', 'chrome',
  'chrome-extension', 'chrome-untrusted', 'devtools', 'edge', 'moz-extension', 'safari-web-extension', 'ms-appx',
  'ms-appx-web', 'ms-its', 'ms-msdt', 'search-ms', 'shell', 'hcp', 'wyciwyg', 'feed', 'urn', 'null',
]);

const LONGEST = 2000;

/** Parameters of the authorization response, which must not occur in the registered query as well. */
export const RESPONSE_PARAMETERS: readonly string[] = [
  'code',
  'state',
  'iss',
  'error',
  'error_description',
  'error_uri',
];

/**
 * The result of validation. A `refused` URI may be dropped if others remain; a `dangerous` one rejects the whole
 * request.
 */
export type RedirectUriValidation =
  | { readonly kind: 'https' | 'loopback' | 'private-use' }
  | { readonly kind: 'refused' | 'dangerous'; readonly reason: string };

/**
 * Validates one redirect URI by itself. Redirect URIs MUST be localhost URLs or HTTPS URLs; private-use schemes are
 * an exception that the operator makes.
 * @see RFC 8252 §7, RFC 9700 §4.1, seed 5.3(5)
 */
export function validateRedirectUri(
  uri: string,
  policy: RedirectPolicy = strictRedirectPolicy,
): RedirectUriValidation {
  const scheme = schemeOf(uri);
  if (scheme === undefined) return dangerous('must be an absolute URI');
  if (DANGEROUS_SCHEMES.has(scheme)) return dangerous(`must not use the scheme ${scheme}`);
  if (uri.length > LONGEST) return dangerous(`must be at most ${LONGEST} characters long`);
  if (uri.includes('*')) return dangerous('must have no wildcard');
  const url = readUrl(uri);
  if (url === null) {
    return dangerous('must be a well-formed URI, its host written plainly and without user information');
  }
  if (uri.includes('#')) return dangerous('must have no fragment');
  if (url.search !== '' && RESPONSE_PARAMETERS.some((name) => url.searchParams.has(name))) {
    return dangerous(`must have none of the parameters ${RESPONSE_PARAMETERS.join(', ')} in its query`);
  }
  return validateScheme(uri, url, scheme, policy);
}

/** The scheme as a lenient parser would find it, one that drops spaces and control characters first. */
function schemeOf(uri: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(uri.replace(/[^\x21-\x7e]/g, ''))?.[1]?.toLowerCase();
}

function validateScheme(
  uri: string,
  url: URL,
  scheme: string,
  policy: RedirectPolicy,
): RedirectUriValidation {
  if (isAtOwnOrigin(url, policy)) {
    return dangerous('must not be on this authorization server');
  }
  if (scheme === 'https') return { kind: 'https' };
  if (scheme === 'http') {
    return loopbackParts(uri) === null
      ? dangerous('must use https (http is for localhost, 127.0.0.1 and [::1] only)')
      : { kind: 'loopback' };
  }
  if (policy.privateUseSchemes.some((allowed) => allowed.toLowerCase() === scheme)) {
    return { kind: 'private-use' };
  }
  if (policy.privateUseUris?.some((allowed) => equals(allowed, uri)) === true) return { kind: 'private-use' };
  const reason =
    'uses a private-use scheme that this server does not allow: its operator can, with the setting privateUseSchemes';
  return { kind: 'refused', reason };
}

function equals(allowed: string | RegExp, uri: string): boolean {
  return typeof allowed === 'string' ? allowed === uri : allowed.exec(uri)?.[0] === uri;
}

/** The origins of the authorization servers, parsed once for each policy. */
const ownOrigins = new WeakMap<RedirectPolicy, URL>();

/** Whether a URL is on the authorization server, where the loopback names are one host. */
function isAtOwnOrigin({ origin, protocol, hostname, port }: URL, policy: RedirectPolicy): boolean {
  if (policy.ownOrigin === undefined) return false;
  const own = ownOrigins.get(policy) ?? new URL(policy.ownOrigin);
  ownOrigins.set(policy, own);
  if (origin === own.origin) return true;
  const areLoopback = isLoopbackHost(hostname) && isLoopbackHost(own.hostname);
  return areLoopback && protocol === own.protocol && port === own.port;
}

function dangerous(reason: string): RedirectUriValidation {
  return { kind: 'dangerous', reason };
}

/**
 * Whether a requested redirect URI matches a registered one: byte for byte, or, on the same loopback host, apart from
 * the port.
 * @see RFC 9700 §4.1.3, RFC 8252 §7.3, OAuth 2.1 draft 13 §4.1.1
 * @example
 * ```ts
 * import { matchesRedirectUri } from '@portcullis/protocol';
 *
 * console.log(matchesRedirectUri('http://127.0.0.1/callback', 'http://127.0.0.1:49152/callback')); // true
 * console.log(matchesRedirectUri('https://app.example/callback', 'https://app.example/callback?x')); // false
 * ```
 */
export function matchesRedirectUri(registered: string, requested: string): boolean {
  if (registered === requested) return true;
  const left = loopbackParts(registered);
  const right = loopbackParts(requested);
  return left !== null && right !== null && left.host === right.host && left.rest === right.rest;
}

/**
 * Host, and everything after the port, of a plain http loopback URI; `null` for any other URI. A port may have leading zeros: no check
 * reads its text. RFC 3986 §3.2.3
 */
function loopbackParts(uri: string): { host: string; rest: string } | null {
  const match = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?((?:[/?][\x21-\x7e]*)?)$/.exec(uri);
  const [, host, port, rest] = match ?? [];
  if (host === undefined || rest === undefined || Number(port ?? 80) > 65_535) return null;
  return { host, rest };
}

declare const checked: unique symbol;

/** Proof that a URI matches the client's registration; only `checkRedirectUri` creates one. */
export interface RedirectTarget {
  readonly uri: string;
  /** What the user is shown: `app.example` (punycode for other scripts), `127.0.0.1:3000`, `cursor:`. */
  readonly display: string;
  readonly kind: 'https' | 'loopback' | 'private-use';
  readonly [checked]: true;
}

/**
 * Checks the redirect URI of an authorization request, which may be omitted if exactly one is registered. The URI is
 * validated again, so that a client registered under a laxer policy cannot use it.
 * @throws OAuthError `invalid_request`, to be shown as a page: there is nowhere to redirect to yet
 * @see RFC 6749 §3.1.2.3 and §4.1.2.1, RFC 9700 §4.1.3
 */
export function checkRedirectUri(
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
  const known = httpsTargets.get(policy)?.get(uri);
  if (known !== undefined && registered.includes(uri)) return known;
  const validation = validateRedirectUri(uri, policy);
  // A refused one was dropped at registration: the reason is more helpful than that it is not registered.
  if (validation.kind !== 'refused' && !registered.some((known) => matchesRedirectUri(known, uri))) {
    throw new OAuthError('invalid_request', 'The redirect_uri is not registered for this client.');
  }
  if ('reason' in validation) {
    throw new OAuthError('invalid_request', `The redirect_uri ${validation.reason}.`);
  }
  const target = { uri, kind: validation.kind, display: displayOf(uri, validation.kind) } as RedirectTarget;
  if (target.kind === 'https') retainTarget(policy, target);
  return target;
}

/** The https targets of a policy, by URI: an application uses the same one for all its users. Whose it is, is checked each time. */
const httpsTargets = new WeakMap<RedirectPolicy, LruCache<RedirectTarget>>();
const MAX_RETAINED_TARGETS = 200;

function retainTarget(policy: RedirectPolicy, target: RedirectTarget): void {
  const targets = httpsTargets.get(policy) ?? createLruCache({ entries: MAX_RETAINED_TARGETS });
  targets.set(target.uri, target);
  httpsTargets.set(policy, targets);
}

function displayOf(uri: string, kind: RedirectTarget['kind']): string {
  const url = new URL(uri);
  return kind === 'private-use' ? url.protocol : url.host;
}
