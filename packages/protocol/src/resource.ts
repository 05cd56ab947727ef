/**
 * Resource indicators (RFC 8707): the canonical URI of a protected resource, and the configured resource that a
 * request names.
 */
import { OAuthError } from './errors.ts';
import { readWebUrl } from './parsing/web-url.ts';

/**
 * Returns the canonical form of a resource URI: absolute http or https, lowercase scheme and host, no default port,
 * no fragment, no slash after a bare origin. A trailing slash of a longer path is significant and stays. `null` if
 * the text is not such a URI.
 * @see RFC 8707 §2, RFC 3986 §6.2, seed 5.4(5)
 */
export function canonicalResource(text: string): string | null {
  const url = readWebUrl(text);
  if (url === null || text.includes('#')) return null;
  return url.href === `${url.origin}/` ? url.origin : url.href;
}

/**
 * Returns the canonical URI of the protected server at a URL, without its fragment. `null` if the URL is not http(s).
 */
export function resourceOfServer(serverUrl: string): string | null {
  return canonicalResource(serverUrl.replace(/#.*$/s, ''));
}

/**
 * Finds the configured resource that a `resource` parameter names: an exact match, or one that differs by a trailing
 * slash.
 * @throws OAuthError `invalid_target` if the value is malformed or names none
 * @see RFC 8707 §2
 */
export function findResource(
  configured: readonly string[],
  requested: string,
  unknown = 'This authorization server does not protect that resource.',
): string {
  const found = matchResource(configured, requested);
  if (found !== null) return found;
  if (canonicalResource(requested) === null) {
    throw new OAuthError('invalid_target', 'The resource must be an absolute https URI without a fragment.');
  }
  throw new OAuthError('invalid_target', unknown);
}

/** Returns the configured resource that a text names, as `findResource` compares them; `null` if it names none. */
export function matchResource(configured: readonly string[], named: string): string | null {
  if (configured.includes(named)) return named;
  const canonical = canonicalResource(named);
  if (canonical === null) return null;
  const found =
    configured.find((resource) => resource === canonical) ??
    configured.find((resource) => withoutSlash(resource) === withoutSlash(canonical));
  return found ?? null;
}

/**
 * Whether a metadata document may describe a server: its resource is the same, or on the same origin with a path that
 * is a prefix of the server's in whole segments. A trailing slash makes no difference, since deployed servers differ.
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

/** Adds a trailing slash, so that `/mcp` is no prefix of `/mcp-evil`. */
function closed(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}

/** A trailing slash of a query is part of the query. */
function withoutSlash(resource: string): string {
  return resource.endsWith('/') && !resource.includes('?') ? resource.slice(0, -1) : resource;
}
