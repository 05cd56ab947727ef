/** The guard for node:http handlers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Guard, GuardDecision, RequestInfo } from '../guard.ts';
import type { Principal } from '../principal.ts';
import { addHeaders, sendGuardResponse, takeNodeRequest } from './node-request.ts';
import { isClosed, nodeStreamWatcher } from './node-stream.ts';
import { whenDecided } from './route.ts';

export { nodeRequestInfo, takeNodeRequest } from './node-request.ts';
export { nodeStreamWatcher } from './node-stream.ts';

/** The protected handler. The request that it gets contains no token; its body is still unread. */
type ProtectedNodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  principal: Principal,
) => void | Promise<void>;

/**
 * Protects a handler. The result also serves protected resource metadata and preflights. Errors of the handler never
 * end the process: an `OAuthError` becomes the guard's response, any other a 500.
 * @see RFC 6750, RFC 9728
 */
export function protectNode(
  guard: Guard,
  handler: ProtectedNodeHandler,
): (request: IncomingMessage, response: ServerResponse) => void {
  const attend = nodeStreamWatcher(guard);
  return (request, response) => {
    const requestInfo = takeNodeRequest(request);
    whenDecided(
      guard.authorize(requestInfo),
      (decision) => pass(decision, request, response, requestInfo),
      (error) => fail(error, response, requestInfo),
    );
  };

  function pass(
    decision: GuardDecision,
    request: IncomingMessage,
    response: ServerResponse,
    requestInfo: RequestInfo,
  ): void {
    // By now the application may have sent a timeout, or the client may have disconnected.
    if (response.headersSent || isClosed(response)) return;
    if (!decision.authorized) {
      sendGuardResponse(response, decision.response);
      return;
    }
    addHeaders(response, decision.headers);
    attend?.(decision.principal, response);
    try {
      const done = handler(request, response, decision.principal);
      if (done instanceof Promise) done.catch((error) => fail(error, response, requestInfo));
    } catch (error) {
      fail(error, response, requestInfo);
    }
  }

  function fail(error: unknown, response: ServerResponse, requestInfo: RequestInfo): void {
    const guardResponse = guard.errorResponse(error, requestInfo);
    if (response.headersSent) response.destroy();
    else sendGuardResponse(response, guardResponse);
  }
}
