/** Protected resource metadata: which document stands at which path, and how it is served. */
import {
  type ProtectedResourceMetadata,
  resourceMetadataUrls,
} from '@portcullis/protocol/protected-resource';
import { type GuardResponse, jsonResponse } from '../guard-response.ts';
import { PUBLIC_CORS, REQUEST_HEADERS } from '../origin-policy.ts';

/** Every path under it is answered by the guard itself, and never asks for a token. */
const ROOT = '/.well-known/oauth-protected-resource';

const METHODS = 'GET, HEAD, OPTIONS';

/** Seconds for which a client may keep a document. */
const MAX_AGE = 300;

/** Answers requests for metadata; `null` when a path is none of its. */
export type MetadataHandler = (method: string, path: string) => GuardResponse | null;

/**
 * Serves each document at the path form of its resource, and at the root form too when it is the only one.
 * The document at a URL MUST name the resource from which that URL was made; other paths are not found.
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

/** Where clients look for the metadata of an authorization server at this origin. */
const AUTHORIZATION_SERVER_ROOTS = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
];

/**
 * 404 for metadata of an authorization server, where a request for it has come as far as the guard: nobody has it, and
 * a client that looks for it has no token yet.
 */
export function authorizationServerMetadataNotFound(path: string): GuardResponse | null {
  return path.startsWith('/.well-known/o') &&
    AUTHORIZATION_SERVER_ROOTS.some((root) => isAtOrBelow(root, path))
    ? NOT_FOUND
    : null;
}

/** Where the document of a resource stands. */
export function resourceMetadataUrl(resource: string): string {
  return resourceMetadataUrls(resource)[0] ?? '';
}

function requestTargetOf(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

function isAtOrBelow(root: string, path: string): boolean {
  return path === root || path.startsWith(`${root}/`);
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
  { error: 'method_not_allowed', error_description: 'A metadata document can only be read.' },
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
