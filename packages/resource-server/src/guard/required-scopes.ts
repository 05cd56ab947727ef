/** The scopes that a request needs: those of the resource, of the route, and of every operation in its body. */
import {
  checkJsonMembers,
  isScope,
  OAuthError,
  type Scopes,
  unionScopes,
} from '@portcullis/protocol/protected-resource';
import type { ProtectedResource } from '../settings.ts';
import { readOperations } from './operations.ts';

/** Reads a body: text, bytes or what was parsed already. @throws OAuthError 413 beyond the limit in bytes. */
export type ReadBody = (limit: number) => Promise<unknown>;

/** What a body that is longer than the limit is refused with. */
export function bodyTooLarge(limit: number): OAuthError {
  return new OAuthError('invalid_request', `The body may be ${limit} bytes long at most.`, {
    status: 413,
    reason: 'body is too long',
  });
}

/**
 * Refuses a body that an application may read as something else than its bytes say here: some readers decode whatever
 * character set a request names, and unpack what is compressed.
 */
export function checkPlainEncoding(
  type: string | null | undefined,
  encoding: string | null | undefined,
): void {
  const isUtf8 = !/charset/i.test(type ?? '') || CHARSET_UTF8.test(type ?? '');
  if (!isUtf8 || !/^(?:identity)?$/i.test(encoding ?? '')) throw unreadableBody();
}

/** It names one character set, once, in plain words. */
const CHARSET_UTF8 = /^(?:(?!charset).)*;\s*charset=(?:utf-?8|"utf-?8")\s*(?:;(?:(?!charset).)*)?$/i;

/** A body from its chunks, whose lengths sum up to a length in bytes. */
export function concatChunks(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.byteLength;
  }
  return body;
}

/** The scopes that are needed whatever the body says. */
export function staticScopes(resource: ProtectedResource, routeScopes: Scopes | undefined): Scopes {
  return routeScopes === undefined ? resource.scopes : unionScopes(resource.scopes, routeScopes);
}

/**
 * All scopes that a request needs, so that a client need not ask twice.
 * @throws OAuthError `invalid_request` when the body is not JSON: what cannot be read cannot be judged.
 */
export async function requiredScopes(
  resource: ProtectedResource,
  routeScopes: Scopes | undefined,
  readBody: ReadBody | undefined,
  bodyLimit: number,
): Promise<Scopes> {
  const known = staticScopes(resource, routeScopes);
  if (resource.scopesFor === null || readBody === undefined) return known;
  return scopesOfBody(resource.scopesFor, readBody(bodyLimit), known);
}

async function scopesOfBody(
  scopesFor: NonNullable<ProtectedResource['scopesFor']>,
  body: Promise<unknown>,
  known: Scopes,
): Promise<Scopes> {
  const needed = new Set(known);
  for (const operation of readOperations(parse(await body))) {
    for (const scope of scopesFor(operation)) needed.add(scope);
  }
  const wrong = [...needed].find((scope) => !isScope(scope));
  if (wrong !== undefined)
    throw new TypeError(`scopesFor returned ${JSON.stringify(wrong)}, which is no scope`);
  return [...needed];
}

/** How deep objects and arrays of a body may nest. */
const MAX_DEPTH = 500;

/** Nothing is hidden in an empty body; anything else must be JSON, in UTF-8, with names that all readers read alike. */
function parse(body: unknown): unknown {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return body;
  if (body.length === 0) return undefined;
  try {
    const text = typeof body === 'string' ? body : new TextDecoder('utf-8', { fatal: true }).decode(body);
    const value: unknown = JSON.parse(text);
    checkJsonMembers(text, value, MAX_DEPTH);
    return value;
  } catch {
    throw unreadableBody();
  }
}

function unreadableBody(): OAuthError {
  return new OAuthError(
    'invalid_request',
    'The body must be JSON in UTF-8, not compressed, without repeated members.',
    {
      reason: 'body could not be read as JSON',
    },
  );
}
