/** Serves clients of revision 2026-07-28: each request is complete in itself, and what a backend asks travels in results. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
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
import { ownerKey, userKey } from '../../servers/owner.ts';
import type { GatewayRequest } from '../../servers/request.ts';
import { BackendError, type BackendSession } from '../backend.ts';
import {
  IN_BOTH,
  initializeParamsOf,
  MAY_ASK,
  metaKeys,
  REMOVED,
  STATELESS,
  toStateless,
} from '../revisions.ts';
import { createInputRounds } from './input-rounds.ts';
import { checkParameterHeaders } from './parameter-headers.ts';
import { createReply, endWithError, type Reply } from './reply.ts';
import type { ClientsOptions, WireClients } from './session-clients.ts';

/** A session at the backend that requests of the same client share. */
interface SharedSession {
  /** As `userKey` returns it. */
  readonly user: string;
  readonly session: Promise<BackendSession>;
  usedAt: number;
  open: number;
}

const MAX_SESSIONS = 10_000;
/** Of one user: a client could claim other capabilities in each request. */
const MAX_PER_USER = 50;
/** Milliseconds without a request after which a session at the backend is closed. */
const IDLE = 5 * 60_000;

export function createStatelessClients(options: ClientsOptions): WireClients {
  const { sealer, open, edit } = options;
  const sessions = new Map<string, SharedSession>();
  const rounds = createInputRounds(sealer);
  const sweep = setInterval(() => {
    for (const [key, shared] of sessions)
      if (shared.open === 0 && performance.now() - shared.usedAt > IDLE) drop(key);
  }, 30_000).unref();

  return {
    async post(request, messages) {
      const [message] = messages;
      const reply = createReply(request.outgoing);
      if (messages.length !== 1 || message === undefined)
        return reply.end(
          errorResponse(null, errorCodes.invalidRequest, 'Revision 2026-07-28 has no batches.'),
          400,
        );
      if (!isRequest(message)) return reply.end(null, 202);
      const refusal = checkStateless(message, request.incoming.headers);
      if (refusal !== null) return reply.end(refusal, 400);
      if (REMOVED.has(message.method)) return refuseMethod(reply, message);
      try {
        await serve(request, message, reply);
      } catch (error) {
        endWithError(reply, message.id, error);
      }
    },
    get: refuseHttpMethod,
    delete: refuseHttpMethod,
    async close() {
      clearInterval(sweep);
      rounds.close();
      await Promise.all([...sessions.keys()].map(drop));
    },
  };

  async function serve(request: GatewayRequest, message: RequestMessage, reply: Reply): Promise<void> {
    const shared = await connect(request, message);
    shared.open += 1;
    try {
      const session = await shared.session;
      if (message.method === 'server/discover') {
        const response = await edit(discover(session, message), message.method, request);
        return reply.end(response);
      }
      if (message.method === 'subscriptions/listen') return await subscribe(request, session, message, reply);
      await exchange(request, session, message, reply);
    } finally {
      shared.open -= 1;
      shared.usedAt = performance.now();
    }
  }

  /** Requests of one client with the same capabilities share a session: a backend learns them only once in each. */
  async function connect(request: GatewayRequest, message: Message): Promise<SharedSession> {
    const params = initializeParamsOf(message);
    const key = JSON.stringify([
      ownerKey(request.owner),
      request.principal.grantId ?? null,
      params.capabilities,
    ]);
    const found = sessions.get(key);
    if (found !== undefined) return found;
    const user = userKey(request.owner);
    evictIdle(
      [...sessions].filter(([, one]) => one.user === user),
      MAX_PER_USER,
    );
    evictIdle([...sessions], MAX_SESSIONS);
    const shared: SharedSession = {
      user,
      session: open(request, params),
      usedAt: performance.now(),
      open: 0,
    };
    sessions.set(key, shared);
    const forget = (): void => {
      if (sessions.get(key) === shared) sessions.delete(key);
    };
    shared.session.then(({ ended }) => void ended.then(forget), forget);
    return shared;
  }

  /** Makes place for one more: of a user's own first. */
  function evictIdle(among: readonly (readonly [string, SharedSession])[], limit: number): void {
    if (among.length < limit) return;
    const idle = among.find(([, { open: used }]) => used === 0);
    if (idle === undefined) throw new BackendError('overloaded', 'There are too many open sessions.');
    void drop(idle[0]);
  }

  async function drop(key: string): Promise<void> {
    const shared = sessions.get(key);
    sessions.delete(key);
    await shared?.session.then(
      (session) => session.close(),
      () => undefined,
    );
  }

  async function exchange(
    request: GatewayRequest,
    session: BackendSession,
    message: RequestMessage,
    reply: Reply,
  ): Promise<void> {
    const controller = new AbortController();
    const { outgoing, owner } = request;
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) controller.abort();
    });
    const refusal = await checkParameterHeaders(session, message, request.incoming.headers);
    if (refusal !== null) return reply.end(refusal, 400);
    await applyLogLevel(session, message);
    const known = IN_BOTH.has(message.method) ? withoutRequestMeta(message) : message;
    const outcome = await rounds.exchange({
      owner,
      session,
      message: known,
      signal: controller.signal,
      send: (received) => sendLog(received),
    });
    if (outcome === null) return;
    const response = await edit(
      toStateless(outcome, message.method, session.initialized),
      message.method,
      request,
    );
    const isUnknown = isMembers(response.error) && response.error['code'] === errorCodes.methodNotFound;
    reply.end(response, isUnknown ? 404 : 200);

    /** Log messages are sent to those who asked for them. */
    function sendLog(received: Message): void {
      const isLog = received.method === 'notifications/message';
      if (!isLog || parameter(message, '_meta', metaKeys.logLevel) !== undefined) reply.send(received);
    }
  }
}

/** The error for a request that is incomplete in this revision. @see MCP 2026-07-28, Streamable HTTP */
function checkStateless(message: RequestMessage, headers: IncomingHttpHeaders): Message | null {
  const version = statelessVersion(message);
  const capabilities = parameter(message, '_meta', metaKeys.clientCapabilities);
  if (version === null || !isMembers(capabilities)) {
    const missing = version === null ? metaKeys.version : metaKeys.clientCapabilities;
    return errorResponse(message.id, errorCodes.invalidParams, `_meta lacks ${missing}.`);
  }
  if (version !== STATELESS) {
    const text = `Unsupported protocol version: ${version}`;
    return errorResponse(message.id, errorCodes.unsupportedVersion, text, {
      supported: [STATELESS],
      requested: version,
    });
  }
  const lacksName = MAY_ASK.has(message.method) && headers['mcp-name'] === undefined;
  if (headers['mcp-protocol-version'] !== undefined && headers['mcp-method'] !== undefined && !lacksName)
    return null;
  return errorResponse(
    message.id,
    errorCodes.headerMismatch,
    'A standard header is missing: MCP-Protocol-Version, Mcp-Method or Mcp-Name.',
  );
}

function discover({ initialized }: BackendSession, { id }: RequestMessage): Message {
  const { capabilities, instructions } = initialized;
  const { tasks: _, ...kept } = capabilities;
  const result: JsonFields = {
    supportedVersions: [STATELESS],
    capabilities: kept,
    ...(instructions !== undefined && { instructions }),
  };
  return toStateless({ jsonrpc: '2.0', id, result }, 'server/discover', initialized);
}

/** A session has one level: that of the last request that named one. */
async function applyLogLevel(session: BackendSession, message: Message): Promise<void> {
  const level = parameter(message, '_meta', metaKeys.logLevel);
  if (typeof level !== 'string' || session.initialized.capabilities['logging'] === undefined) return;
  const call = { signal: AbortSignal.timeout(5000), receive: () => undefined };
  await session
    .request({ jsonrpc: '2.0', id: randomUUID(), method: 'logging/setLevel', params: { level } }, call)
    .catch(() => undefined);
}

/** The request as a session has it. */
function withoutRequestMeta(message: RequestMessage): RequestMessage {
  const { version, clientInfo, clientCapabilities, logLevel } = metaKeys;
  const stripped = withMeta(message, {
    [version]: undefined,
    [clientInfo]: undefined,
    [clientCapabilities]: undefined,
    [logLevel]: undefined,
  });
  return { ...message, params: stripped.params };
}

/** @see MCP 2026-07-28, subscriptions */
async function subscribe(
  { outgoing }: GatewayRequest,
  session: BackendSession,
  message: RequestMessage,
  reply: Reply,
): Promise<void> {
  const wanted = parameter(message, 'notifications');
  if (!isMembers(wanted))
    return reply.end(errorResponse(message.id, errorCodes.invalidParams, 'notifications is missing.'), 400);
  const granted = await grant(session, wanted);
  const stamp = { [metaKeys.subscriptionId]: message.id };
  const acknowledged: Message = {
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: granted },
  };
  reply.send(withMeta(acknowledged, stamp));
  const end = (): void =>
    reply.end({ jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', _meta: stamp } });
  if (Object.keys(granted).length === 0) return end();
  const stop = session.listen((received) => {
    if (isWanted(received, granted)) reply.send(withMeta(received, stamp));
  });
  void session.ended.then(end);
  await new Promise((resolve) => outgoing.once('close', resolve));
  stop();
  for (const uri of urisOf(granted))
    void askSession(session, 'resources/unsubscribe', uri).catch(() => undefined);
}

/** What the backend can report. */
async function grant(session: BackendSession, wanted: JsonFields): Promise<JsonFields> {
  const { capabilities } = session.initialized;
  const reports = (name: string, member: string): boolean =>
    isMembers(capabilities[name]) && capabilities[name][member] === true;
  const uris: string[] = [];
  if (reports('resources', 'subscribe'))
    for (const uri of urisOf(wanted))
      if (
        await askSession(session, 'resources/subscribe', uri).then(
          ({ error }) => error === undefined,
          () => false,
        )
      )
        uris.push(uri);
  return {
    ...(wanted['toolsListChanged'] === true && reports('tools', 'listChanged') && { toolsListChanged: true }),
    ...(wanted['promptsListChanged'] === true &&
      reports('prompts', 'listChanged') && { promptsListChanged: true }),
    ...(wanted['resourcesListChanged'] === true &&
      reports('resources', 'listChanged') && { resourcesListChanged: true }),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  };
}

function isWanted(message: Message, granted: JsonFields): boolean {
  if (message.method === 'notifications/resources/updated') {
    const uri = parameter(message, 'uri');
    return typeof uri === 'string' && urisOf(granted).some((subscribed) => uri.startsWith(subscribed));
  }
  const [, kind = ''] =
    /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(message.method ?? '') ?? [];
  return granted[`${kind}ListChanged`] === true;
}

function urisOf({ resourceSubscriptions: uris }: JsonFields): readonly string[] {
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];
}

function askSession(session: BackendSession, method: string, uri: string): Promise<Message> {
  const call = { signal: AbortSignal.timeout(30_000), receive: () => undefined };
  return session.request({ jsonrpc: '2.0', id: randomUUID(), method, params: { uri } }, call);
}

function refuseMethod(reply: Reply, { id, method }: RequestMessage): void {
  reply.end(
    errorResponse(id, errorCodes.methodNotFound, `Revision 2026-07-28 has no method ${method}.`),
    404,
  );
}

async function refuseHttpMethod(request: GatewayRequest): Promise<void> {
  const message = errorResponse(null, errorCodes.unavailable, 'Revision 2026-07-28 uses POST only.');
  createReply(request.outgoing).end(message, 405, { allow: 'POST' });
}
