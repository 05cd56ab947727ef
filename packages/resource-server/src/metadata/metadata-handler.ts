/** Serves protected resource metadata (RFC 9728) at its well-known URLs. */
import { type ProtectedResourceMetadata, resourceMetadataUrls } from '@portcullis/protocol';
import { type GuardResponse, jsonResponse } from '../guard-response.ts';
import { PUBLIC_CORS, REQUEST_HEADERS } from '../origin-policy.ts';
import { isAtOrBelow } from '../request-path.ts';

/** The guard itself responds to every path below, without a token. */
const ROOT = '/.well-known/oauth-protected-resource';

const METHODS = 'GET, HEAD, OPTIONS';

/** Seconds for which clients may cache a document. */
const MAX_AGE = 300;

/** Responds to metadata requests; `null` for other paths. */
export type MetadataHandler = (method: string, path: string) => GuardResponse | null;

/**
 * Serves each document at the path of its resource, and at the root too if it is the only one. The document at a URL
 * MUST name the resource from which that URL was made; other paths are not found.
 * @see RFC 9728 §3
 */
export function createMetadataHandler(documents: readonly ProtectedResourceMetadata[]): MetadataHandler {
  const served = new Map<string, GuardResponse>();
  for (const document of documents) {
    const paths = resourceMetadataUrls(document.resource).map(requestTargetOf);
    const guardResponse = metadataResponse(document);
    for (const path of documents.length === 1 ? paths : paths.slice(0, 1)) served.set(path, guardResponse);
  }
  return (method, path) => {
    if (!path.startsWith(ROOT) || !isAtOrBelow(ROOT, path)) return null;
    const guardResponse = served.get(path);
    if (guardResponse === undefined) return NOT_FOUND;
    if (method === 'GET') return guardResponse;
    if (method === 'HEAD') return { ...guardResponse, body: null };
    return method === 'OPTIONS' ? PREFLIGHT : METHOD_NOT_ALLOWED;
  };
}

/** Where clients look for authorization server metadata on this origin. */
const AUTHORIZATION_SERVER_ROOTS = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
];

/**
 * Responds 404 to requests for authorization server metadata that reach the guard: clients that look for it have no
 * token yet.
 */
export function authorizationServerMetadataNotFound(path: string): GuardResponse | null {
  return path.startsWith('/.well-known/o') &&
    AUTHORIZATION_SERVER_ROOTS.some((root) => isAtOrBelow(root, path))
    ? NOT_FOUND
    : null;
}

/** The URL of a resource's metadata. @see RFC 9728 §3.1 */
export function resourceMetadataUrl(resource: string): string {
  return resourceMetadataUrls(resource)[0] ?? '';
}

function requestTargetOf(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

function metadataResponse(document: ProtectedResourceMetadata): GuardResponse {
  return jsonResponse(
    200,
    { ...document },
    {
      ...PUBLIC_CORS,
      'cache-control': `public, max-age=${MAX_AGE}`,
    },
  );
}

const NOT_FOUND: GuardResponse = jsonResponse(
  404,
  { error: 'not_found', error_description: 'There is no metadata document at this path.' },
  PUBLIC_CORS,
);

const METHOD_NOT_ALLOWED: GuardResponse = jsonResponse(
  405,
  { error: 'method_not_allowed', error_description: 'A metadata document is read-only.' },
  { ...PUBLIC_CORS, allow: METHODS },
);

const PREFLIGHT: GuardResponse = {
  status: 204,
  headers: {
    ...PUBLIC_CORS,
    allow: METHODS,
    'access-control-allow-methods': METHODS,
    'access-control-allow-headers': REQUEST_HEADERS,
    'access-control-max-age': '600',
  },
  body: null,
};
