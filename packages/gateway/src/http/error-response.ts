/** Errors of the gateway as JSON-RPC error responses with an HTTP status. */

import type { ServerResponse } from 'node:http';
import { errorCodes } from '@portcullis/http';
import { isLasting } from '@portcullis/http/node';
import { BackendError } from '../backends/backend.ts';
import { MAY_HAVE_RUN } from '../backends/clients/reply.ts';
import { metaKeys } from '../backends/revisions.ts';
import { GatewayError } from '../messages/gateway-error.ts';
import { UserActionRequired } from '../messages/user-action.ts';
import { closeUnread } from './headers.ts';

/** Ends a request with a result that asks the client for input. @see MCP 2026-07-28, multi round-trip requests */
export function inputRequired(asked: Readonly<Record<string, unknown>>): GatewayError {
  const result = { resultType: 'input_required', ...asked };
  return new GatewayError(200, 'internal', 'The client is asked for input.', { result });
}

/** @param retryAfter seconds */
export function unavailable(message: string, retryAfter: number, cause?: unknown): GatewayError {
  const headers = retryHeader(retryAfter);
  return new GatewayError(503, 'internal', message, { headers, ...(cause !== undefined && { cause }) });
}

function retryHeader(seconds: number): readonly string[] {
  return ['retry-after', String(Math.max(1, Math.ceil(seconds)))];
}

/** The connection broke, or the time was over, after the request was sent. @see RFC 9110 §9.2.2 */
export class OutcomeUnknown extends GatewayError {
  override readonly name = 'OutcomeUnknown';
  readonly #what: string;

  /** @param what of the backend, such as `Files does not respond` */
  constructor(what: string) {
    const headers = retryHeader(1);
    super(503, 'internal', `${what} at the moment. Try again later.`, { headers });
    this.#what = what;
  }

  /** The error for a call, which must not be repeated without a look at what it did. */
  ofCall(): GatewayError {
    return badGateway(`${this.#what} at the moment. ${MAY_HAVE_RUN}`);
  }
}

export function badGateway(message: string): GatewayError {
  return new GatewayError(502, 'internal', message);
}

/** The error for a backend that did not respond. */
export function failureOfBackend(error: BackendError): GatewayError {
  const { message, retryAfter } = error;
  return retryAfter === null ? badGateway(message) : unavailable(message, retryAfter, error);
}

/** Too many calls. @param retryAfter seconds */
export function tooManyCalls(message: string, retryAfter: number): GatewayError {
  return new GatewayError(429, 'internal', message, { headers: retryHeader(retryAfter) });
}

/**
 * Responds with the error, or cuts a response that has begun.
 * @param id JSON text of the id of the JSON-RPC request, if it is known
 * @param common headers of every response, as a flat list
 */
export function sendError(
  outgoing: ServerResponse,
  error: unknown,
  common: readonly string[],
  id: string | null = null,
): void {
  if (outgoing.headersSent) return void outgoing.destroy();
  const { status, code, message, headers, details, result } = toGatewayError(error);
  if (result !== null) return void sendResult(outgoing, result, common, id);
  const failure = JSON.stringify({ code, message, ...(details !== undefined && { data: details }) });
  // Clients show this JSON-RPC error with its link; other errors are HTTP errors.
  const isAnswer = code === errorCodes.urlElicitationRequired && id !== null;
  send(outgoing, isAnswer ? 200 : status, `"error":${failure}`, [...common, ...headers], id);
}

/** Responds with a result of the gateway itself. The parameters are those of `sendError`. */
export function sendResult(
  outgoing: ServerResponse,
  result: Readonly<Record<string, unknown>>,
  common: readonly string[],
  id: string | null,
): void {
  send(outgoing, 200, `"result":${JSON.stringify(result)}`, common, id);
}

export function shuttingDown(): GatewayError {
  return unavailable('The server is shutting down. Send the request again.', 1);
}

/**
 * Ends an event stream between two events because this process shuts down: a subscription with its response, and with an error each
 * request that may not have been answered.
 * @param ids JSON texts
 * @see MCP 2026-07-28, subscriptions, graceful closure
 */
export function endStreamAtShutdown(outgoing: ServerResponse, ids: Iterable<string>): void {
  const { code, message } = shuttingDown();
  const failure = JSON.stringify({ code, message });
  const { req } = outgoing;
  const isSubscription = req.method === 'POST' && isLasting(req);
  const contentOf = (id: string) =>
    isSubscription
      ? `"result":{"resultType":"complete","_meta":{"${metaKeys.subscriptionId}":${id}}}`
      : `"error":${failure}`;
  const events = [...ids].map(
    (id) => `event: message\ndata: {"jsonrpc":"2.0",${contentOf(id)},"id":${id}}\n\n`,
  );
  outgoing.end(events.join(''));
}

function send(
  outgoing: ServerResponse,
  status: number,
  content: string,
  headers: readonly string[],
  id: string | null,
): void {
  const body = `{"jsonrpc":"2.0",${content},"id":${id ?? 'null'}}`;
  const fields = ['content-type', 'application/json', 'cache-control', 'no-store', ...headers];
  closeUnread(outgoing);
  outgoing.writeHead(status, [...fields, 'content-length', String(Buffer.byteLength(body))]).end(body);
}

function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof BackendError) return failureOfBackend(error);
  if (error instanceof UserActionRequired)
    return new GatewayError(403, 'urlElicitationRequired', error.message, { details: error.elicitations() });
  return unavailable('Something went wrong here. Try again later.', 5);
}
