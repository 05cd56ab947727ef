/** The guard as Fastify hooks. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OAuthError } from '@portcullis/protocol';
import { NO_HEADERS } from '../guard/verified-token.ts';
import type { Guard, GuardDecision, RequestInfo } from '../guard.ts';
import type { GuardResponse } from '../guard-response.ts';
import { type AdapterInfo, nodeRequestInfo, takeNodeRequest } from './node-request.ts';
import { nodeStreamWatcher } from './node-stream.ts';
import {
  attachedPrincipal,
  attachPrincipal,
  checkRouteOptions,
  type RouteOptions,
  whenDecided,
} from './route.ts';

export { principalOf } from './route.ts';

/** The part of a Fastify request that the guard needs. */
interface FastifyRequest {
  readonly raw: IncomingMessage;
  readonly originalUrl: string;
  /** The parsed body, once it is parsed. */
  readonly body?: unknown;
}

/** The part of a Fastify reply that the guard needs. */
interface FastifyReply {
  readonly raw: ServerResponse;
  code(status: number): FastifyReply;
  headers(values: Record<string, string>): FastifyReply;
  send(payload?: unknown): FastifyReply;
}

type Done = (error?: Error) => void;

/**
 * An `onRequest` hook that authorizes a request, or responds itself. Handlers get the principal with
 * `principalOf(request)`. The body is not parsed yet at that point, but will be. As a `preHandler` hook it uses the
 * parsed body.
 * @throws ConfigurationError for unknown options
 */
export function protect(
  guard: Guard,
  options: RouteOptions = {},
): (request: FastifyRequest, reply: FastifyReply, done: Done) => void {
  checkRouteOptions(options);
  const attend = nodeStreamWatcher(guard);
  return (request, reply, done) => {
    const requestInfo = adapterInfo(request, options);
    const pass = (decision: GuardDecision) => {
      if (!decision.authorized) return sendReply(reply, decision.response);
      if (requestInfo.principal === undefined) attend?.(decision.principal, reply.raw);
      attachPrincipal(request, decision.principal);
      if (decision.headers !== NO_HEADERS) reply.headers({ ...decision.headers });
      done();
    };
    whenDecided(guard.authorize(takeNodeRequest(request.raw, requestInfo)), pass, done);
  };
}

/**
 * An `onRequest` hook for the whole application: serves protected resource metadata, and preflights of the resources.
 * @see RFC 9728 §3
 */
export function serveMetadata(
  guard: Guard,
): (request: FastifyRequest, reply: FastifyReply, done: Done) => void {
  return (request, reply, done) => {
    const guardResponse = guard.publicResponse(fastifyRequestInfo(request));
    if (guardResponse === null) done();
    else sendReply(reply, guardResponse);
  };
}

/**
 * Error handler: converts an `OAuthError` to the guard's challenge and passes other errors to the parent handler.
 * @see RFC 6750 §3
 */
export function errorHandler(
  guard: Guard,
): (error: unknown, request: FastifyRequest, reply: FastifyReply) => void {
  return (error, request, reply) => {
    if (error instanceof OAuthError)
      sendReply(reply, guard.errorResponse(error, fastifyRequestInfo(request)));
    else reply.send(error);
  };
}

function fastifyRequestInfo(request: FastifyRequest): RequestInfo {
  return nodeRequestInfo(request.raw, adapterInfo(request));
}

function adapterInfo(request: FastifyRequest, { scopes }: RouteOptions = {}): AdapterInfo {
  const { originalUrl: url, body: parsed } = request;
  return { url, scopes, principal: attachedPrincipal(request), parsed };
}

function sendReply(reply: FastifyReply, { status, headers, body }: GuardResponse): void {
  reply
    .code(status)
    .headers({ ...headers })
    .send(body ?? undefined);
}
