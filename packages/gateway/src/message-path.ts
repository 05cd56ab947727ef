/** The message path: exchanges whole messages between clients of both protocol generations and any kind of backend. */

import type { ServerResponse } from 'node:http';
import { isRequest, type Message, parseExactly, readMessage } from '@portcullis/http';
import { onShutdown } from '@portcullis/http/node';
import { type BackendSessions, createBackendSessions } from './backend-sessions.ts';
import { BackendError, type MessageBackend } from './backends/backend.ts';
import { namesResponse } from './backends/clients/events.ts';
import { sentIn } from './backends/clients/reply.ts';
import { createSessionClients, type SessionClients } from './backends/clients/session-clients.ts';
import { openSession } from './backends/clients/session-table.ts';
import { createStatelessClients, type StatelessClients } from './backends/clients/stateless-clients.ts';
import { withClientHeaders } from './backends/http/backend-fetch.ts';
import { STATELESS } from './backends/revisions.ts';
import { endStreamAtShutdown, failureOfBackend } from './http/error-response.ts';
import type { ExchangeSummary } from './http/exchange.ts';
import {
  type Forwarding,
  namesVersion,
  type PassThrough,
  type PassThroughOptions,
} from './http/pass-through.ts';
import type { ServerSlots } from './http/slots.ts';
import { MAX_MESSAGE_VALUES, SHORT_BODY, VALUE_MEMORY } from './limits.ts';
import { invalidRequest, sessionNotFound } from './messages/gateway-error.ts';
import type { GatewayRequest, Owner } from './servers/request.ts';
import type { GatewayServer } from './servers/server.ts';

/** Serves the requests of one server, and sessions for the gateway itself. */
export interface ServerPath
  extends BackendSessions,
    Pick<PassThrough, 'checkHandles' | 'resumesResponse' | 'takeUpload' | 'isUp' | 'close'> {
  /**
   * Serves a request whose body policy has allowed.
   * @throws GatewayError, and what credentials throw
   */
  forward(request: GatewayRequest, forwarding: Forwarding): Promise<ExchangeSummary>;
  /** Whether requests of the stateless revision may be about tasks, as far as that is known. */
  offersTasks(): boolean;
}

/**
 * Reserves the memory of a parsed body, which is a multiple of its length.
 * @returns a release function @throws GatewayError 413 for too many values, else as `ServerSlots.takeMemory`
 */
function takeParsed(
  { name }: GatewayServer,
  { takeMemory }: ServerSlots,
  owner: Owner,
  values: number,
): () => void {
  if (values > MAX_MESSAGE_VALUES)
    throw invalidRequest(
      413,
      `The body must not have more than ${MAX_MESSAGE_VALUES} values (objects, arrays and what is in them) for ${name}: send less in one request.`,
    );
  const memory = values * VALUE_MEMORY;
  return memory > SHORT_BODY ? takeMemory(owner, memory) : () => undefined;
}

function releaseAtClose(outgoing: ServerResponse, release: () => void): void {
  if (outgoing.closed) release();
  else outgoing.once('close', release);
}

/** Creates the message path of a server. */
export function createMessagePath(
  server: GatewayServer,
  backend: MessageBackend,
  options: PassThroughOptions,
): ServerPath {
  const { sealer, commonHeaders, slots } = options;
  const { open, listSessions } = createBackendSessions(server, backend, options);
  const sessions = createSessionClients(sealer, open);
  const stateless = createStatelessClients(open);

  const dispatch = createDispatch(slots, sessions, stateless);

  return {
    // Bodies are always buffered.
    takeUpload: () => null,
    async forward(request, forwarding) {
      const sentAt = performance.now();
      const { outgoing, incoming } = request;
      // The client has disappeared already: its slot would never be released.
      if (outgoing.destroyed) return { kind: 'cancelled', backendMs: 0, responseBytes: 0 };
      for (let at = 0; at + 1 < commonHeaders.length; at += 2)
        outgoing.setHeader(commonHeaders[at] ?? '', commonHeaders[at + 1] ?? '');
      const release = takeParsed(server, slots, request.owner, forwarding.scanned?.values ?? 0);
      try {
        await withClientHeaders(incoming.headers, () => dispatch(request, forwarding));
        const backendMs = performance.now() - sentAt;
        const { bytes: responseBytes, isCancelled } = sentIn(outgoing);
        return { kind: isCancelled ? 'cancelled' : 'answered', backendMs, responseBytes };
      } catch (error) {
        throw error instanceof BackendError ? failureOfBackend(error) : error;
      } finally {
        releaseAtClose(outgoing, release);
      }
    },
    checkHandles({ incoming, owner }) {
      const sealed = incoming.headers['mcp-session-id'];
      if (sealed !== undefined && openSession(sealer, owner, String(sealed)) === null)
        throw sessionNotFound();
    },
    resumesResponse: ({ incoming }) => namesResponse(String(incoming.headers['last-event-id'])),
    offersTasks: () => false,
    isUp: backend.isUp,
    open,
    listSessions,
    async close() {
      await Promise.all([sessions.close(), stateless.close()]);
      await backend.close();
    },
  };
}

/** Serves a request by the clients of its revision. */
function createDispatch(
  slots: ServerSlots,
  sessions: SessionClients,
  stateless: StatelessClients,
): (request: GatewayRequest, forwarding: Forwarding) => Promise<void> {
  function post(request: GatewayRequest, forwarding: Forwarding): Promise<void> {
    // Rules and approvers have decided about the numbers as they are written.
    const body: unknown = parseExactly(String(forwarding.body));
    const isBatch = Array.isArray(body);
    const messages = readBodyMessages(body);
    const { incoming, outgoing, owner } = request;
    const isStream = !isBatch && messages[0]?.method === 'subscriptions/listen';
    const release = isStream ? slots.takeStream(owner) : slots.takeRequest(owner);
    onShutdown(outgoing, () => {
      if (!outgoing.headersSent || outgoing.writableEnded) return;
      const ids = messages.filter(isRequest).map(({ id }) => JSON.stringify(id));
      endStreamAtShutdown(outgoing, ids);
    });
    const isStateless = incoming.headers['mcp-protocol-version'] === STATELESS || namesVersion(forwarding);
    // A call may last longer than its client's connection, which may still be open when the call is over.
    return (isStateless ? stateless : sessions)
      .post({ request, messages, isBatch, edit: forwarding.edit })
      .finally(() => releaseAtClose(outgoing, release));
  }

  return async (request, forwarding) => {
    const { outgoing, incoming } = request;
    if (incoming.method === 'POST') return post(request, forwarding);
    if (incoming.method === 'DELETE') return sessions.delete(request);
    outgoing.once('close', slots.takeStream(request.owner));
    return sessions.get(request, forwarding.edit);
  };
}

/** @throws GatewayError */
function readBodyMessages(body: unknown): readonly Message[] {
  const written: readonly unknown[] = Array.isArray(body) ? body : [body];
  const messages = written.map(readMessage).filter((message) => message !== null);
  if (messages.length === 0 || messages.length !== written.length)
    throw invalidRequest(
      400,
      'The body is not a JSON-RPC message with a string or a safe integer as its id.',
    );
  return messages.map(withoutNull);
}

/** Some clients write `null` for no parameters; many servers drop such a message, and never respond. */
function withoutNull(message: Message): Message {
  const { params, ...others } = message;
  return params === null ? others : message;
}
