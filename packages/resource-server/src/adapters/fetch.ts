/** The guard in front of a web-standard handler: Request in, Response out. */
import { OAuthError } from '@portcullis/protocol/protected-resource';
import type { Guard } from '../guard.ts';
import type { Principal } from '../principal.ts';
import { takeWebRequest, toWebResponse, withMissingHeaders } from './web-request.ts';
import { endStreamWithToken } from './web-stream.ts';

/** What is protected. The request that it gets holds no token. */
export type ProtectedHandler = (request: Request, principal: Principal) => Response | Promise<Response>;

/**
 * Puts a guard in front of a handler. The result serves the metadata documents and preflights too.
 * An `OAuthError` that the handler throws becomes the guard's answer; any other error is left to whoever calls.
 */
export function protect(guard: Guard, handler: ProtectedHandler): (request: Request) => Promise<Response> {
  return async (original) => {
    const { requestInfo, request } = takeWebRequest(original);
    const decision = await guard.authorize(requestInfo);
    if (!decision.authorized) {
      leaveBody(request);
      return toWebResponse(decision.response, request.method);
    }
    try {
      const { principal, headers } = decision;
      const response = await handler(request, principal);
      return endStreamWithToken(guard, principal, request.method, withMissingHeaders(response, headers));
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      return toWebResponse(guard.errorResponse(error, requestInfo), request.method);
    }
  };
}

/** What is left of a body that nobody will read. */
function leaveBody(request: Request): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') request.body?.cancel().catch(() => {});
}
