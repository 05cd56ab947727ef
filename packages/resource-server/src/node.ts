/** The guard in front of a node:http handler. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission, Facts, Guard } from './guard.ts';
import { addHeaders, receiveNode, sendAnswer } from './node-request.ts';
import { attendTo } from './node-stream.ts';
import type { Principal } from './principal.ts';

/** What is protected. The request that it gets holds no token; its body is still to be read. */
export type ProtectedNodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  principal: Principal,
) => void | Promise<void>;

/**
 * Puts a guard in front of a handler. The result serves the metadata documents and preflights too.
 * An error of the handler never ends the process: an `OAuthError` becomes the guard's answer, any other is a 500.
 */
export function protectNode(
  guard: Guard,
  handler: ProtectedNodeHandler,
): (request: IncomingMessage, response: ServerResponse) => void {
  const attend = attendTo(guard);
  return (request, response) => {
    const facts = receiveNode(request);
    const admission = guard.admit(facts);
    if (!(admission instanceof Promise)) pass(admission, request, response, facts);
    else admission.then((later) => pass(later, request, response, facts));
  };

  function pass(
    admission: Admission,
    request: IncomingMessage,
    response: ServerResponse,
    facts: Facts,
  ): void {
    if (!admission.admitted) {
      sendAnswer(response, admission.answer);
      return;
    }
    addHeaders(response, admission.headers);
    attend?.(admission.principal, response);
    try {
      const done = handler(request, response, admission.principal);
      if (done instanceof Promise) done.catch((error) => fail(error, response, facts));
    } catch (error) {
      fail(error, response, facts);
    }
  }

  function fail(error: unknown, response: ServerResponse, facts: Facts): void {
    const answer = guard.refuse(error, facts);
    if (response.headersSent) response.destroy();
    else sendAnswer(response, answer);
  }
}
