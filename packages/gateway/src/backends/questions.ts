/** Requests of a backend to its client: elicitation, sampling, roots. Each is delivered to one client, under an id of the gateway. */
import { randomUUID } from 'node:crypto';
import {
  errorCodes,
  errorResponse,
  type Message,
  type MessageId,
  parameter,
  type RequestMessage,
} from '@portcullis/http';
import { BackendError } from './backend.ts';
import { deliver, isOfOneClient, type PendingRequest, type PendingRequests, type View } from './pending.ts';
import type { ExchangeTimeouts } from './wire.ts';

export interface Questions {
  /** Delivers a request of the backend. */
  put(message: RequestMessage, relatedTo: MessageId | null): void;
  /** The client's response, as the backend expects it. @throws BackendError `not_pending` */
  takeAnswer(view: View, response: Message): Message;
  /** The backend cancels a request of its own. */
  withdraw(cancellation: Message): void;
  /** Answers the backend for a client that is gone. */
  release(view: View): void;
}

interface Question {
  readonly id: MessageId;
  readonly view: View;
  readonly request: PendingRequest | undefined;
}

export interface QuestionOptions {
  readonly pending: PendingRequests;
  readonly views: ReadonlySet<View>;
  readonly isShared: boolean;
  readonly post: (message: Message) => void;
  readonly timeouts: ExchangeTimeouts;
}

/** Requests of one backend that wait for their clients. */
const MAX_QUESTIONS = 1000;

export function createQuestions({ pending, views, isShared, post, timeouts }: QuestionOptions): Questions {
  const asked = new Map<string, Question>();

  return {
    put(message, relatedTo) {
      if (message.method === 'ping') return post({ jsonrpc: '2.0', id: message.id, result: {} });
      const request = relatedTo === null ? newestRequest() : pending.get(relatedTo);
      const view = request?.view ?? (isOfOneClient(views) ? [...views].at(-1) : undefined);
      // A shared backend was told that its clients can do none of it: it does not say whom it asks.
      if (isShared || view === undefined || asked.size >= MAX_QUESTIONS) return refuse(message.id);
      const id = randomUUID();
      asked.set(id, { id: message.id, view, request });
      // A user may take their time.
      request?.wait(null);
      send({ ...message, id }, view, request);
    },
    takeAnswer(view, response) {
      const id = String(response.id);
      const question = asked.get(id);
      if (question === undefined || question.view !== view)
        throw new BackendError(
          'not_pending',
          'No request of the server with this id waits for a response here.',
        );
      asked.delete(id);
      question.request?.wait(timeouts.first);
      return { ...response, id: question.id };
    },
    withdraw(cancellation) {
      const requestId = parameter(cancellation, 'requestId');
      const found = [...asked].find(([, { id }]) => id === requestId);
      if (found === undefined) return;
      const [id, { view, request }] = found;
      asked.delete(id);
      send({ ...cancellation, params: { ...(cancellation.params as object), requestId: id } }, view, request);
    },
    release(view) {
      for (const [key, question] of asked) {
        if (question.view !== view) continue;
        asked.delete(key);
        refuse(question.id);
      }
    },
  };

  /** None while requests of several clients wait: the question of one is no business of another. */
  function newestRequest(): PendingRequest | undefined {
    const requests = [...pending.values()].filter(({ view }) => views.has(view));
    return isOfOneClient(requests.map(({ view }) => view)) ? requests.at(-1) : undefined;
  }

  function refuse(id: MessageId): void {
    post(
      errorResponse(id, errorCodes.methodNotFound, 'There is no client here that can answer this request.'),
    );
  }
}

function send(message: Message, view: View, request: PendingRequest | undefined): void {
  if (request === undefined || request.call.signal.aborted) deliver(view, message);
  else request.call.receive(message);
}
