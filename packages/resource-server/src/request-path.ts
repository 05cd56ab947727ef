/** The path of a request: finds its protected resource, and detects tokens in the query. */
import { OAuthError } from '@portcullis/protocol';

/** The path of a request target, as written, of `/mcp?x=1` or of an absolute URL. */
export function requestPath(target: string): string {
  const start = target.startsWith('/') ? 0 : pathStart(target);
  const end = Math.min(indexOrEnd(target, '?'), indexOrEnd(target, '#'));
  return start === 0 && end === target.length ? target : target.slice(start, Math.max(start, end));
}

function indexOrEnd(target: string, mark: string): number {
  const index = target.indexOf(mark);
  return index === -1 ? target.length : index;
}

function pathStart(target: string): number {
  const authority = target.indexOf('://');
  const slash = authority === -1 ? -1 : target.indexOf('/', authority + 3);
  return slash === -1 ? target.length : slash;
}

/**
 * Whether the query contains an access token, which MUST NOT be in the URI query string. @see RFC 9700 §4.3.2, seed
 * 5.1(2)
 */
export function hasQueryToken(target: string): boolean {
  const query = target.indexOf('?');
  return query !== -1 && new URLSearchParams(target.slice(query)).has('access_token');
}

/** What requests are matched by. */
export interface HasPath {
  /** In comparable form, without a trailing slash. */
  readonly path: string;
}

interface HasPaths extends HasPath {
  /** As written, without a trailing slash. */
  readonly exactPath: string;
}

/** Whether a path as written is that of a resource, or below it. */
export function isAtOrBelowResource(resource: HasPath, path: string): boolean {
  return isAtOrBelow(resource.path, comparablePath(path) ?? path.toLowerCase());
}

/** Whether a path is another one, or below it. */
export function isAtOrBelow(outer: string, path: string): boolean {
  return `${path}/`.startsWith(`${outer}/`);
}

/**
 * Finds the resource of a path. A guard with one resource protects every path, so that none bypasses it. Among
 * several, the longest path that is a prefix in whole segments wins. `null` if there is none.
 * @throws OAuthError `invalid_request` for a path that routers read differently, also where only a router that heeds case would find
 * another resource
 */
export function findProtectedResource<Resource extends HasPaths>(
  resources: readonly [Resource, ...Resource[]],
  path: string,
): Resource | null {
  if (resources.length === 1) return resources[0];
  const comparable = comparablePath(path);
  if (comparable === null) throw unplainPath();
  let found: Resource | null = null;
  for (const resource of resources) {
    if (isAtOrBelow(resource.path, comparable) && resource.path.length >= (found?.path.length ?? 0))
      found = resource;
  }
  if (found === null || isAtOrBelow(found.exactPath, path)) return found;
  if (resources.some(({ exactPath }) => isAtOrBelow(exactPath, path))) throw unplainPath();
  return found;
}

function unplainPath(): OAuthError {
  return new OAuthError(
    'invalid_request',
    'Write the path plainly: without dot segments, double slashes, semicolons, and percent-encoding of what needs none, and as the URL of its resource is written.',
    { reason: 'routers read this path differently' },
  );
}

/**
 * Returns a path in lower case and decoded, since routers differ in both; `null` for one that they read differently in
 * other ways.
 */
export function comparablePath(path: string): string | null {
  if (AMBIGUOUS_PATH.test(path)) return null;
  if (!path.includes('%')) return path.toLowerCase();
  try {
    return decodeURIComponent(path).toLowerCase();
  } catch {
    return null;
  }
}

/**
 * Dot segments, double slashes, backslashes, path parameters, bytes that are no URI characters, double encoding, and
 * percent-encoded delimiters, control and unreserved characters: some routers cut `/admin;x` at the semicolon, or
 * decode `/%61dmin` before routing, others do not.
 * @see RFC 3986 §3.3, §6.2.2.2
 */
const AMBIGUOUS_PATH =
  /\/\.{1,2}(?:\/|$)|\/\/|[;\\]|[^!-~]|%(?:[01][0-9a-f]|2[3def]|25[0-9a-f]{2}|3[0-9bf]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9aef])/i;
