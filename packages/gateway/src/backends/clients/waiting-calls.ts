/** Server requests to a stateless client: the call waits here while results carry the requests, and retries the responses. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  errorCodes,
  errorResponse,
  isMembers,
  isRequest,
  type JsonFields,
  type Message,
  type MessageId,
  parameter,
  type RequestMessage,
} from '@portcullis/http';
import type { Principal } from '@portcullis/resource-server';
import {
  BODY_MEMORY_OF_ALL,
  BODY_MEMORY_OF_USER,
  INPUT_PATIENCE,
  MAX_WAITING_CALLS,
  MAX_WAITING_CALLS_OF_USER,
  SERVER_REQUEST_DELAY,
  VALUE_MEMORY,
} from '../../limits.ts';
import { type Owner, ownerKey, userKey } from '../../servers/request.ts';
import { BackendError, type BackendSession } from '../backend.ts';
import { MAY_ASK, mayBeAsked } from '../revisions.ts';

interface WaitingExchange {
  readonly owner: Owner;
  /** The client's network address. */
  readonly network: string;
  readonly principal: Principal;
  readonly session: BackendSession;
  readonly message: RequestMessage;
  /** Of the client. */
  readonly capabilities: JsonFields;
  /** Aborts when the client has disappeared. */
  readonly signal: AbortSignal;
  /** Receives notifications. */
  readonly send: (message: Message) => void;
}

export type WaitingCalls = ReturnType<typeof createWaitingCalls>;

/** A call at the backend, between the requests of the client that carry it. */
interface WaitingCall {
  readonly owner: string;
  readonly user: string;
  readonly session: BackendSession;
  readonly message: RequestMessage;
  readonly controller: AbortController;
  /** Server requests without a response, by their keys. */
  readonly serverRequests: Map<string, RequestMessage>;
  outcome: Message | Error | null;
  /** The request of the client that carries it, the newest one; `null`: none does. */
  carrier: WaitingExchange | null;
  wake: () => void;
  timer: NodeJS.Timeout | undefined;
  /** Bytes that it takes while it waits; 0 before. */
  memory: number;
}

export function createWaitingCalls() {
  /** Calls wait in this process: other processes cannot respond to the backend. */
  const process = randomUUID();
  const calls = new Map<string, WaitingCall>();

  return {
    /** The response, or a result that asks for input; `null` if the client has disappeared. @throws BackendError */
    async exchange(exchange: WaitingExchange): Promise<Message | null> {
      const { message } = exchange;
      if (exchange.signal.aborted) return null;
      const state = parameter(message, 'requestState');
      const found = state === undefined ? ([randomUUID(), start(exchange)] as const) : find(exchange, state);
      if (typeof found === 'string') return errorResponse(message.id, errorCodes.invalidParams, found);
      const [id, call] = found;
      const isOver = await follow(call, exchange);
      if (isOver) calls.delete(id);
      if (exchange.signal.aborted) return null;
      if (isOver === null) return errorResponse(message.id, errorCodes.invalidParams, CONTINUED);
      if (call.outcome instanceof Error) throw call.outcome;
      if (call.outcome !== null) return { ...call.outcome, jsonrpc: '2.0', id: message.id };
      retain(call, id);
      // Sealed with the other identifiers of the response.
      const requestState = `${process} ${id}`;
      const result = { resultType: 'input_required', inputRequests: inputsOf(call), requestState };
      return { jsonrpc: '2.0', id: message.id, result };
    },
    close(): void {
      for (const { controller } of calls.values()) controller.abort();
    },
  };

  /** @returns the reason if the call does not exist */
  function find(
    { owner, message }: WaitingExchange,
    state: unknown,
  ): readonly [string, WaitingCall] | string {
    // Opened, as all sealed identifiers of a request are.
    if (typeof state !== 'string') return 'requestState is not valid.';
    const [home, id = ''] = state.split(' ');
    if (home !== process)
      return 'The call waits in another process of the gateway, which has ended or was not reached. Call again without requestState.';
    const call = calls.get(id);
    if (call === undefined || call.owner !== ownerKey(owner))
      return 'The call waits no longer. Call again without requestState.';
    // The rules have decided about this message; the waiting call continues.
    if (!isSameCall(call.message, message))
      return 'The requestState is of another call. Call again without it.';
    return [id, call];
  }

  function retain(call: WaitingCall, id: string): void {
    if (call.memory === 0) call.memory = memoryOf(call.message);
    const all = [...calls.values()].filter((one) => one !== call);
    const own = all.filter(({ user }) => user === call.user);
    const isFull =
      all.length >= MAX_WAITING_CALLS ||
      own.length >= MAX_WAITING_CALLS_OF_USER ||
      !hasMemory(own, call, BODY_MEMORY_OF_USER) ||
      !hasMemory(all, call, BODY_MEMORY_OF_ALL);
    if (!calls.has(id) && isFull) {
      call.controller.abort();
      throw new BackendError('overloaded', 'Too many calls wait for input.');
    }
    calls.set(id, call);
    call.timer = setTimeout(() => {
      calls.delete(id);
      call.controller.abort();
    }, INPUT_PATIENCE).unref();
  }
}

/** The first one has it, however long it is. */
function hasMemory(others: readonly WaitingCall[], { memory }: WaitingCall, limit: number): boolean {
  return others.length === 0 || others.reduce((sum, one) => sum + one.memory, memory) <= limit;
}

/** Bytes, approximately. */
function memoryOf(value: unknown): number {
  if (typeof value === 'string') return VALUE_MEMORY + value.length;
  if (typeof value !== 'object' || value === null) return VALUE_MEMORY;
  return Object.values(value).reduce<number>((sum, one) => sum + memoryOf(one), VALUE_MEMORY);
}

function start({ owner, network, principal, session, message, capabilities }: WaitingExchange): WaitingCall {
  const controller = new AbortController();
  const call: WaitingCall = {
    owner: ownerKey(owner),
    user: userKey(owner),
    session,
    message,
    controller,
    serverRequests: new Map(),
    outcome: null,
    carrier: null,
    wake: () => undefined,
    timer: undefined,
    memory: 0,
  };
  const finish = (outcome: Message | Error): void => {
    call.outcome = outcome;
    // The server may have sent them before this call, or without waiting for their responses.
    for (const { id } of call.serverRequests.values()) void refuseServerRequest(session, id);
    call.serverRequests.clear();
    call.wake();
  };
  const receive = (received: Message): void => {
    // The server cancels one of its requests, which the client has not received, or answers for nothing.
    if (received.method === 'notifications/cancelled')
      return void call.serverRequests.delete(String(parameter(received, 'requestId')));
    if (!isRequest(received)) return void call.carrier?.send(received);
    if (!MAY_ASK.has(message.method) || !mayBeAsked(capabilities, received))
      return void refuseServerRequest(session, received.id);
    call.serverRequests.set(String(received.id), received);
    call.wake();
  };
  session
    .request(message, { signal: controller.signal, receive, network, principal })
    .then(finish, (error: unknown) => {
      const unknown = new BackendError('unavailable', 'The server did not answer.');
      finish(error instanceof Error ? error : unknown);
    });
  return call;
}

/** Whether a request repeats another one, but for its input and what describes the client. */
function isSameCall(one: RequestMessage, other: RequestMessage): boolean {
  return one.method === other.method && isDeepStrictEqual(givenOf(one), givenOf(other));
}

function givenOf({ params }: Message): JsonFields {
  const { inputResponses: _, requestState: _state, _meta, ...given } = isMembers(params) ? params : {};
  return given;
}

const CONTINUED = 'Another request with the same requestState continues the call.';

/**
 * Waits for the response or for server requests. A client that repeats a request on another connection continues there.
 * @returns whether the call is over; `null`: a newer request carries it
 */
async function follow(call: WaitingCall, exchange: WaitingExchange): Promise<boolean | null> {
  const { signal, message } = exchange;
  const isCarrier = (): boolean => call.carrier === exchange;
  const abort = (): void => {
    if (isCarrier()) call.controller.abort();
  };
  call.carrier = exchange;
  // The request before stops waiting.
  call.wake();
  signal.addEventListener('abort', abort, { once: true });
  try {
    if (call.message !== message) await respond(call, message);
    if (isCarrier()) clearTimeout(call.timer);
    while (isCarrier() && call.outcome === null && call.serverRequests.size === 0) {
      await new Promise<void>((resolve) => {
        call.wake = resolve;
      });
      // Related server requests are delivered together, though a process writes them one by one.
      if (call.outcome === null) await new Promise((resolve) => setTimeout(resolve, SERVER_REQUEST_DELAY));
    }
    return isCarrier() ? call.outcome !== null || signal.aborted : null;
  } finally {
    signal.removeEventListener('abort', abort);
    if (isCarrier()) call.carrier = null;
  }
}

async function respond({ serverRequests, session }: WaitingCall, message: Message): Promise<void> {
  const responses = parameter(message, 'inputResponses');
  if (!isMembers(responses)) return;
  for (const [key, { id }] of [...serverRequests]) {
    if (!Object.hasOwn(responses, key) || !isMembers(responses[key])) continue;
    serverRequests.delete(key);
    await session.notify({ jsonrpc: '2.0', id, result: responses[key] }).catch((error: unknown) => {
      if (!(error instanceof BackendError)) throw error;
      // The server has cancelled it meanwhile.
      if (error.failure === 'not_pending') return;
      // It has executed the call up to here.
      throw new BackendError('lost', error.message, error.retryAfter, error.status);
    });
  }
}

function inputsOf({ serverRequests }: WaitingCall): JsonFields {
  return Object.fromEntries([...serverRequests].map(([key, request]) => [key, toInput(request)]));
}

/** Refuses a server request. */
export function refuseServerRequest(session: BackendSession, id: MessageId): Promise<void> {
  return session
    .notify(errorResponse(id, errorCodes.methodNotFound, 'The client cannot answer this request here.'))
    .catch(() => undefined);
}

function toInput({ method, params }: Message): JsonFields {
  if (!isMembers(params)) return { method };
  const { elicitationId: _, task: _task, _meta, ...rest } = params;
  return { method, params: rest };
}
