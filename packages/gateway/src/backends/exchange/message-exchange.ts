/** Exchanges messages with a backend for one or more sessions, and routes each message to its session. */
import {
  errorCodes,
  errorResponse,
  isMembers,
  isRequest,
  isResponse,
  type McpTransport,
  type Message,
  type MessageId,
  parameter,
  type RequestMessage,
  toDouble,
} from '@portcullis/http';
import {
  BackendError,
  type BackendSession,
  type Call,
  type InitializeParams,
  type InitializeResult,
} from '../backend.ts';
import {
  createPendingRequests,
  deliver,
  type ExchangeSession,
  type ExchangeTimeouts,
  type PendingRequest,
  type PendingRequests,
  receiverOf,
} from './pending-requests.ts';
import { createServerRequests, type ServerRequests } from './server-requests.ts';
import { createLogLevels, createSubscriptions, type LogLevels, type Subscriptions } from './subscriptions.ts';

export interface ExchangeOptions {
  readonly name: string;
  readonly timeouts: ExchangeTimeouts;
  /** Several users or clients share the backend: none of them may receive another's messages. Otherwise, all sessions are of one client. */
  readonly isShared: boolean;
  /** Called when a request timed out. */
  readonly onTimeout?: () => void;
  /** Called after each request, and when a session is closed. */
  readonly onSettled?: () => void;
}

export type MessageExchange = ReturnType<typeof createMessageExchange>;

/** State shared by the functions of an exchange. */
interface Exchange {
  readonly options: ExchangeOptions;
  readonly transport: McpTransport;
  readonly sessions: Set<ExchangeSession>;
  readonly pending: PendingRequests;
  readonly serverRequests: ServerRequests;
  readonly subscriptions: Subscriptions;
  readonly levels: LogLevels;
  /** Resolves when the backend has ended the session, or the process. */
  readonly ended: PromiseWithResolvers<void>;
}

const NO_CALL: Call = { signal: new AbortController().signal };

/** The gateway's own requests. */
const gatewaySession: ExchangeSession = { listeners: new Set() };

export function createMessageExchange(transport: McpTransport, options: ExchangeOptions) {
  const { name, timeouts, isShared, onTimeout = () => undefined, onSettled = () => undefined } = options;
  const sessions = new Set<ExchangeSession>();
  const post = (message: Message): void => {
    transport.send(message, NO_CALL.signal).catch(() => undefined);
  };
  const pending = createPendingRequests({ name, transport, post, onTimeout, onSettled });
  const exchange: Exchange = {
    options,
    transport,
    sessions,
    pending,
    serverRequests: createServerRequests({ pending, sessions, isShared, post, timeouts }),
    subscriptions: createSubscriptions(),
    levels: createLogLevels(sessions),
    ended: Promise.withResolvers<void>(),
  };
  return {
    accept: (message: Message, relatedTo: MessageId | null): void => accept(exchange, message, relatedTo),
    fail(error: Error): void {
      pending.fail(error);
      exchange.ended.resolve();
    },
    /** Sends nothing more. Pending requests have connections of their own, and may still get their responses. */
    end(error: Error): void {
      pending.refuse(error);
      exchange.ended.resolve();
    },
    /** Initializes the backend; once. @throws BackendError */
    initialize: (params: InitializeParams) => initialize(exchange, params),
    /** Another session of the initialized backend. */
    join: (initialized: InitializeResult) => join(exchange, initialized),
    /** Sends a request of the gateway itself. @throws BackendError */
    request: (method: string, params: unknown, milliseconds: number) =>
      request(exchange, method, params, milliseconds),
    /** Whether a request or a subscription keeps it in use. */
    isBusy: (): boolean => pending.all().length > 0 || exchange.subscriptions.size() > 0,
  };
}

function request(
  { pending }: Exchange,
  method: string,
  params: unknown,
  milliseconds: number,
): Promise<Message> {
  return pending.send(gatewaySession, { jsonrpc: '2.0', id: 0, method, params }, NO_CALL, milliseconds);
}

async function initialize(exchange: Exchange, params: InitializeParams): Promise<InitializeResult> {
  const { name, isShared, timeouts } = exchange.options;
  const offered = isShared ? { ...params, capabilities: {} } : params;
  const response = await request(exchange, 'initialize', offered, timeouts.first);
  const { result } = response;
  if (!isMembers(result) || !isMembers(result['capabilities']))
    throw new BackendError('refused', `${name} refused to initialize: ${reasonOf(response)}.`);
  const initialized: Message = { jsonrpc: '2.0', method: 'notifications/initialized' };
  await exchange.transport.send(initialized, NO_CALL.signal);
  const { tasks: _, logging: __, ...ofShared } = result['capabilities'];
  return {
    ...result,
    protocolVersion: String(result['protocolVersion']),
    capabilities: isShared ? ofShared : result['capabilities'],
  };
}

function reasonOf({ error }: Message): string {
  const text = isMembers(error) ? error['message'] : undefined;
  return typeof text === 'string' ? text.slice(0, 300) : 'its response is not a result of initialize';
}

function join(exchange: Exchange, initialized: InitializeResult): BackendSession {
  const { options, sessions, serverRequests, transport } = exchange;
  const session: ExchangeSession = { listeners: new Set() };
  const closed = Promise.withResolvers<void>();
  sessions.add(session);
  return {
    initialized,
    ended: Promise.race([exchange.ended.promise, closed.promise]),
    request: (message, call) => requestFor(exchange, session, message, call),
    async notify(message) {
      if (isResponse(message))
        return transport.send(serverRequests.resolve(session, message), NO_CALL.signal);
      // The exchange initializes; a cancellation aborts its call.
      const isOwn =
        message.method === 'notifications/initialized' || message.method === 'notifications/cancelled';
      if (!isOwn && !options.isShared) await transport.send(message, NO_CALL.signal);
    },
    listen(receive) {
      session.listeners.add(receive);
      return () => session.listeners.delete(receive);
    },
    async close() {
      if (sessions.delete(session)) leave(exchange, session);
      closed.resolve();
    },
  };
}

async function requestFor(
  { options, subscriptions, levels, pending }: Exchange,
  session: ExchangeSession,
  message: RequestMessage,
  call: Call,
): Promise<Message> {
  const { name, isShared, timeouts } = options;
  if (isShared && (message.method.startsWith('tasks/') || message.method === 'logging/setLevel')) {
    const text = `${name} is shared by several clients, so that it has no tasks and no log level.`;
    return errorResponse(message.id, errorCodes.methodNotFound, text);
  }
  if (subscriptions.leavesOthers(session, message)) return { jsonrpc: '2.0', id: message.id, result: {} };
  const sent = message.method === 'logging/setLevel' ? levels.set(session, message) : message;
  const response = await pending.send(session, sent, call, timeouts.first);
  if (response.error === undefined) subscriptions.learn(session, message);
  return response;
}

function leave(exchange: Exchange, session: ExchangeSession): void {
  const { options, subscriptions, serverRequests, pending } = exchange;
  for (const uri of subscriptions.release(session))
    void request(exchange, 'resources/unsubscribe', { uri }, options.timeouts.first).catch(() => undefined);
  serverRequests.release(session);
  for (const one of pending.all())
    if (one.session === session) one.settle(new BackendError('unavailable', 'The session has ended.'));
  options.onSettled?.();
}

function accept(exchange: Exchange, message: Message, relatedTo: MessageId | null): void {
  const { options, sessions, pending, serverRequests, subscriptions, levels } = exchange;
  if (isResponse(message)) {
    if (message.id !== undefined && message.id !== null) pending.get(message.id)?.settle(message);
    return;
  }
  if (isRequest(message)) return void serverRequests.accept(message, relatedTo);
  if (message.method === 'notifications/progress') return void reportProgress(exchange, message);
  if (message.method === 'notifications/cancelled') return void serverRequests.cancel(message);
  if (message.method === 'notifications/resources/updated') {
    const uri = parameter(message, 'uri');
    const isOnly = sessions.size === 1 && !options.isShared;
    for (const session of sessions)
      if (isOnly || subscriptions.includes(session, uri)) deliver(session, message);
    return;
  }
  const isForAll = message.method?.endsWith('/list_changed') === true;
  const related = isForAll ? undefined : findRequest(exchange, relatedTo);
  related?.wait(options.timeouts.next);
  // It may be about a call of another user, also one that has ended.
  const isUnclear = relatedTo === null || related === undefined;
  if (options.isShared && isUnclear && !isForAll) return;
  if (related !== undefined) {
    if (levels.includes(related.session, message)) receiverOf(related.session, related)?.(message);
  } else for (const session of sessions) if (levels.includes(session, message)) deliver(session, message);
}

/** A backend with one connection does not say which request a message belongs to: probably the newest. */
function findRequest({ pending }: Exchange, relatedTo: MessageId | null): PendingRequest | undefined {
  if (relatedTo !== null) return pending.get(relatedTo);
  return pending.all().findLast(({ session }) => session !== gatewaySession);
}

function reportProgress({ pending, options }: Exchange, message: Message): void {
  const token = toDouble(parameter(message, 'progressToken'));
  const related = typeof token === 'number' ? pending.get(token) : undefined;
  if (related === undefined || !isMembers(message.params)) return;
  related.wait(options.timeouts.next);
  const params = { ...message.params, progressToken: related.progressToken };
  related.call.receive?.({ ...message, params });
}
