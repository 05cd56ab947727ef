/** The guard for handlers of standard `Request` and `Response`. */
import { OAuthError } from '@portcullis/protocol';
import type { Guard } from '../guard.ts';
import type { Principal } from '../principal.ts';
import { takeWebRequest, toWebResponse, withMissingHeaders } from './web-request.ts';
import { endStreamWithToken } from './web-stream.ts';

/** The protected handler. The request that it gets contains no token. */
type ProtectedHandler = (request: Request, principal: Principal) => Response | Promise<Response>;

/**
 * Protects a handler. The result also serves protected resource metadata and preflights. An `OAuthError` that the
 * handler throws becomes the guard's response; other errors are rethrown.
 * @see RFC 6750, RFC 9728
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
      return endStreamWithToken(guard, principal, request, withMissingHeaders(response, headers));
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      return toWebResponse(guard.errorResponse(error, requestInfo), request.method);
    }
  };
}

/** Cancels a body that will not be read. */
function leaveBody(request: Request): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') request.body?.cancel().catch(() => {});
}
