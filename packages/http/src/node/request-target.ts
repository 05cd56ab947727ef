/** Derives the absolute URL of a node:http request from its request target and `Host` header. */

/** A host as URLs serialize it, in any letter case. */
const HOST = /^(?:[a-z\d._-]+|\[[a-f\d:.]+\])(?::\d{1,5})?$/i;
/** Paths and queries that the URL parser would leave unchanged. */
const NORMAL_TARGET = /^\/[!$&(-;=@-[\]_a-z~]*(?:\?[!$%&(-;=?-~]*)?$/;
/** Dot segments, which the URL parser would remove. */
const DOT_SEGMENT = /\/\.\.?(?:[/?]|$)/;
/** A URI with user information MUST NOT be a target. @see RFC 9110 §4.2.4 */
const USER_INFORMATION = /^[^/?#]*:\/\/[^/?#]*@/;

/** Origins by host: nearly all requests use a few hosts. */
type OriginCache = Map<string, string | null>;

/** Maximum number of cached hosts. */
const MAX_HOSTS = 100;

export type RequestTargetReader = (target: string, host: string | undefined) => string | null;

/**
 * Creates a reader of request targets: a path, or an absolute http or https URL, which takes precedence over `Host`.
 * @param scheme the scheme under which the server is reached
 * @see RFC 9112 §3.2
 */
export function createRequestTargetReader(scheme: 'http' | 'https'): RequestTargetReader {
  const origins: OriginCache = new Map();
  return (target, host) => {
    const isAbsolute = /^https?:\/\//.test(target);
    // HTTP/1.0 has no Host. If one is present it must be well-formed, even if unused.
    if (isAbsolute && host === undefined) return readAbsolute(target);
    const origin = findOrigin(origins, scheme, host ?? '');
    if (origin === null) return null;
    if (isAbsolute) return readAbsolute(target);
    if (!target.startsWith('/')) return null;
    if (NORMAL_TARGET.test(target) && !DOT_SEGMENT.test(target)) return origin + target;
    return parse(origin + target, target);
  };
}

function readAbsolute(target: string): string | null {
  return USER_INFORMATION.test(target) ? null : parse(target, target);
}

function findOrigin(origins: OriginCache, scheme: string, host: string): string | null {
  const known = origins.get(host);
  if (known !== undefined) return known;
  const origin = readOrigin(scheme, host);
  if (origins.size >= MAX_HOSTS) origins.clear();
  origins.set(host, origin);
  return origin;
}

/**
 * Rejects a host that the URL parser would rewrite, such as an address in octal: other software may read it
 * differently.
 */
function readOrigin(scheme: string, host: string): string | null {
  const url = HOST.test(host) ? URL.parse(`${scheme}://${host}`) : null;
  return url !== null && url.hostname === host.toLowerCase().replace(/:\d+$/, '') ? url.origin : null;
}

/**
 * Rejects backslashes, which URL parsers treat as slashes and other software does not: a proxy could have matched
 * another path.
 */
function parse(url: string, target: string): string | null {
  const [path = ''] = target.split('?', 1);
  return path.includes('\\') ? null : (URL.parse(url)?.href ?? null);
}
