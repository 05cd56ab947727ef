/** Serves clients of revision 2026-07-28: each request is self-contained, and results carry server requests. */
import { randomUUID } from 'node:crypto';
import {
  errorCodes,
  errorResponse,
  isMembers,
  isRequest,
  type JsonFields,
  type Message,
  parameter,
  type RequestMessage,
  statelessVersion,
  withMeta,
} from '@portcullis/http';
import {
  MAX_INITIALIZE,
  MAX_SESSIONS,
  MAX_SHARED_SESSIONS_OF_USER,
  SHARED_SESSION_IDLE,
  SHARED_SESSION_SWEEP,
} from '../../limits.ts';
import type { MessageEdit } from '../../messages/message-edit.ts';
import { type GatewayRequest, ownerKey, userKey } from '../../servers/request.ts';
import { isTaskMethod } from '../../sessions/message-handles.ts';
import { type BackendSession, orInNewSession } from '../backend.ts';
import { createIdlePool, type PoolEntry } from '../idle-pool.ts';
import {
  IN_BOTH,
  initializeParamsOf,
  LOG_LEVELS,
  metaKeys,
  notInStateless,
  REMOVED_NOTIFICATIONS,
  STATELESS,
  toStateless,
  unknownLogLevel,
} from '../revisions.ts';
import { checkParameterHeaders } from './parameter-headers.ts';
import { createReply, endWithError, filterReply, openWhenLate, type Reply } from './reply.ts';
import type { ClientPost } from './session-clients.ts';
import type { OpenBackend } from './session-table.ts';
import { serveSubscription } from './stateless-subscriptions.ts';
import { askToOpen } from './url-elicitations.ts';
import { createWaitingCalls, refuseServerRequest, type WaitingCalls } from './waiting-calls.ts';

/** A backend session shared by requests of the same client. */
interface SharedSession extends PoolEntry {
  readonly session: Promise<BackendSession>;
  usedAt: number;
  /** Requests that use it. */
  open: number;
}

interface StatelessRequest {
  readonly request: GatewayRequest;
  readonly session: BackendSession;
  readonly message: RequestMessage;
  readonly reply: Reply;
  readonly edit: MessageEdit;
}

export type StatelessClients = ReturnType<typeof createStatelessClients>;

export function createStatelessClients(open: OpenBackend) {
  const calls = createWaitingCalls();
  const connect = createConnections(open);

  return {
    async post({ request, messages: [message], isBatch, edit }: ClientPost): Promise<void> {
      const reply = filterReply(createReply(request.outgoing, null, edit.seal), edit.mayReport);
      if (isBatch || message === undefined) {
        const text = 'Revision 2026-07-28 has no batches.';
        return reply.end(errorResponse(null, errorCodes.invalidRequest, text), 400);
      }
      if (!isRequest(message)) return reply.end(null, 202);
      const refusal = checkStateless(message);
      if (refusal !== null) return reply.end(refusal, 400);
      if (isTaskMethod(message.method)) return refuseMethod(reply, message);
      try {
        const send = () => serve(request, message, reply, edit);
        await (isBoundToSession(message) ? send() : orInNewSession(send));
      } catch (error) {
        endWithError(reply, message.id, error, message.method);
      }
    },
    async close(): Promise<void> {
      calls.close();
      await connect.close();
    },
  };

  async function serve(
    request: GatewayRequest,
    message: RequestMessage,
    reply: Reply,
    edit: MessageEdit,
  ): Promise<void> {
    const shared = connect.find(request, message);
    shared.open += 1;
    try {
      const session = await shared.session;
      const one: StatelessRequest = { request, session, message, reply, edit };
      if (message.method === 'server/discover')
        return reply.end(await edit.filter(discover(session, message)));
      if (message.method === 'subscriptions/listen')
        return await serveSubscription(request, session, message, reply);
      await exchange(calls, one);
    } finally {
      shared.open -= 1;
      shared.usedAt = performance.now();
    }
  }
}

/**
 * Requests of one client with the same capabilities share a session: capabilities are declared once per session. Nothing tells
 * clients without a token apart: those of one site share a session.
 */
function createConnections(open: OpenBackend) {
  const sessions = createIdlePool<SharedSession>({
    limits: { entries: MAX_SESSIONS, perUser: MAX_SHARED_SESSIONS_OF_USER, idle: SHARED_SESSION_IDLE },
    interval: SHARED_SESSION_SWEEP,
    overloaded: () => 'There are too many open sessions.',
  });
  return {
    close: sessions.close,
    find(request: GatewayRequest, message: Message): SharedSession {
      const params = initializeParamsOf(message);
      const { owner, principal } = request;
      const key = JSON.stringify([ownerKey(owner), principal.grantId ?? null, params.capabilities]);
      const found = sessions.get(key);
      if (found !== undefined) return found;
      const user = userKey(owner);
      const shared = sessions.add(key, user, () =>
        createShared(user, open(request, params, owner.isAnonymous).then(refuseUnasked)),
      );
      const forget = (): void => sessions.remove(key, shared);
      shared.session.then(({ ended }) => void ended.then(forget), forget);
      return shared;
    },
  };
}

/** Between calls, a stateless client cannot receive server requests: the backend gets an error at once. */
function refuseUnasked(session: BackendSession): BackendSession {
  session.listen((message) => {
    if (isRequest(message)) void refuseServerRequest(session, message.id);
  });
  return session;
}

function createShared(user: string, session: Promise<BackendSession>): SharedSession {
  const shared: SharedSession = {
    user,
    session,
    usedAt: performance.now(),
    open: 0,
    isBusy: () => shared.open > 0,
    close: () =>
      session.then(
        (opened) => opened.close(),
        () => undefined,
      ),
  };
  return shared;
}

async function exchange(
  calls: WaitingCalls,
  { request, session, message, reply, edit }: StatelessRequest,
): Promise<void> {
  const controller = new AbortController();
  const { outgoing, owner, network, principal } = request;
  // It may have disappeared while the session was opened.
  if (outgoing.closed) return reply.cancel();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) controller.abort();
  });
  await checkParameterHeaders(session, message, request.incoming.headers);
  await applyLogLevel(session, message);
  const wantsLog = parameter(message, '_meta', metaKeys.logLevel) !== undefined;
  const stopWaiting = openWhenLate(request.incoming, () => reply);
  const outcome = await calls
    .exchange({
      ...{ owner, network, principal, session },
      message: IN_BOTH.has(message.method) ? withoutRequestMeta(message) : message,
      capabilities: initializeParamsOf(message).capabilities,
      signal: controller.signal,
      send(received) {
        if (REMOVED_NOTIFICATIONS.has(received.method ?? '')) return;
        if (wantsLog || received.method !== 'notifications/message') reply.send(received);
      },
    })
    .finally(stopWaiting);
  if (outcome === null) return reply.cancel();
  const asked = askToOpen(outcome, message);
  const response = await edit.filter(toStateless(asked, message.method, session.initialized));
  reply.end(response, statusOf(response));
}

/** @see MCP 2026-07-28, base protocol and Streamable HTTP: the status MUST be this one */
function statusOf({ error }: Message): number {
  const code = isMembers(error) ? error['code'] : undefined;
  return code === errorCodes.methodNotFound ? 404 : code === errorCodes.missingClientCapability ? 400 : 200;
}

/** Whether a request is about what another session does not have: a waiting call, or the stream that has begun. */
function isBoundToSession(message: RequestMessage): boolean {
  return message.method === 'subscriptions/listen' || parameter(message, 'requestState') !== undefined;
}

/** The error for a request of another revision, or for a log level that does not exist. */
function checkStateless(message: RequestMessage): Message | null {
  const version = statelessVersion(message);
  if (version !== STATELESS) {
    const text = `Unsupported protocol version: ${version}`;
    return errorResponse(message.id, errorCodes.unsupportedVersion, text, {
      supported: [STATELESS],
      requested: version,
    });
  }
  // A shared session retains them until it is idle.
  if (JSON.stringify(initializeParamsOf(message)).length > MAX_INITIALIZE) {
    const text = `The client's capabilities and clientInfo in _meta are longer than ${MAX_INITIALIZE} characters.`;
    return errorResponse(message.id, errorCodes.invalidParams, text);
  }
  const level = parameter(message, '_meta', metaKeys.logLevel);
  return level === undefined || LOG_LEVELS.includes(level) ? null : unknownLogLevel(message.id, level);
}

function discover({ initialized }: BackendSession, { id }: RequestMessage): Message {
  const { capabilities, instructions } = initialized;
  const { tasks: _, ...offered } = capabilities;
  const result: JsonFields = {
    supportedVersions: [STATELESS],
    capabilities: offered,
    ...(instructions !== undefined && { instructions }),
  };
  return toStateless({ jsonrpc: '2.0', id, result }, 'server/discover', initialized);
}

/** A session has one log level: that of the last request that named one. */
async function applyLogLevel(session: BackendSession, message: Message): Promise<void> {
  const level = parameter(message, '_meta', metaKeys.logLevel);
  if (typeof level !== 'string' || session.initialized.capabilities['logging'] === undefined) return;
  const call = { signal: AbortSignal.timeout(5000) };
  await session
    .request({ jsonrpc: '2.0', id: randomUUID(), method: 'logging/setLevel', params: { level } }, call)
    .catch(() => undefined);
}

/** The request in the form of the revisions with sessions. A task is no form of a result here. */
function withoutRequestMeta(message: RequestMessage): RequestMessage {
  const { version, clientInfo, clientCapabilities, logLevel } = metaKeys;
  const stripped = withMeta(message, {
    [version]: undefined,
    [clientInfo]: undefined,
    [clientCapabilities]: undefined,
    [logLevel]: undefined,
  });
  return { ...message, params: { ...Object(stripped.params), task: undefined } };
}

function refuseMethod(reply: Reply, { id, method }: RequestMessage): void {
  reply.end(errorResponse(id, errorCodes.methodNotFound, notInStateless(method)), 404);
}
