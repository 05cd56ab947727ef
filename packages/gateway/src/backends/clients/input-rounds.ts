/** Requests of a backend with sessions to a stateless client: the call waits here while results and retries carry questions and answers. */
import { randomUUID } from 'node:crypto';
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
import { type Owner, ownerKey, userKey } from '../../servers/owner.ts';
import type { Sealer } from '../../sessions/sealer.ts';
import { BackendError, type BackendSession } from '../backend.ts';
import { INPUT_METHODS, MAY_ASK } from '../revisions.ts';

interface InputExchange {
  readonly owner: Owner;
  readonly session: BackendSession;
  readonly message: RequestMessage;
  /** Aborts when the client has disappeared. */
  readonly signal: AbortSignal;
  /** Receives notifications. */
  readonly send: (message: Message) => void;
}

export interface InputRounds {
  /** The response, or a result that asks for input; `null` if the client has disappeared. @throws BackendError */
  exchange(exchange: InputExchange): Promise<Message | null>;
  close(): void;
}

/** A call at the backend, between the requests of the client that carry it. */
interface WaitingCall {
  readonly owner: string;
  readonly user: string;
  readonly session: BackendSession;
  readonly method: string;
  readonly controller: AbortController;
  /** Questions without an answer, by their keys. */
  readonly questions: Map<string, Message>;
  outcome: Message | Error | null;
  /** Where its messages go; `null` between the rounds. */
  send: ((message: Message) => void) | null;
  wake: () => void;
  timer: NodeJS.Timeout | undefined;
}

const MAX_CALLS = 10_000;
/** Of one user, with all clients. */
const MAX_PER_USER = 100;
/** Milliseconds in which more questions may follow the first one. */
const MORE_QUESTIONS = 25;
/** Milliseconds that a call waits for a user. */
const PATIENCE = 10 * 60_000;

export function createInputRounds(sealer: Sealer): InputRounds {
  /** Calls wait in this process: another one cannot answer the backend's question. */
  const process = randomUUID();
  const calls = new Map<string, WaitingCall>();

  return {
    async exchange(exchange) {
      const state = parameter(exchange.message, 'requestState');
      if (state === undefined) return follow(start(exchange), randomUUID(), exchange);
      const found = findCall(exchange, state);
      if (typeof found === 'string')
        return errorResponse(exchange.message.id, errorCodes.invalidParams, found);
      const [id, call] = found;
      await answer(call, exchange.message);
      return follow(call, id, exchange);
    },
    close() {
      for (const { controller } of calls.values()) controller.abort();
    },
  };

  function findCall(
    { owner, message }: InputExchange,
    state: unknown,
  ): readonly [string, WaitingCall] | string {
    // Opened, as all handles of a request are.
    if (typeof state !== 'string') return 'requestState is not valid.';
    const [home, id = ''] = state.split(' ');
    if (home !== process)
      return 'The call waits in another process of the gateway, which has ended or was not reached. Call again without requestState.';
    const call = calls.get(id);
    if (call === undefined || call.owner !== ownerKey(owner) || call.method !== message.method)
      return 'The call waits no longer. Call again without requestState.';
    return [id, call];
  }

  function start({ owner, session, message }: InputExchange): WaitingCall {
    const controller = new AbortController();
    const call: WaitingCall = {
      owner: ownerKey(owner),
      user: userKey(owner),
      session,
      method: message.method,
      controller,
      questions: new Map(),
      outcome: null,
      send: null,
      wake: () => undefined,
      timer: undefined,
    };
    const receive = (received: Message): void => {
      if (!isRequest(received)) return void call.send?.(received);
      if (!MAY_ASK.has(message.method) || !INPUT_METHODS.has(received.method))
        return void refuse(session, received.id);
      call.questions.set(String(received.id), received);
      call.wake();
    };
    session.request(message, { signal: controller.signal, receive }).then(
      (response) => finish(response),
      (error: unknown) =>
        finish(
          error instanceof Error ? error : new BackendError('unavailable', 'The server did not answer.'),
        ),
    );
    return call;

    function finish(outcome: Message | Error): void {
      call.outcome = outcome;
      call.wake();
    }
  }

  /** Waits for the response or for questions. */
  async function follow(
    call: WaitingCall,
    id: string,
    { owner, message, signal, send }: InputExchange,
  ): Promise<Message | null> {
    clearTimeout(call.timer);
    call.send = send;
    const abort = (): void => call.controller.abort();
    signal.addEventListener('abort', abort, { once: true });
    while (call.outcome === null && call.questions.size === 0) {
      await new Promise<void>((resolve) => {
        call.wake = resolve;
      });
      // Questions that were asked together are asked together, though a process writes them one by one.
      if (call.outcome === null) await new Promise((resolve) => setTimeout(resolve, MORE_QUESTIONS));
    }
    signal.removeEventListener('abort', abort);
    call.send = null;
    if (call.outcome !== null || signal.aborted) {
      calls.delete(id);
      if (signal.aborted) return null;
      if (call.outcome instanceof Error) throw call.outcome;
      return { ...call.outcome, jsonrpc: '2.0', id: message.id };
    }
    keep(call, id);
    const requestState = sealer.seal('request', owner, `${process} ${id}`);
    const inputRequests = Object.fromEntries(
      [...call.questions].map(([key, question]) => [key, toInput(question)]),
    );
    return {
      jsonrpc: '2.0',
      id: message.id,
      result: { resultType: 'input_required', inputRequests, requestState },
    };
  }

  function keep(call: WaitingCall, id: string): void {
    const own = [...calls.values()].filter(({ user }) => user === call.user);
    if (!calls.has(id) && (calls.size >= MAX_CALLS || own.length >= MAX_PER_USER)) {
      call.controller.abort();
      throw new BackendError('overloaded', 'Too many calls wait for input.');
    }
    calls.set(id, call);
    call.timer = setTimeout(() => {
      calls.delete(id);
      call.controller.abort();
    }, PATIENCE).unref();
  }

  async function answer({ questions, session }: WaitingCall, message: Message): Promise<void> {
    const responses = parameter(message, 'inputResponses');
    if (!isMembers(responses)) return;
    for (const [key, { id }] of [...questions]) {
      if (!Object.hasOwn(responses, key) || !isMembers(responses[key])) continue;
      questions.delete(key);
      await session.notify({ jsonrpc: '2.0', id: id ?? null, result: responses[key] });
    }
  }
}

function refuse(session: BackendSession, id: MessageId): Promise<void> {
  return session
    .notify(errorResponse(id, errorCodes.methodNotFound, 'The client cannot answer this request here.'))
    .catch(() => undefined);
}

function toInput({ method, params }: Message): JsonFields {
  if (!isMembers(params)) return { method };
  const { elicitationId: _, task: _task, _meta, ...rest } = params;
  return { method, params: rest };
}
