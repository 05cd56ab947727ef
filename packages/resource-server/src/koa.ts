/** The guard as Koa middleware. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OAuthError } from '@portcullis/protocol/protected-resource';
import type { GuardAnswer } from './answers.ts';
import { carriedPrincipal, carryPrincipal } from './carrier.ts';
import type { Guard } from './guard.ts';
import { addHeaders, type FactsBeyond, factsOfNode, receiveNode } from './node-request.ts';
import { attendTo } from './node-stream.ts';
import { checkRouteOptions, type RouteOptions } from './route-options.ts';

export { principalOf } from './carrier.ts';
export type { RouteOptions } from './route-options.ts';

/** A context of Koa, as far as the guard needs it. */
interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Where body parsers leave what they read. */
  readonly request: object;
  readonly originalUrl: string;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
}

type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>;

/**
 * Admits a request to what follows, or answers it. `principalOf(context)` tells what follows on whose behalf.
 * An `OAuthError` that is thrown behind it becomes the guard's challenge; other errors go on.
 */
export function protect(guard: Guard, options: RouteOptions = {}): KoaMiddleware {
  checkRouteOptions(options);
  const attend = attendTo(guard);
  return async (context, next) => {
    const facts = receiveNode(context.req, beyond(context, options));
    const admitting = guard.admit(facts);
    const admission = admitting instanceof Promise ? await admitting : admitting;
    if (!admission.admitted) return sendAnswer(context, admission.answer);
    addHeaders(context.res, admission.headers);
    if (facts.principal === undefined) attend?.(admission.principal, context.res);
    carryPrincipal(context, admission.principal);
    try {
      await next();
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      sendAnswer(context, guard.refuse(error, facts));
    }
  };
}

/** Serves the metadata documents, and preflights of the resources. Put it first. */
export function publish(guard: Guard): KoaMiddleware {
  return async (context, next) => {
    const answer = guard.answer(factsOfNode(context.req, beyond(context)));
    if (answer === null) await next();
    else sendAnswer(context, answer);
  };
}

function beyond(context: KoaContext, { scopes }: RouteOptions = {}): FactsBeyond {
  const { originalUrl: url, request } = context;
  return {
    url,
    scopes,
    principal: carriedPrincipal(context),
    parsed: (request as { readonly body?: unknown }).body,
  };
}

/** Koa takes a body of null for 204, so an empty one is written as empty text. */
function sendAnswer(context: KoaContext, { status, headers, body }: GuardAnswer): void {
  context.body = body ?? '';
  context.status = status;
  context.set({ ...headers });
}
