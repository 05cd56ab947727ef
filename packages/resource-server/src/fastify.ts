/** The guard as Fastify hooks. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OAuthError } from '@portcullis/protocol/protected-resource';
import type { GuardAnswer } from './answers.ts';
import { carriedPrincipal, carryPrincipal } from './carrier.ts';
import type { Admission, Facts, Guard } from './guard.ts';
import { type FactsBeyond, factsOfNode, receiveNode } from './node-request.ts';
import { attendTo } from './node-stream.ts';
import { checkRouteOptions, type RouteOptions } from './route-options.ts';
import { NO_HEADERS } from './standing.ts';

export { principalOf } from './carrier.ts';
export type { RouteOptions } from './route-options.ts';

/** A request of Fastify, as far as the guard needs it. */
interface FastifyRequest {
  readonly raw: IncomingMessage;
  readonly originalUrl: string;
  /** Once it is parsed. */
  readonly body?: unknown;
}

/** A reply of Fastify, as far as the guard needs it. */
interface FastifyReply {
  readonly raw: ServerResponse;
  code(status: number): FastifyReply;
  headers(values: Record<string, string>): FastifyReply;
  send(payload?: unknown): FastifyReply;
}

type Done = (error?: Error) => void;

/**
 * An `onRequest` hook that admits a request to its route, or answers it. `principalOf(request)` tells the handler on
 * whose behalf. The body is still to be parsed then, and is. As a `preHandler` hook it takes the body as it was parsed.
 */
export function protect(
  guard: Guard,
  options: RouteOptions = {},
): (request: FastifyRequest, reply: FastifyReply, done: Done) => void {
  checkRouteOptions(options);
  const attend = attendTo(guard);
  return (request, reply, done) => {
    const facts = beyond(request, options);
    const admission = guard.admit(receiveNode(request.raw, facts));
    const isFirst = facts.principal === undefined;
    if (!(admission instanceof Promise)) pass(admission, isFirst, request, reply, done);
    else admission.then((later) => pass(later, isFirst, request, reply, done)).catch(done);
  };

  function pass(
    admission: Admission,
    isFirst: boolean,
    request: FastifyRequest,
    reply: FastifyReply,
    done: Done,
  ): void {
    if (!admission.admitted) {
      sendAnswer(reply, admission.answer);
      return;
    }
    if (isFirst) attend?.(admission.principal, reply.raw);
    carryPrincipal(request, admission.principal);
    if (admission.headers !== NO_HEADERS) reply.headers({ ...admission.headers });
    done();
  }
}

/** An `onRequest` hook for the whole application: serves the metadata documents, and preflights of the resources. */
export function publish(guard: Guard): (request: FastifyRequest, reply: FastifyReply, done: Done) => void {
  return (request, reply, done) => {
    const answer = guard.answer(factsOf(request));
    if (answer === null) done();
    else sendAnswer(reply, answer);
  };
}

/** An error handler: an `OAuthError` becomes the guard's challenge, any other error goes to the handler above. */
export function refusals(
  guard: Guard,
): (error: unknown, request: FastifyRequest, reply: FastifyReply) => void {
  return (error, request, reply) => {
    if (error instanceof OAuthError) sendAnswer(reply, guard.refuse(error, factsOf(request)));
    else reply.send(error);
  };
}

function factsOf(request: FastifyRequest): Facts {
  return factsOfNode(request.raw, beyond(request));
}

function beyond(request: FastifyRequest, { scopes }: RouteOptions = {}): FactsBeyond {
  const { originalUrl: url, body: parsed } = request;
  return { url, scopes, principal: carriedPrincipal(request), parsed };
}

function sendAnswer(reply: FastifyReply, { status, headers, body }: GuardAnswer): void {
  reply
    .code(status)
    .headers({ ...headers })
    .send(body ?? undefined);
}
