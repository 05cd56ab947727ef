/** Input that a stateless backend requests in results: each is a server request to the client, and the call is sent again with the responses. */
import { randomUUID } from 'node:crypto';
import {
  errorCodes,
  errorResponse,
  isMembers,
  type JsonFields,
  type Message,
  type RequestMessage,
} from '@portcullis/http';
import { INPUT_RETRY_DELAY, MAX_INPUT_REQUESTS } from '../../limits.ts';
import { BackendError, type Call } from '../backend.ts';
import { notPending } from '../exchange/server-requests.ts';
import { mayBeAsked, toSession } from '../revisions.ts';
import type { StatelessRequests } from './stateless-requests.ts';

/** @param capabilities of the client */
export function createInputRequests(name: string, requests: StatelessRequests, capabilities: JsonFields) {
  // Over 60 lines: sending a call again and the requests that it waits for are one loop.
  const delivered = new Map<string, (response: Message) => void>();

  return {
    /**
     * Sends a request, and again with the requested input until its result is complete, at most `MAX_INPUT_REQUESTS` times.
     * @returns an error response if the input is not available, or still incomplete after the last attempt
     * @throws BackendError
     */
    async send(message: RequestMessage, call: Call): Promise<Message> {
      let response = await requests.send(message, call);
      for (let attempt = 1; attempt <= MAX_INPUT_REQUESTS; attempt += 1) {
        const { result } = response;
        if (!isMembers(result) || result['resultType'] !== 'input_required') return toSession(response);
        const { inputRequests, requestState } = result;
        const input = await requestInput(isMembers(inputRequests) ? inputRequests : {}, call);
        if ('error' in input) return { jsonrpc: '2.0', id: message.id, error: input.error };
        const params = {
          ...(message.params as JsonFields),
          inputResponses: input.results,
          ...(requestState !== undefined && { requestState }),
        };
        response = await requests.send({ ...message, params }, call);
      }
      const text = `${name} asked for input more than ${MAX_INPUT_REQUESTS} times.`;
      return errorResponse(message.id, errorCodes.internal, text);
    },
    /** The client's response to a request for input. @throws BackendError `not_pending` */
    resolve(response: Message): void {
      const id = String(response.id);
      const resolve = delivered.get(id);
      if (resolve === undefined) throw notPending();
      delivered.delete(id);
      resolve(response);
    },
  };

  async function requestInput(
    inputs: JsonFields,
    call: Call,
  ): Promise<{ readonly results: JsonFields } | { readonly error: unknown }> {
    const entries = Object.entries(inputs);
    // No input requests: the backend expects a retry later.
    if (entries.length === 0) await new Promise((done) => setTimeout(done, INPUT_RETRY_DELAY));
    const responses = await Promise.all(
      entries.map(async ([key, input]) => [key, await requestOne(input, call)] as const),
    );
    const failed = responses.find(([, { error }]) => error !== undefined);
    if (failed !== undefined) return { error: failed[1].error };
    return { results: Object.fromEntries(responses.map(([key, { result }]) => [key, result])) };
  }

  function requestOne(input: unknown, { signal, receive }: Call): Promise<Message> {
    const id = randomUUID();
    // A request of the gateway itself has no user.
    if (receive === undefined || !isMembers(input) || !mayBeAsked(capabilities, input)) {
      const text = `${name} asked for input that this client did not offer.`;
      return Promise.resolve(errorResponse(id, errorCodes.internal, text));
    }
    const given = isMembers(input['params']) ? input['params'] : {};
    // Revisions with sessions identify an elicitation by URL.
    const params = given['mode'] === 'url' ? { elicitationId: id, ...given } : given;
    return new Promise((resolve, reject) => {
      delivered.set(id, resolve);
      const stop = (): void => {
        delivered.delete(id);
        reject(new BackendError('unavailable', 'The request was cancelled.'));
      };
      signal.addEventListener('abort', stop, { once: true });
      receive({ jsonrpc: '2.0', id, method: String(input['method']), params });
    });
  }
}
