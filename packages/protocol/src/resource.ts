/** Resource indicators: the canonical URI of a protected resource, and which configured one a request means. */
import { OAuthError } from './errors.ts';
import { readWebUrl } from './web-url.ts';

/**
 * The canonical form of a resource URI: absolute http or https, lowercase scheme and host, default port left out,
 * no fragment, and no slash after a bare origin. A slash at the end of a longer path has meaning and stays.
 * `null` when the text is no such URI.
 * @see seed 5.4(5), RFC 8707 §2
 */
export function canonicalResource(text: string): string | null {
  const url = readWebUrl(text);
  if (url === null || text.includes('#')) return null;
  return url.href === `${url.origin}/` ? url.origin : url.href;
}

/**
 * The canonical URI of the protected server at a URL: as `canonicalResource`, after a fragment is cut off.
 * `null` when the URL has no scheme or is not http(s).
 */
export function resourceOfServer(serverUrl: string): string | null {
  return canonicalResource(serverUrl.replace(/#.*$/s, ''));
}

/**
 * Which of the configured canonical resources a `resource` parameter names: the exact one, or the one that differs
 * by a single slash at the end.
 * @throws OAuthError `invalid_target` when the value is malformed or names none.
 * @see RFC 8707 §2
 */
export function findResource(configured: readonly string[], requested: string): string {
  if (configured.includes(requested)) return requested;
  const canonical = canonicalResource(requested);
  if (canonical === null) {
    throw new OAuthError('invalid_target', 'The resource must be an absolute https URI without a fragment.');
  }
  const found =
    configured.find((resource) => resource === canonical) ??
    configured.find((resource) => withoutSlash(resource) === withoutSlash(canonical));
  if (found === undefined) {
    throw new OAuthError('invalid_target', 'This authorization server does not protect that resource.');
  }
  return found;
}

/**
 * Whether a document may speak for a server: the same resource, or one of the same origin whose path is a prefix of the
 * server's, ending where a path segment ends; a slash at the end makes no difference, as deployed servers differ in it.
 * @see RFC 9728 §3.3, relaxed for documents at the root that name the origin
 */
export function coversResource(documented: string, server: string): boolean {
  const outer = canonicalUrl(documented);
  const inner = canonicalUrl(server);
  if (outer === null || inner === null || outer.origin !== inner.origin) return false;
  if (outer.href === inner.href) return true;
  return !outer.href.includes('?') && closed(inner.pathname).startsWith(closed(outer.pathname));
}

function canonicalUrl(text: string): URL | null {
  const canonical = canonicalResource(text);
  return canonical === null ? null : new URL(canonical);
}

/** A path that ends with a slash, so that `/mcp` is no prefix of `/mcp-evil`. */
function closed(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}

/** A slash at the end of a query is part of the query. */
function withoutSlash(resource: string): string {
  return resource.endsWith('/') && !resource.includes('?') ? resource.slice(0, -1) : resource;
}
