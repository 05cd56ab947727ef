/** The URL that a request of node:http asks for; `null` when what it says of host and path is none. */

/** A host as it stands in URLs: with nothing in it that a URL would write in another way, but for the case of letters. */
const HOST = /^(?:[a-z\d._-]+|\[[a-f\d:.]+\])(?::\d{1,5})?$/i;
/** Paths and queries that are written as URLs write them. */
const PLAIN = /^\/[!$&(-;=@-[\]_a-z~]*(?:\?[!$%&(-;=?-~]*)?$/;
/** What URLs take for steps between folders, so that it would not stay as it is. */
const DOT_SEGMENT = /\/\.\.?(?:[/?]|$)/;
/** A URI with user information MUST NOT be a target. @see RFC 9110 §4.2.4 */
const USER_INFORMATION = /^[^/?#]*:\/\/[^/?#]*@/;

/** Origins by the hosts that were judged already: nearly every request names one of a few. */
type Origins = Map<string, string | null>;

/** Hosts that are remembered. */
const MOST_HOSTS = 100;

export type RequestTargetReader = (target: string, host: string | undefined) => string | null;

/**
 * Reads targets of requests: a path, or a whole http or https URL, which then counts more than the `Host` field.
 * @param scheme how the server is spoken to
 * @see RFC 9112 §3.2
 */
export function createRequestTargetReader(scheme: 'http' | 'https'): RequestTargetReader {
  const origins: Origins = new Map();
  return (target, host) => {
    const isWhole = /^https?:\/\//.test(target);
    // HTTP/1.0 knows no Host. Where there is one it has to be one, even if it does not count.
    if (isWhole && host === undefined) return readWhole(target);
    const origin = findOrigin(origins, scheme, host ?? '');
    if (origin === null) return null;
    if (isWhole) return readWhole(target);
    if (!target.startsWith('/')) return null;
    if (PLAIN.test(target) && !DOT_SEGMENT.test(target)) return origin + target;
    return parse(origin + target, target);
  };
}

function readWhole(target: string): string | null {
  return USER_INFORMATION.test(target) ? null : parse(target, target);
}

function findOrigin(origins: Origins, scheme: string, host: string): string | null {
  const known = origins.get(host);
  if (known !== undefined) return known;
  const origin = readOrigin(scheme, host);
  if (origins.size >= MOST_HOSTS) origins.clear();
  origins.set(host, origin);
  return origin;
}

/** A name that a URL would write otherwise, such as an address in octal, is one that somebody else may read otherwise too. */
function readOrigin(scheme: string, host: string): string | null {
  const url = HOST.test(host) ? URL.parse(`${scheme}://${host}`) : null;
  return url !== null && url.hostname === host.toLowerCase().replace(/:\d+$/, '') ? url.origin : null;
}

/** URLs take backslashes in paths for slashes, and others do not: nobody shall find another path here than a proxy did. */
function parse(url: string, target: string): string | null {
  const [path = ''] = target.split('?', 1);
  return path.includes('\\') ? null : (URL.parse(url)?.href ?? null);
}
