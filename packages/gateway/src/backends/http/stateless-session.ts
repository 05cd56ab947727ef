/** A stateless backend (revision 2026-07-28) as a session of the earlier revisions. */
import { randomUUID } from 'node:crypto';
import {
  createStandardHeaders,
  errorCodes,
  errorResponse,
  isMembers,
  isResponse,
  type JsonFields,
  type Message,
  type RequestMessage,
  withMeta,
} from '@portcullis/http';
import {
  BackendError,
  type BackendSession,
  type Call,
  type InitializeParams,
  type InitializeResult,
} from '../backend.ts';
import { toFailure } from '../backend-errors.ts';
import {
  INPUT_METHODS,
  LAST_WITH_SESSIONS,
  metaKeys,
  STATELESS,
  toSession,
  WITH_SESSIONS,
} from '../revisions.ts';
import type { ExchangeTimeouts } from '../wire.ts';
import type { BackendFetch } from './backend-fetch.ts';
import { failureOfResponse, readBodyMessages, readText } from './responses.ts';
import { followSubscriptions, type Subscription } from './stateless-subscription.ts';

export interface StatelessOptions {
  readonly name: string;
  readonly url: URL;
  readonly fetch: BackendFetch;
  /** Bytes of one message. */
  readonly frame: number;
  readonly timeouts: ExchangeTimeouts;
}

/** How often a request may ask for input. */
const MAX_ROUNDS = 20;
/** Milliseconds before a request is repeated that asked for nothing but patience. */
const PACE = 500;

/** @throws BackendError */
export async function openStateless(
  options: StatelessOptions,
  initialize: InitializeParams,
): Promise<BackendSession> {
  const { name, url, fetch, frame, timeouts } = options;
  const headers = createStandardHeaders();
  const closing = new AbortController();
  const closed = Promise.withResolvers<void>();
  /** Input that the client was asked for. */
  const asked = new Map<string, (response: Message) => void>();
  const listeners = new Set<(message: Message) => void>();
  const uris = new Set<string>();
  let level: unknown;
  let subscription: Subscription | null = null;
  const silent: Call = { signal: closing.signal, receive: () => undefined };
  const initialized = await discover();

  return {
    initialized,
    ended: closed.promise,
    async request(message, call) {
      return answerLocally(message) ?? (await requestWithInput(message, call));
    },
    async notify(message) {
      if (!isResponse(message)) return;
      const answer = asked.get(String(message.id));
      if (answer === undefined)
        throw new BackendError(
          'not_pending',
          'No request of the server with this id waits for a response here.',
        );
      asked.delete(String(message.id));
      answer(message);
    },
    listen(receive) {
      listeners.add(receive);
      subscribe();
      return () => {
        listeners.delete(receive);
        if (listeners.size === 0) subscription?.close();
      };
    },
    async close() {
      closing.abort();
      subscription?.close();
      closed.resolve();
    },
  };

  async function discover(): Promise<InitializeResult> {
    const { result, error } = await send(
      { jsonrpc: '2.0', id: 'discover', method: 'server/discover' },
      silent,
    );
    if (!isMembers(result) || !isMembers(result['capabilities']))
      throw new BackendError(
        'unavailable',
        `${name} refused server/discover: ${isMembers(error) ? String(error['message']) : 'no result'}.`,
      );
    const meta = isMembers(result['_meta']) ? result['_meta'] : {};
    const { capabilities, instructions } = result;
    return {
      protocolVersion: WITH_SESSIONS.has(initialize.protocolVersion)
        ? initialize.protocolVersion
        : LAST_WITH_SESSIONS,
      capabilities: capabilities as JsonFields,
      serverInfo: meta[metaKeys.serverInfo] ?? { name, version: '0' },
      ...(instructions !== undefined && { instructions }),
    };
  }

  /** What only sessions have. */
  function answerLocally({ id, method, params }: RequestMessage): Message | null {
    const parameters = isMembers(params) ? params : {};
    if (method === 'logging/setLevel') level = parameters['level'];
    else if (method === 'resources/subscribe' && typeof parameters['uri'] === 'string')
      uris.add(parameters['uri']);
    else if (method === 'resources/unsubscribe') uris.delete(String(parameters['uri']));
    else if (method !== 'ping') return null;
    if (method.startsWith('resources/')) subscribe();
    return { jsonrpc: '2.0', id, result: {} };
  }

  async function requestWithInput(message: RequestMessage, call: Call): Promise<Message> {
    let response = await send(message, call);
    for (let round = 1; round <= MAX_ROUNDS; round += 1) {
      const { result } = response;
      if (!isMembers(result) || result['resultType'] !== 'input_required') return toSession(response);
      const { inputRequests, requestState } = result;
      const responses = await askClient(isMembers(inputRequests) ? inputRequests : {}, call);
      if ('error' in responses) return { jsonrpc: '2.0', id: message.id, error: responses.error };
      const params = {
        ...(message.params as JsonFields),
        inputResponses: responses.results,
        ...(requestState !== undefined && { requestState }),
      };
      response = await send({ ...message, params }, call);
    }
    return errorResponse(
      message.id,
      errorCodes.internal,
      `${name} asked for input more than ${MAX_ROUNDS} times.`,
    );
  }

  async function askClient(
    requests: JsonFields,
    call: Call,
  ): Promise<{ results: JsonFields } | { error: unknown }> {
    const entries = Object.entries(requests);
    if (entries.length === 0) await new Promise((done) => setTimeout(done, PACE));
    const responses = await Promise.all(
      entries.map(async ([key, input]) => [key, await askOne(input, call)] as const),
    );
    const failed = responses.find(([, { error }]) => error !== undefined);
    if (failed !== undefined) return { error: failed[1].error };
    return { results: Object.fromEntries(responses.map(([key, { result }]) => [key, result])) };
  }

  function askOne(input: unknown, { signal, receive }: Call): Promise<Message> {
    const id = randomUUID();
    const method = isMembers(input) ? String(input['method']) : '';
    if (!isMembers(input) || !INPUT_METHODS.has(method))
      return Promise.resolve(
        errorResponse(id, errorCodes.internal, `${name} asked for input that no revision knows.`),
      );
    const params = isMembers(input['params']) ? input['params'] : {};
    // Revisions with sessions identify an elicitation by URL.
    const identified = params['mode'] === 'url' ? { elicitationId: id, ...params } : params;
    return new Promise((resolve, reject) => {
      asked.set(id, resolve);
      const stop = (): void => {
        asked.delete(id);
        reject(new BackendError('unavailable', 'The request was cancelled.'));
      };
      signal.addEventListener('abort', stop, { once: true });
      receive({ jsonrpc: '2.0', id, method, params: identified });
    });
  }

  function withRequestMeta(message: Message): Message {
    return withMeta(message, {
      [metaKeys.version]: STATELESS,
      [metaKeys.clientInfo]: initialize.clientInfo,
      [metaKeys.clientCapabilities]: initialize.capabilities,
      ...(level !== undefined && { [metaKeys.logLevel]: level }),
    });
  }

  async function send(message: RequestMessage, call: Call, isRepeated = false): Promise<Message> {
    const response = await exchange(withRequestMeta(message), call);
    if (message.method === 'tools/list') headers.learn(response.result);
    const isMismatch = isMembers(response.error) && response.error['code'] === errorCodes.headerMismatch;
    if (!isMismatch || isRepeated || message.method !== 'tools/call') return { ...response, id: message.id };
    // A header has to repeat an argument: the list of tools says which.
    await send({ jsonrpc: '2.0', id: 'tools', method: 'tools/list' }, silent);
    return send(message, call, true);
  }

  async function exchange(message: Message, call: Call): Promise<Message> {
    const idle = new AbortController();
    const timer = setTimeout(() => idle.abort(), timeouts.next).unref();
    const signal = AbortSignal.any([call.signal, closing.signal, idle.signal]);
    try {
      const response = await post(message, signal);
      if (!response.ok) return readError(response, await readText(response, frame));
      for await (const received of readBodyMessages(response, frame)) {
        timer.refresh();
        if (isResponse(received)) return received;
        if (received.method !== undefined && received.id === undefined) call.receive(received);
      }
      throw new Error('the response ended before it was complete');
    } catch (error) {
      if (idle.signal.aborted) throw new BackendError('timeout', `${name} did not answer in time.`);
      throw toFailure(error, name);
    } finally {
      clearTimeout(timer);
    }
  }

  function post(message: Message, signal: AbortSignal): Promise<Response> {
    const own = {
      ...headers.of(message),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    return fetch(url, { method: 'POST', headers: own, body: JSON.stringify(message), signal });
  }

  function readError(response: Response, text: string): Message {
    const isAboutMessage = response.status === 400 || response.status === 404;
    const message: unknown = isAboutMessage && text.startsWith('{') ? JSON.parse(text) : null;
    if (isMembers(message) && isMembers(message['error'])) return { jsonrpc: '2.0', error: message['error'] };
    throw failureOfResponse(name, response);
  }

  /** Follows the changes that the backend reports, with the resources of now. */
  function subscribe(): void {
    subscription?.close();
    subscription = null;
    if (listeners.size === 0 || closing.signal.aborted) return;
    const receive = (message: Message): void => {
      for (const listener of listeners) listener(message);
    };
    const openStream = (filter: JsonFields, signal: AbortSignal): Promise<Response> =>
      post(
        withRequestMeta({
          jsonrpc: '2.0',
          id: randomUUID(),
          method: 'subscriptions/listen',
          params: { notifications: filter },
        }),
        signal,
      );
    subscription = followSubscriptions({
      capabilities: initialized.capabilities,
      uris: [...uris],
      frame,
      openStream,
      receive,
    });
  }
}
