/** The path of a request: finds its protected resource, and detects tokens in the query. */
import { OAuthError } from '@portcullis/protocol/protected-resource';
import type { ProtectedResource } from './settings.ts';

/** The path of a request target, as written, of `/mcp?x=1` or of an absolute URL. */
export function requestPath(target: string): string {
  const start = target.startsWith('/') ? 0 : pathStart(target);
  const end = Math.min(indexOrEnd(target, '?'), indexOrEnd(target, '#'));
  return start === 0 && end === target.length ? target : target.slice(start, Math.max(start, end));
}

function indexOrEnd(target: string, mark: string): number {
  const place = target.indexOf(mark);
  return place === -1 ? target.length : place;
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

/** Whether a path is that of a resource, or below it. */
export function isAtOrBelowResource({ path: outer }: ProtectedResource, path: string): boolean {
  return `${path.toLowerCase()}/`.startsWith(`${outer}/`);
}

/**
 * Finds the resource of a path. A guard with one resource protects every path, so that none bypasses it. Among
 * several, the longest path that is a prefix in whole segments wins, case-insensitively, since routers differ in
 * that. `null` if there is none.
 * @throws OAuthError `invalid_request` for a path that routers read differently
 */
export function findProtectedResource(
  resources: readonly [ProtectedResource, ...ProtectedResource[]],
  path: string,
): ProtectedResource | null {
  if (resources.length === 1) return resources[0];
  if (AMBIGUOUS_PATH.test(path)) {
    throw new OAuthError(
      'invalid_request',
      'Write the path plainly: without dot segments, double slashes, and percent-encoding of what needs none.',
    );
  }
  let found: ProtectedResource | null = null;
  for (const resource of resources) {
    if (isAtOrBelowResource(resource, path) && resource.path.length >= (found?.path.length ?? 0))
      found = resource;
  }
  return found;
}

/**
 * Dot segments, double slashes, backslashes, and percent-encoded slashes or unreserved characters: some routers
 * decode `/%61dmin` before routing, others do not. @see RFC 3986 §6.2.2.2
 */
const AMBIGUOUS_PATH = /\/\.{1,2}(?:\/|$)|\/\/|\\|%(?:2[def]|3[0-9]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9ae])/i;
