/** The SCIM endpoint `/scim/v2`: authenticates a provisioning connection, and responds in SCIM's form. @see RFC 7644 */
import { setImmediate } from 'node:timers/promises';
import {
  bearerChallenge,
  type HttpRequest,
  type HttpResponse,
  pathOf,
  queryOf,
  readJsonBody,
  respond,
} from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import type { Route } from '../http/router.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { handleBulk } from './bulk.ts';
import { createOperations, type ScimContext } from './operations.ts';
import { handleScimRequest, type ScimOutcome, type ScimRequest, type ScimService } from './requests.ts';
import { ScimError, scimErrorDocument } from './scim-error.ts';
import { findServiceDocument, MAX_PAYLOAD } from './service-documents.ts';
import { authenticateConnection } from './tokens.ts';

const ENDPOINT = '/scim/v2';
/** Methods with a body. */
const BODIES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** What a body of members may have: 20,000 members of a group would exceed the bytes. */
const BODY = {
  types: ['application/scim+json', 'application/json'],
  bytes: MAX_PAYLOAD,
  limits: { depth: 16, members: 60_000, values: 100_000 },
};

/** Nothing unless an identity provider has `scim`. */
export function createScimEndpoint(context: ScimContext): readonly Route[] {
  const checkRate = createRateLimitCheck(context, 'scim');
  const runInSlot = createScimSemaphore();
  const base = `${new URL(context.options.issuer).origin}${ENDPOINT}`;
  const handle = async (request: HttpRequest): Promise<HttpResponse> => {
    const type = responseTypeOf(request);
    try {
      const connection = await authenticateConnection(context, request);
      const charge = () => checkRate(connection.identityProvider.id);
      await charge();
      const operations = createOperations(context, connection);
      // Its body is read before it waits for a slot: it may arrive slowly.
      const body = BODIES.has(request.method) ? await readJsonBody(request, 'invalid_request', BODY) : null;
      const outcome = await dispatch(
        { context, connection, operations, base, runInSlot },
        readRequest(request, body),
        charge,
      );
      return respondScim(outcome, type);
    } catch (error) {
      return respondScimError(context, request, error, type);
    }
  };
  return METHODS.map((method) => ({ method, path: `${ENDPOINT}/*`, handle }));
}

/**
 * Operations at the same time, which SQLite flushes to the disk together. On PostgreSQL, more would wait for the lock that all writes of
 * provisioning take, each with a connection to the database that a token request needs.
 */
const CONCURRENCY = 4;

/** Others are served in between, however many requests an identity provider sends at once. */
export function createScimSemaphore(): ScimService['runInSlot'] {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (perform) => {
    if (running >= CONCURRENCY) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      // What has arrived meanwhile comes first.
      await setImmediate();
      return await perform();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

function readRequest(request: HttpRequest, body: unknown): ScimRequest {
  return {
    method: request.method === 'HEAD' ? 'GET' : request.method,
    path: pathOf(request).slice(ENDPOINT.length),
    parameters: new URLSearchParams(queryOf(request)),
    ifMatch: request.headers.get('if-match'),
    ifNoneMatch: request.headers.get('if-none-match'),
    body,
  };
}

async function dispatch(
  service: ScimService,
  request: ScimRequest,
  charge: () => Promise<void> | undefined,
): Promise<ScimOutcome> {
  const { method, path, parameters, body } = request;
  // A token is of a connection, not of a user. @see §3.11
  if (path === '/Me' || path.startsWith('/Me/'))
    throw new ScimError(501, null, 'No user is authenticated here.');
  if (path === '/Bulk' && method === 'POST')
    return { status: 200, headers: {}, document: await handleBulk(service, body, charge) };
  const document =
    method === 'GET' ? findServiceDocument(path, parameters.get('filter') !== null, service.base) : null;
  return document === null
    ? service.runInSlot(() => handleScimRequest(service, request))
    : { status: 200, headers: {}, document };
}

const HEADERS = { 'cache-control': 'no-store' };

/** JSON for services that accept nothing of SCIM, as OneLogin does. @see RFC 7644 §3.8 */
function responseTypeOf({ headers }: HttpRequest): string {
  const accepted = headers.get('accept')?.toLowerCase() ?? '';
  const isPlain = accepted.includes('application/json') && !accepted.includes('application/scim+json');
  return isPlain ? 'application/json' : 'application/scim+json';
}

function respondScim({ status, headers, document }: ScimOutcome, type: string): HttpResponse {
  if (document === null) return respond(status, { ...HEADERS, ...headers });
  return respond(status, { 'content-type': type, ...HEADERS, ...headers }, JSON.stringify(document));
}

/** The rejection is recorded as at every endpoint; the service learns what it can fix. */
function respondScimError(
  { events }: ScimContext,
  request: HttpRequest,
  error: unknown,
  type: string,
): HttpResponse {
  const endpoint = ENDPOINT;
  const respondWith = (error: Parameters<typeof scimErrorDocument>[0], headers = {}) =>
    respondScim({ status: error.status, headers, document: scimErrorDocument(error) }, type);
  if (error instanceof ScimError) {
    const { status, scimType, detail: reason } = error;
    events({ type: 'request.rejected', endpoint, error: scimType ?? String(status), reason });
    return respondWith(error);
  }
  if (error instanceof OAuthError) {
    const { status, code, description, reason = description, retryAfter } = error;
    events({ type: 'request.rejected', endpoint, error: code, reason });
    const scimType = status === 400 ? 'invalidSyntax' : null;
    const headers = {
      ...(code === 'invalid_token' && { 'www-authenticate': bearerChallenge('scim', request) }),
      ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
    };
    return respondWith({ status, scimType, detail: description }, headers);
  }
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  events({ type: 'request.failed', endpoint, reason });
  return respondWith({ status: 500, scimType: null, detail: 'The server met an unexpected condition.' });
}
