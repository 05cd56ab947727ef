/** Issuer identifiers, and the well-known URLs of metadata documents (RFC 8414, RFC 9728, OpenID Connect Discovery). */
import { isSecureUrl, readWebUrl } from './parsing/web-url.ts';

/**
 * Returns why a text is not a valid issuer identifier; `null` if it is valid. MUST be https, without query or
 * fragment. @see RFC 8414 §2
 */
export function issuerError(text: string): string | null {
  const url = readWebUrl(text);
  if (url === null) return 'must be an absolute https URL';
  if (!isSecureUrl(url)) return 'must use https (http is for loopback hosts only)';
  if (text.includes('?') || text.includes('#')) return 'must have no query and no fragment';
  return null;
}

/**
 * The authorization base URL of a Profile A server: its URL without path, query and fragment.
 * @throws TypeError if the text is not an http(s) URL
 * @see seed 4.2(1)
 */
export function authorizationBaseUrl(serverUrl: string): string {
  return webUrl(serverUrl).origin;
}

/** The default endpoints of a server without metadata. */
interface DefaultEndpoints {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly registration_endpoint: string;
}

/**
 * The default endpoints, at the root of the host, whatever path the URL has.
 * @throws TypeError if the text is not an http(s) URL
 * @see seed 2.3 and 4.2(3)
 */
export function defaultEndpoints(serverUrl: string): DefaultEndpoints {
  const base = authorizationBaseUrl(serverUrl);
  return {
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    registration_endpoint: `${base}/register`,
  };
}

/** The two kinds of authorization server metadata documents. */
export type ServerMetadataKind = 'oauth' | 'oidc';

/**
 * The URLs of an issuer's metadata in discovery order: RFC 8414 with path insertion, OpenID Connect Discovery with
 * path insertion, OpenID Connect Discovery with path appending. An issuer without a path has one URL of each kind.
 * @throws TypeError if the issuer is not an http(s) URL
 * @see RFC 8414 §3.1, OpenID Connect Discovery 1.0 §4
 * @example
 * ```ts
 * import { serverMetadataUrls } from '@portcullis/protocol';
 *
 * for (const url of serverMetadataUrls('https://as.example/t1', ['oauth', 'oidc'])) console.log(url);
 * // https://as.example/.well-known/oauth-authorization-server/t1
 * // https://as.example/.well-known/openid-configuration/t1
 * // https://as.example/t1/.well-known/openid-configuration
 * ```
 */
export function serverMetadataUrls(issuer: string, kinds: readonly ServerMetadataKind[]): readonly string[] {
  const { origin, pathname } = webUrl(issuer);
  const path = withoutSlash(pathname);
  const urls: string[] = [];
  if (kinds.includes('oauth')) urls.push(`${origin}/.well-known/oauth-authorization-server${path}`);
  if (kinds.includes('oidc')) {
    urls.push(`${origin}/.well-known/openid-configuration${path}`);
    if (path !== '') urls.push(`${origin}${path}/.well-known/openid-configuration`);
  }
  return urls;
}

/**
 * The URLs of protected resource metadata in discovery order: with path, then at the root. Only the slash after the
 * host MUST be dropped; a trailing slash of a longer path stays, but is also tried without, since servers differ.
 * @throws TypeError if the resource is not an http(s) URL
 * @see RFC 9728 §3.1
 */
export function resourceMetadataUrls(resource: string): readonly string[] {
  const { origin, pathname, search } = webUrl(resource);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  const path = pathname === '/' ? '' : pathname;
  return [...new Set([`${root}${path}${search}`, `${root}${withoutSlash(path)}${search}`, root])];
}

/** Any terminating slash MUST be removed before the well-known part is inserted. @see RFC 8414 §3.1 */
function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

function webUrl(text: string): URL {
  const url = readWebUrl(text);
  if (url === null) throw new TypeError('The URL must be an absolute http(s) URL.');
  return url;
}
