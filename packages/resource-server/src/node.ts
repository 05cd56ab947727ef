/** The guard in front of a node:http handler. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission, Guard } from './guard.ts';
import { factsOfNode, prepare, sendAnswer } from './node-request.ts';
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
  return (request, response) => {
    const facts = factsOfNode(request);
    const go = (admission: Admission): void | Promise<void> => {
      if (!admission.admitted) return sendAnswer(response, admission.answer);
      prepare(request, response, admission.headers);
      return handler(request, response, admission.principal);
    };
    const fail = (error: unknown): void => {
      const answer = guard.refuse(error, facts);
      if (response.headersSent) response.destroy();
      else sendAnswer(response, answer);
    };
    try {
      const admission = guard.admit(facts);
      const done = admission instanceof Promise ? admission.then(go) : go(admission);
      if (done instanceof Promise) done.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}
