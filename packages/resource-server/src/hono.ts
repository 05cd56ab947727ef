/** The guard as Hono middleware, on any runtime that Hono runs on. */
import { OAuthError } from '@portcullis/protocol/errors';
import { carriedPrincipal, carryPrincipal } from './carrier.ts';
import type { RouteOptions } from './express.ts';
import { factsOf, responseOf, withHeaders, withoutToken } from './fetch.ts';
import type { Facts, Guard } from './guard.ts';

export { principalOf } from './carrier.ts';
export type { RouteOptions } from './express.ts';

/** A context of Hono, as far as the guard needs it. */
interface HonoContext {
  readonly req: {
    raw: Request;
    text(): Promise<string>;
  };
  res: Response;
  error: Error | undefined;
}

type HonoMiddleware = (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined>;

/**
 * Admits a request to what follows, or answers it. `principalOf(context)` tells what follows on whose behalf.
 * An `OAuthError` that is thrown behind it becomes the guard's challenge; other errors go on.
 */
export function protect(guard: Guard, options: RouteOptions = {}): HonoMiddleware {
  return async (context, next) => {
    const facts = factsOfContext(context, options);
    const admission = await guard.admit(facts);
    const { method } = context.req.raw;
    if (!admission.admitted) return responseOf(admission.answer, method);
    context.req.raw = withoutToken(context.req.raw);
    carryPrincipal(context, admission.principal);
    await next();
    if (context.error instanceof OAuthError)
      context.res = responseOf(guard.refuse(context.error, facts), method);
    else context.res = withHeaders(context.res, admission.headers);
    return undefined;
  };
}

/** Serves the metadata documents, and preflights of the resources. Put it first. */
export function publish(guard: Guard): HonoMiddleware {
  return async (context, next) => {
    const answer = guard.answer(factsOf(context.req.raw));
    if (answer !== null) return responseOf(answer, context.req.raw.method);
    await next();
    return undefined;
  };
}

/** Hono keeps a body that something read before, and reads it again from there. */
function factsOfContext(context: HonoContext, { scopes }: RouteOptions): Facts {
  const { req } = context;
  const facts = { ...factsOf(req.raw), scopes, principal: carriedPrincipal(context) };
  return req.raw.bodyUsed ? { ...facts, body: () => req.text() } : facts;
}
