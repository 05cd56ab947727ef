/** The endpoints of the transmitter, behind its guard: one table of paths and methods; a GET request reads, any other manages. */
import { type HttpResponse, readJsonBody, respond, respondJson } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import { SSF_MANAGE, SSF_PATH, SSF_READ } from './options.ts';
import { StreamError } from './stream-error.ts';
import type { ReceiverStreams } from './streams.ts';

/** The names of the endpoints in the configuration document, by their paths. @see Shared Signals Framework 1.0 §7.1 */
export const ENDPOINTS = {
  configuration_endpoint: `${SSF_PATH}/streams`,
  status_endpoint: `${SSF_PATH}/status`,
  add_subject_endpoint: `${SSF_PATH}/subjects/add`,
  remove_subject_endpoint: `${SSF_PATH}/subjects/remove`,
  verification_endpoint: `${SSF_PATH}/verification`,
} as const;

const POLL_PATH = `${SSF_PATH}/poll/`;

/** A request of a receiver. */
export interface StreamRequest {
  readonly streams: ReceiverStreams;
  /** The path of a polled stream ends with its identifier. */
  poll(id: string, body: object): Promise<object>;
  /** @throws OAuthError `insufficient_scope` */
  requireScope(scope: string): void;
  readonly request: Request;
}

type Handle = (task: StreamRequest & { readonly body: object; readonly id: string }) => Promise<HttpResponse>;

async function respondEmpty(done: Promise<void>, status: 200 | 204 = 204): Promise<HttpResponse> {
  await done;
  return respond(status, { 'cache-control': 'no-store' });
}

/** @throws StreamError */
function requireId(id: string): string {
  if (id === '') throw new StreamError(400, 'The stream_id is missing.');
  return id;
}

/** @see Shared Signals Framework 1.0 §8.1.1 to §8.1.4 */
const TABLE: Readonly<Record<string, Readonly<Record<string, Handle>>>> = {
  [ENDPOINTS.configuration_endpoint]: {
    GET: async ({ streams, id }) => respondJson(await (id === '' ? streams.list() : streams.show(id))),
    POST: async ({ streams, body }) => respondJson(await streams.create(body), { status: 201 }),
    PATCH: async ({ streams, body }) => respondJson(await streams.change(body, false)),
    PUT: async ({ streams, body }) => respondJson(await streams.change(body, true)),
    DELETE: ({ streams, id }) => respondEmpty(streams.remove(requireId(id))),
  },
  [ENDPOINTS.status_endpoint]: {
    GET: async ({ streams, id }) => respondJson(await streams.status(requireId(id))),
    POST: async ({ streams, body }) => respondJson(await streams.changeStatus(body)),
  },
  [ENDPOINTS.add_subject_endpoint]: {
    POST: ({ streams, body }) => respondEmpty(streams.changeSubject(body, 'add'), 200),
  },
  [ENDPOINTS.remove_subject_endpoint]: {
    POST: ({ streams, body }) => respondEmpty(streams.changeSubject(body, 'remove')),
  },
  [ENDPOINTS.verification_endpoint]: {
    POST: ({ streams, body }) => respondEmpty(streams.requestVerification(body)),
  },
  [POLL_PATH]: { POST: async ({ poll, id, body }) => respondJson(await poll(id, body)) },
};

/** @throws OAuthError of the guard, for its challenge */
export async function respondToReceiver(task: StreamRequest): Promise<HttpResponse> {
  const { request } = task;
  const { pathname, searchParams } = new URL(request.url);
  try {
    const isPoll = pathname.startsWith(POLL_PATH);
    const path = isPoll ? POLL_PATH : pathname;
    const methods = Object.hasOwn(TABLE, path) ? TABLE[path] : undefined;
    if (methods === undefined) throw new StreamError(404, 'There is nothing at this path.');
    const handle = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
    if (handle === undefined) {
      const allow = Object.keys(methods).join(', ');
      throw new StreamError(405, `This path supports ${allow}.`, { allow });
    }
    task.requireScope(request.method === 'GET' ? SSF_READ : SSF_MANAGE);
    const id = isPoll ? pathname.slice(POLL_PATH.length) : (searchParams.get('stream_id') ?? '');
    return await handle({ ...task, id, body: await readBody(request) });
  } catch (error) {
    if (!(error instanceof StreamError)) throw error;
    const { status, headers } = error;
    return respondJson({ description: error.message }, { status, headers });
  }
}

async function readBody(request: Request): Promise<object> {
  if (request.method === 'GET' || request.method === 'DELETE') return {};
  try {
    const body = await readJsonBody(request as Parameters<typeof readJsonBody>[0]);
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body;
  } catch (error) {
    if (!(error instanceof OAuthError) || error.code === 'temporarily_unavailable') throw error;
    const status = error.status === 413 || error.status === 415 ? error.status : 400;
    throw new StreamError(status, error.description);
  }
  throw new StreamError(400, 'The body must be a JSON object.');
}
