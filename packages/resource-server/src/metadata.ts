/** Protected resource metadata: which document stands at which path, and how it is served. */
import {
  type ProtectedResourceMetadata,
  resourceMetadataUrls,
} from '@portcullis/protocol/protected-resource';
import { answerJson, type GuardAnswer } from './answers.ts';
import { PUBLIC_DOCUMENT, REQUEST_HEADERS } from './origins.ts';

/** Every path under it is answered by the guard itself, and never asks for a token. */
const ROOT = '/.well-known/oauth-protected-resource';

const METHODS = 'GET, HEAD, OPTIONS';

/** Seconds for which a client may keep a document. */
const MAX_AGE = 300;

/** Answers requests for metadata; `null` when a path is none of its. */
export type MetadataRoom = (method: string, path: string) => GuardAnswer | null;

/**
 * Serves each document at the path form of its resource, and at the root form too when it is the only one.
 * The document at a URL MUST name the resource from which that URL was made; other paths are not found.
 * @see RFC 9728 §3
 */
export function createMetadataRoom(documents: readonly ProtectedResourceMetadata[]): MetadataRoom {
  const served = new Map<string, GuardAnswer>();
  for (const document of documents) {
    const paths = resourceMetadataUrls(document.resource).map(targetOf);
    const answer = documentAnswer(document);
    for (const path of documents.length === 1 ? paths : paths.slice(0, 1)) served.set(path, answer);
  }
  return (method, path) => {
    if (!path.startsWith(ROOT) || !isUnder(ROOT, path)) return null;
    const answer = served.get(path);
    if (answer === undefined) return NOT_FOUND;
    if (method === 'GET') return answer;
    if (method === 'HEAD') return { ...answer, body: null };
    return method === 'OPTIONS' ? PREFLIGHT : WRONG_METHOD;
  };
}

/** Where clients look for the metadata of an authorization server at this origin. */
const FOREIGN_ROOTS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];

/**
 * 404 for metadata of an authorization server, where a request for it has come as far as the guard: nobody has it, and
 * a client that looks for it has no token yet.
 */
export function foreignMetadataAnswer(path: string): GuardAnswer | null {
  return path.startsWith('/.well-known/o') && FOREIGN_ROOTS.some((root) => isUnder(root, path))
    ? NOT_FOUND
    : null;
}

/** Where the document of a resource stands. */
export function metadataUrlOf(resource: string): string {
  return resourceMetadataUrls(resource)[0] ?? '';
}

function targetOf(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

function isUnder(root: string, path: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}

function documentAnswer(document: ProtectedResourceMetadata): GuardAnswer {
  return answerJson(
    200,
    { ...document },
    {
      ...PUBLIC_DOCUMENT,
      'cache-control': `public, max-age=${MAX_AGE}`,
    },
  );
}

const NOT_FOUND: GuardAnswer = answerJson(
  404,
  { error: 'not_found', error_description: 'There is no metadata document at this path.' },
  PUBLIC_DOCUMENT,
);

const WRONG_METHOD: GuardAnswer = answerJson(
  405,
  { error: 'method_not_allowed', error_description: 'A metadata document can only be read.' },
  { ...PUBLIC_DOCUMENT, allow: METHODS },
);

const PREFLIGHT: GuardAnswer = {
  status: 204,
  headers: {
    ...PUBLIC_DOCUMENT,
    allow: METHODS,
    'access-control-allow-methods': METHODS,
    'access-control-allow-headers': REQUEST_HEADERS,
    'access-control-max-age': '600',
  },
  body: null,
};
