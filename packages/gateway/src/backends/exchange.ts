/** Exchanges messages with a backend for one session or several: own ids, progress tokens, timeouts, and who gets what. */

import {
  isMembers,
  isRequest,
  isResponse,
  type Message,
  type MessageId,
  parameter,
  type RequestMessage,
  withMeta,
} from '@portcullis/http';
import {
  BackendError,
  type BackendSession,
  type Call,
  type InitializeParams,
  type InitializeResult,
} from './backend.ts';
import { toFailure } from './backend-errors.ts';
import { createLogLevels } from './log-levels.ts';
import { deliver, isOfOneClient, type PendingRequest, type View } from './pending.ts';
import { createQuestions, type Questions } from './questions.ts';
import { createSubscriptions } from './subscriptions.ts';
import type { ExchangeTimeouts, Wire, WireReceiver } from './wire.ts';

export interface ExchangeOptions {
  readonly name: string;
  readonly timeouts: ExchangeTimeouts;
  /** Several users share the backend: nothing that belongs to one may reach another. */
  readonly isShared: boolean;
  /** Called when a request timed out. */
  readonly onSilence?: () => void;
  /** Called after each request, and when a session is closed. */
  readonly onRest?: () => void;
}

export interface MessageExchange extends WireReceiver {
  /** Initializes the backend; once. @throws BackendError */
  initialize(params: InitializeParams): Promise<InitializeResult>;
  /** Another session of the initialized backend. */
  join(initialized: InitializeResult, client: string): BackendSession;
  /** Sends a request of the gateway itself. @throws BackendError */
  ask(method: string, params: unknown, milliseconds: number): Promise<Message>;
  /** Whether a request or a subscription keeps it in use. */
  isBusy(): boolean;
}

const NO_CALL: Call = { signal: new AbortController().signal, receive: () => undefined };

export function createMessageExchange(wire: Wire, options: ExchangeOptions): MessageExchange {
  const { name, timeouts, isShared } = options;
  const pending = new Map<MessageId, PendingRequest>();
  const views = new Set<View>();
  const own: View = { client: '', listeners: new Set() };
  const ended = Promise.withResolvers<void>();
  const subscriptions = createSubscriptions();
  const levels = createLogLevels(views);
  let failure: Error | null = null;
  let lastId = 0;
  const post = (message: Message): void => {
    wire.send(message, NO_CALL.signal).catch(() => undefined);
  };
  const questions: Questions = createQuestions({ pending, views, isShared, post, timeouts });

  return {
    accept,
    fail(error) {
      failure ??= error;
      for (const request of [...pending.values()]) request.settle(failure);
      ended.resolve();
    },
    async initialize(params) {
      const shown = isShared ? { ...params, capabilities: {} } : params;
      const response = await ask('initialize', shown, timeouts.first);
      const { result } = response;
      if (!isMembers(result) || !isMembers(result['capabilities']))
        throw new BackendError('unavailable', `${name} refused to initialize: ${reasonOf(response)}.`);
      await wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' }, NO_CALL.signal);
      const { tasks, ...capabilities } = result['capabilities'];
      const protocolVersion = String(result['protocolVersion']);
      return {
        ...result,
        protocolVersion,
        capabilities: isShared || tasks === undefined ? capabilities : { ...capabilities, tasks },
      };
    },
    join,
    ask,
    isBusy: () => pending.size > 0 || subscriptions.size() > 0,
  };

  async function ask(method: string, params: unknown, milliseconds: number): Promise<Message> {
    return request(own, { jsonrpc: '2.0', id: 0, method, params }, NO_CALL, milliseconds);
  }

  function join(initialized: InitializeResult, client: string): BackendSession {
    const view: View = { client, listeners: new Set() };
    const closed = Promise.withResolvers<void>();
    views.add(view);
    return {
      initialized,
      ended: Promise.race([ended.promise, closed.promise]),
      async request(message, call) {
        if (isShared && message.method.startsWith('tasks/'))
          throw new BackendError(
            'refused',
            `${name} shares its process between users, so that it has no tasks.`,
          );
        if (subscriptions.isHeldByOthers(view, message))
          return { jsonrpc: '2.0', id: message.id, result: {} };
        const sent = message.method === 'logging/setLevel' ? levels.set(view, message) : message;
        const response = await request(view, sent, call, timeouts.first);
        if (response.error === undefined) subscriptions.learn(view, message);
        return response;
      },
      async notify(message) {
        if (isResponse(message)) return wire.send(questions.takeAnswer(view, message), NO_CALL.signal);
        // Initialization is the exchange's; a cancellation aborts its call.
        const isOwn =
          message.method === 'notifications/initialized' || message.method === 'notifications/cancelled';
        if (!isOwn && !isShared) await wire.send(message, NO_CALL.signal);
      },
      listen(receive) {
        view.listeners.add(receive);
        return () => view.listeners.delete(receive);
      },
      async close() {
        if (!views.delete(view)) return;
        for (const uri of subscriptions.release(view))
          void ask('resources/unsubscribe', { uri }, timeouts.first).catch(() => undefined);
        questions.release(view);
        for (const request of [...pending.values()])
          if (request.view === view)
            request.settle(new BackendError('unavailable', 'The session has ended.'));
        closed.resolve();
        options.onRest?.();
      },
    };
  }

  function request(view: View, message: RequestMessage, call: Call, milliseconds: number): Promise<Message> {
    if (failure !== null) return Promise.reject(failure);
    if (call.signal.aborted) return Promise.reject(cancelled());
    lastId += 1;
    const id = lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    let timer: NodeJS.Timeout | undefined;
    const progressToken = parameter(message, '_meta', 'progressToken');
    const settle = (outcome: Message | Error): void => {
      if (!pending.delete(id)) return;
      clearTimeout(timer);
      call.signal.removeEventListener('abort', abort);
      if (outcome instanceof Error) reject(outcome);
      else resolve({ ...outcome, id: message.id });
      options.onRest?.();
    };
    const wait = (limit: number | null): void => {
      clearTimeout(timer);
      if (limit !== null) timer = setTimeout(giveUp, limit, limit).unref();
    };
    pending.set(id, { view, progressToken, call, settle, wait });
    call.signal.addEventListener('abort', abort, { once: true });
    wait(milliseconds);
    const tagged = progressToken === undefined ? message : withMeta(message, { progressToken: id });
    wire.send({ ...tagged, id }, call.signal).catch((error: unknown) => settle(toFailure(error, name)));
    return promise;

    function abort(): void {
      if (message.method !== 'initialize') cancel(id, 'The client has cancelled the request.');
      settle(cancelled());
    }

    function giveUp(limit: number): void {
      if (message.method !== 'initialize') cancel(id, 'The request timed out.');
      settle(new BackendError('timeout', `${name} did not answer within ${limit / 1000} seconds.`));
      options.onSilence?.();
    }
  }

  function cancel(requestId: MessageId, reason: string): void {
    post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } });
  }

  function accept(message: Message, relatedTo: MessageId | null): void {
    if (isResponse(message)) {
      if (message.id !== undefined && message.id !== null) pending.get(message.id)?.settle(message);
      return;
    }
    if (isRequest(message)) return void questions.put(message, relatedTo);
    if (message.method === 'notifications/progress') return void reportProgress(message);
    if (message.method === 'notifications/cancelled') return void questions.withdraw(message);
    if (message.method === 'notifications/resources/updated') {
      const uri = parameter(message, 'uri');
      for (const view of views)
        if (views.size === 1 || subscriptions.concerns(view, uri)) deliver(view, message);
      return;
    }
    const isAboutAll = message.method?.endsWith('/list_changed') === true;
    const request = isAboutAll ? undefined : findRequest(relatedTo);
    if (request !== undefined) {
      request.wait(timeouts.next);
      if (levels.wants(request.view, message)) request.call.receive(message);
    } else if (isAboutAll || (!isShared && isOfOneClient(views)))
      for (const view of views) if (levels.wants(view, message)) deliver(view, message);
  }

  /**
   * A backend with one connection for all does not say which request a message belongs to: the newest, unless users share it, or
   * clients that may not do the same.
   */
  function findRequest(relatedTo: MessageId | null): PendingRequest | undefined {
    if (relatedTo !== null) return pending.get(relatedTo);
    const requests = [...pending.values()].filter(({ view }) => view !== own);
    const waiting = new Set(requests.map(({ view }) => view));
    const isClear = isShared ? waiting.size === 1 : isOfOneClient(waiting);
    return isClear ? requests.at(-1) : undefined;
  }

  function reportProgress(message: Message): void {
    const token = parameter(message, 'progressToken');
    const request = typeof token === 'number' ? pending.get(token) : undefined;
    if (request === undefined || !isMembers(message.params)) return;
    request.wait(timeouts.next);
    request.call.receive({ ...message, params: { ...message.params, progressToken: request.progressToken } });
  }
}

function cancelled(): BackendError {
  return new BackendError('unavailable', 'The request was cancelled.');
}

function reasonOf({ error }: Message): string {
  const text = isMembers(error) ? error['message'] : undefined;
  return typeof text === 'string' ? text.slice(0, 300) : 'its response is not a result of initialize';
}
