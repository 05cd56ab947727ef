/** The message path: exchanges whole messages between clients of both protocol generations and any kind of backend. */

import { type Message, readMessage, statelessVersion } from '@portcullis/http';
import {
  BackendError,
  type BackendSession,
  type InitializeParams,
  type MessageBackend,
} from './backends/backend.ts';
import { sentBytes } from './backends/clients/reply.ts';
import {
  type ClientsOptions,
  createSessionClients,
  type RevisionClients,
} from './backends/clients/session-clients.ts';
import { createStatelessClients } from './backends/clients/stateless-clients.ts';
import { withClientHeaders } from './backends/http/backend-fetch.ts';
import { LAST_WITH_SESSIONS, STATELESS, WITH_SESSIONS } from './backends/revisions.ts';
import type { CredentialSource } from './credentials/credential-source.ts';
import { invalidRequest, sessionNotFound, unavailable } from './http/error-response.ts';
import type { ExchangeSummary } from './http/exchange.ts';
import type { Forwarding } from './http/pass-through.ts';
import { type ServerSlots, takeStream } from './http/slots.ts';
import { type OwnSessions, ownInitialize } from './list-tools.ts';
import { ownerKey } from './servers/owner.ts';
import type { GatewayRequest, OwnedRequest } from './servers/request.ts';
import type { GatewayServer } from './servers/server.ts';
import type { Sealer } from './sessions/sealer.ts';

/** Options of `createMessagePath`. */
export interface MessagePathOptions {
  readonly sealer: Sealer;
  readonly credentials: CredentialSource;
  /** Headers of every response, as a flat list. */
  readonly commonHeaders: readonly string[];
  /** Filters or changes a response on its way to the client, such as a list of tools. */
  readonly edit?: (response: Message, method: string, request: GatewayRequest) => Promise<Message> | Message;
  readonly slots: ServerSlots;
  /** The backend announced that its list of tools has changed. */
  readonly onToolsChanged: (server: GatewayServer) => void;
}

/** Serves the requests of one server. */
export interface MessagePath {
  /**
   * Opens the session id of a request.
   * @throws GatewayError 404 for a session of another user, client or server, before anything else is decided
   */
  checkHandles(request: GatewayRequest): void;
  /** Bodies are always buffered. */
  takeUpload(request: GatewayRequest): null;
  /**
   * Serves a request whose body policy has allowed.
   * @throws GatewayError, and what credentials throw
   */
  forward(request: GatewayRequest, forwarding: Pick<Forwarding, 'body'>): Promise<ExchangeSummary>;
  isUp(): boolean;
  /** Sessions in which the gateway lists tools for the user: one that a client has opened, where the newest revision is enough. */
  readonly listSessions: OwnSessions;
  /** A session for a client of a merged server. */
  open(request: OwnedRequest, initialize: InitializeParams): Promise<BackendSession>;
  close(): Promise<void>;
}

/** Creates the message path of a server. */
export function createMessagePath(
  server: GatewayServer,
  backend: MessageBackend,
  options: MessagePathOptions,
): MessagePath {
  const { sealer, credentials, commonHeaders, slots, edit = (response) => response } = options;
  const own: ClientsOptions = { sealer, edit, open };
  const sessions = createSessionClients(own);
  const stateless = createStatelessClients(own);
  /** The session that each user's client opened last. */
  const opened = new Map<string, BackendSession>();

  return {
    takeUpload: () => null,
    async forward(request, { body }) {
      const sentAt = performance.now();
      const { outgoing, incoming } = request;
      // The client has disappeared already: its slot would never be released.
      if (outgoing.destroyed) return { kind: 'cancelled', backendMs: 0, responseBytes: 0 };
      for (let at = 0; at + 1 < commonHeaders.length; at += 2)
        outgoing.setHeader(commonHeaders[at] ?? '', commonHeaders[at + 1] ?? '');
      try {
        const message: unknown = body === null ? null : JSON.parse(body.toString());
        await withClientHeaders(incoming.headers, () => dispatch(request, message));
        const backendMs = performance.now() - sentAt;
        return { kind: 'answered', backendMs, responseBytes: sentBytes(outgoing) };
      } catch (error) {
        throw error instanceof BackendError ? unavailable(error.message, error.retryAfter, error) : error;
      }
    },
    checkHandles({ incoming, owner }) {
      const sealed = incoming.headers['mcp-session-id'];
      if (sealed !== undefined && sealer.open('session', owner, String(sealed)) === null)
        throw sessionNotFound();
    },
    isUp: backend.isUp,
    open,
    async listSessions(request, revisions) {
      const session = opened.get(ownerKey(request.owner));
      if (session !== undefined && revisions === 'newest') return [async () => ({ session, isOwn: false })];
      const versions = revisions === 'newest' ? [LAST_WITH_SESSIONS] : [...WITH_SESSIONS].toReversed();
      return versions.map((version) => async () => ({
        session: await openAtBackend(request, ownInitialize(version), true),
        isOwn: true,
      }));
    },
    async close() {
      await Promise.all([sessions.close(), stateless.close()]);
      await backend.close();
    },
  };

  async function dispatch(request: GatewayRequest, body: unknown): Promise<void> {
    const { outgoing, incoming } = request;
    if (incoming.method === 'POST') return post(request, readBodyMessages(body));
    const clients = clientsOf(request, []);
    if (incoming.method === 'DELETE') return clients.delete(request);
    outgoing.once('close', takeStream(slots, server, request.owner));
    return clients.get(request);
  }

  function post(request: GatewayRequest, messages: readonly Message[]): Promise<void> {
    const { outgoing, owner } = request;
    const isStream = messages.some(({ method }) => method === 'subscriptions/listen');
    outgoing.once('close', isStream ? takeStream(slots, server, owner) : slots.takeRequest(owner));
    return clientsOf(request, messages).post(request, messages);
  }

  function clientsOf({ incoming }: GatewayRequest, messages: readonly Message[]): RevisionClients {
    const isStateless = incoming.headers['mcp-protocol-version'] === STATELESS;
    return isStateless || messages.some((message) => statelessVersion(message) !== null)
      ? stateless
      : sessions;
  }

  /** Credentials are renewed while a session is open. */
  function openAtBackend(
    { principal, owner }: OwnedRequest,
    initialize: InitializeParams,
    isBrief: boolean,
  ): Promise<BackendSession> {
    return backend.open(owner, initialize, {
      isBrief,
      principal,
      credential: () => credentials.for(principal, server),
      rejected: (answer, credential) => credentials.rejected(principal, server, answer, credential),
    });
  }

  async function open(request: OwnedRequest, initialize: InitializeParams): Promise<BackendSession> {
    const { owner } = request;
    const session = await openAtBackend(request, initialize, false);
    session.listen(({ method }) => {
      if (method === 'notifications/tools/list_changed') options.onToolsChanged(server);
    });
    const key = ownerKey(owner);
    opened.set(key, session);
    void session.ended.then(() => {
      if (opened.get(key) === session) opened.delete(key);
    });
    return session;
  }
}

/** @throws GatewayError */
function readBodyMessages(body: unknown): readonly Message[] {
  const written: readonly unknown[] = Array.isArray(body) ? body : [body];
  const messages = written.map(readMessage).filter((message) => message !== null);
  if (messages.length === 0 || messages.length !== written.length)
    throw invalidRequest(400, 'The body is not a JSON-RPC message.');
  return messages;
}
