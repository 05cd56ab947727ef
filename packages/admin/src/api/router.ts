/** Runs the endpoints: finds one, validates the request, checks what it depends on, and writes the response. */
import { hash } from 'node:crypto';
import { readJsonBody, respondJson, toResponse } from '@portcullis/http';
import { inHttpSpan, OAuthError, startEndpointSpan } from '@portcullis/protocol';
import type { Administration, AuthorizedCaller, Operator } from '../operations/administration.ts';
import { createFindRoute } from '../routes.ts';
import { API_PATH } from '../settings.ts';
import type { Endpoint } from './endpoint.ts';
import { ProblemError, respondProblem } from './problem.ts';

/** An authorized request. */
interface AuthorizedRequest extends AuthorizedCaller {
  readonly request: Request;
  /** Below the path of the API. */
  readonly path: string;
}

export type HandleApi = (request: AuthorizedRequest) => Promise<Response>;

export function createApi(admin: Administration, endpoints: readonly Endpoint[]): HandleApi {
  const findRoute = createFindRoute(endpoints);
  return async (given) => {
    try {
      const found = findRoute(given.request.method, given.path);
      if (found.route === null)
        throw new ProblemError(found.status, ROUTE_REFUSALS[found.status](found.methods));
      const { route: endpoint, params } = found;
      given.requireScope(endpoint.scope);
      // Operators may choose the trace.
      const span = startEndpointSpan(given.request, `${API_PATH}${endpoint.path}`, true);
      return await inHttpSpan(span, 500, () => run(admin, endpoint, params, given).catch(respondProblem));
    } catch (error) {
      return respondProblem(error);
    }
  };
}

const ROUTE_REFUSALS = {
  400: () => 'The path is not percent-encoded UTF-8.',
  404: () => 'There is nothing at this path: openapi.json lists all that there are.',
  405: (methods: readonly string[]) => `This path supports ${methods.join(', ')}.`,
} as const;

async function run(
  admin: Administration,
  endpoint: Endpoint,
  rawParams: Readonly<Record<string, string>>,
  { request, operator, isStillPermitted }: AuthorizedRequest,
): Promise<Response> {
  const params = validate(endpoint.params, rawParams, 'path');
  const rawQuery = validate(endpoint.query, readQuery(request), 'query');
  const rawBody =
    endpoint.body === null ? {} : validate(endpoint.body, await readRequestBody(request), 'body');
  const { reason = null, ...body } = rawBody as { readonly reason?: string };
  const { reason: queryReason = null, ...query } = rawQuery as { readonly reason?: string };
  const task = {
    ...{ admin, operator, params, query, body, signal: request.signal },
    isStillPermitted: () => isStillPermitted(endpoint.scope),
    reason: reason ?? queryReason,
  };
  const showCurrent = async ({ handle, response }: Endpoint) => response.parse(await handle(task));
  if (endpoint.method !== 'GET') {
    await checkCurrent(endpoint, showCurrent, request);
    await checkFirst(admin, operator, request);
  }
  const result = await endpoint.handle(task);
  if (result instanceof Response) return result;
  const document = endpoint.response.parse(result);
  // A PATCH may respond with something else than the representation.
  const isOther = endpoint.method === 'PATCH' && endpoint.current !== null;
  return respond(
    endpoint,
    document,
    etagOf(isOther ? await showCurrent(endpoint.current) : document),
    request,
  );
}

/** @throws ProblemError with every issue */
function validate(schema: Endpoint['params'], value: unknown, at: string): Readonly<Record<string, unknown>> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => ({ at: [at, ...path].join('.'), message }));
  throw new ProblemError(400, `The ${at} of the request is not as openapi.json describes it.`, issues);
}

/** Each parameter at most once. @throws ProblemError */
function readQuery({ url }: Request): Readonly<Record<string, string>> {
  const { searchParams } = new URL(url);
  const repeated = [...searchParams.keys()].find((name) => searchParams.getAll(name).length > 1);
  if (repeated !== undefined)
    throw new ProblemError(400, 'A query parameter is repeated.', [
      { at: `query.${repeated}`, message: 'repeated' },
    ]);
  return Object.fromEntries(searchParams);
}

/** An empty body is an empty object. @throws ProblemError */
async function readRequestBody(request: Request): Promise<unknown> {
  const { headers, body } = request;
  if (body === null || headers.get('content-length') === '0') return {};
  try {
    return await readJsonBody(request as Parameters<typeof readJsonBody>[0]);
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const status = error.status === 413 || error.status === 415 ? error.status : 400;
    throw new ProblemError(status, error.description);
  }
}

/** @see RFC 9110 §13.1.1 */
async function checkCurrent(
  { current }: Endpoint,
  show: (endpoint: Endpoint) => Promise<unknown>,
  { headers }: Request,
): Promise<void> {
  const expected = headers.get('if-match');
  if (expected === null) return;
  if (current === null) throw new ProblemError(400, 'This change has no If-Match: leave the header out.');
  const found = await show(current);
  if (expected !== '*' && !expected.split(/\s*,\s*/).includes(etagOf(found)))
    throw new ProblemError(412, 'It has changed since you read it: read it again before you decide.');
}

/** Seconds for which a key is remembered. */
const KEY_LIFETIME = 86_400;

/**
 * A change with the same `Idempotency-Key` is made once. The response is not stored, as it may have a secret: a retry is told that the
 * first request arrived.
 * @see draft-ietf-httpapi-idempotency-key-header
 */
async function checkFirst(
  { store, clock }: Administration,
  { accountId, clientId }: Operator,
  { headers }: Request,
): Promise<void> {
  const key = headers.get('idempotency-key');
  if (key === null) return;
  if (key.length > 255 || !/^[\x21-\x7e]+$/.test(key))
    throw new ProblemError(400, 'The Idempotency-Key must have at most 255 printable ASCII characters.');
  const unique = hash('sha256', JSON.stringify(['admin', accountId ?? clientId, key]), 'base64url');
  if (!(await store.consumeClientAssertion(`admin:${unique}`, clock() + KEY_LIFETIME)))
    throw new ProblemError(
      409,
      'A request with this Idempotency-Key was received before: read what it changes to see its outcome.',
    );
}

function respond(
  { status = 200, method }: Endpoint,
  document: unknown,
  etag: string,
  { headers }: Request,
): Response {
  const isRead = method === 'GET';
  if (isRead && headers.get('if-none-match') === etag)
    return new Response(null, { status: 304, headers: { etag, 'cache-control': 'no-store' } });
  return toResponse(respondJson(document, { status, headers: isRead || method === 'PATCH' ? { etag } : {} }));
}

/** A strong validator of a representation. @see RFC 9110 §8.8.3 */
function etagOf(document: unknown): string {
  return `"${hash('sha256', JSON.stringify(document), 'base64url').slice(0, 22)}"`;
}
