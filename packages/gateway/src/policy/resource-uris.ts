/** The readings of a name and of a resource's URI: a backend may take any of them for it, so that each has to be allowed. */
import type { AccessRequest } from '@portcullis/policy';
import { hasLongHost, toNfkc } from '@portcullis/protocol';
import { MAX_DECODINGS } from '../limits.ts';
import { withTarget } from '../servers/merged-names.ts';

/** A request for each reading of what its operation applies to; the first is the request itself. */
export function readingsOf(request: AccessRequest): readonly AccessRequest[] {
  const { operation } = request;
  const { tool, prompt, resource } = operation;
  const name = tool ?? prompt ?? resource ?? '';
  const readings = new Set(resource === null ? nameReadings(name) : uriReadings(resource));
  readings.delete(name);
  const others = [...readings].map((one) => ({ ...request, operation: withTarget(operation, one) }));
  return [request, ...others];
}

const PLAIN = /^[\x21-\x7e]*$/;

/** A name, and its other variant if there is one. */
export function nameReadings(name: string): readonly string[] {
  return PLAIN.test(name) ? [name] : nameVariants(name);
}

/**
 * A name, and what it is after Unicode normalization and without invisible characters.
 * @see UAX #15
 */
function nameVariants(name: string): readonly string[] {
  return [...new Set([name, toNfkc(name).replace(/[\p{Cc}\p{Cf}\s]/gu, '')])];
}

/**
 * A URI as it is written; as browsers resolve it; with its escapes decoded; and its normal form, of which lenient programs leave out the
 * query, too. The URI again, if it is its own normal form. Works for a pattern as for a URI.
 * @param uri none that `isUnreadable`
 * @see RFC 3986 §6.2
 */
export function uriReadings(uri: string): readonly string[] {
  const resolved = URL.parse(uri)?.href ?? uri;
  const decoded = decode(resolved);
  const variants = nameVariants(uri);
  const readings = new Set([...variants.slice(1), resolved, URL.parse(decoded)?.href ?? decoded, decoded]);
  for (const one of new Set([...variants, decodeAll(uri)]))
    for (const form of normalForms(one)) readings.add(form);
  return [uri, ...readings];
}

/** Whether resolving a URI would block: no resource has it. */
export function isUnreadable(uri: string): boolean {
  return hasLongHost(uri) || (uri.includes('%') && hasLongHost(decode(uri)));
}

/** Scheme, authority, path, query. @see RFC 3986, appendix B */
const PARTS = /^([a-z][a-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?/i;

/**
 * The scheme and the host in lower case; no user, port, empty or dot segment, or fragment; with the query and without it. A file is
 * read on the backend's own machine, whatever host is named. Without an authority, the first segment may be read as the host.
 */
function normalForms(uri: string): readonly string[] {
  const parts = PARTS.exec(uri.replaceAll('\\', '/'));
  if (parts === null) return [];
  const [, scheme = '', authority = '', path = '', query = ''] = parts;
  const start = `${scheme.toLowerCase()}:`;
  if (authority === '' && !path.startsWith('/')) return bothWays(start + path, query);
  const segments = normalSegments(path);
  if (start === 'file:') return bothWays(`file:///${segments.join('/')}`, query);
  const host = authority
    .replace(/^.*@/, '')
    .replace(/:(\d*|\*)$/, '')
    .replace(/\.$/, '')
    .toLowerCase();
  // The pattern `wiki://*` matches paths, too.
  const slash = segments.length > 0 || !host.endsWith('*') ? '/' : '';
  const forms = bothWays(`${start}//${host}${slash}${segments.join('/')}`, query);
  const [first = '', ...rest] = segments;
  return host === ''
    ? [...forms, ...bothWays(`${start}//${first.toLowerCase()}/${rest.join('/')}`, query)]
    : forms;
}

function bothWays(uri: string, query: string): readonly string[] {
  return query === '' ? [uri] : [uri + query, uri];
}

/** The last one is empty behind a slash. @see RFC 3986 §5.2.4 */
function normalSegments(path: string): readonly string[] {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  if (segments.length > 0 && /\/\.{0,2}$/.test(path)) segments.push('');
  return segments;
}

function decodeAll(uri: string): string {
  let decoded = uri;
  for (let count = 0; count < MAX_DECODINGS && decoded.includes('%'); count += 1) decoded = decode(decoded);
  return decoded;
}

/** Escapes that are no UTF-8 remain. */
function decode(uri: string): string {
  return uri.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}
