/** A stateless backend (revision 2026-07-28) as a session of the earlier revisions. */
import {
  errorCodes,
  errorResponse,
  isMembers,
  isResponse,
  type JsonFields,
  type Message,
  type RequestMessage,
} from '@portcullis/http';
import {
  BackendError,
  type BackendSession,
  type InitializeParams,
  type InitializeResult,
} from '../backend.ts';
import {
  ADDED,
  hasCapability,
  LAST_WITH_SESSIONS,
  LOG_LEVELS,
  metaKeys,
  unknownLogLevel,
  WITH_SESSIONS,
} from '../revisions.ts';
import { createInputRequests } from './stateless-input.ts';
import {
  createStatelessRequests,
  type StatelessOptions,
  type StatelessRequests,
} from './stateless-requests.ts';
import { followSubscriptions } from './stateless-subscription.ts';

/** @throws BackendError */
export async function openStateless(
  options: StatelessOptions,
  initialize: InitializeParams,
): Promise<BackendSession> {
  const closing = new AbortController();
  const closed = Promise.withResolvers<void>();
  const requests = createStatelessRequests(options, initialize, closing.signal);
  const inputs = createInputRequests(options.name, requests, initialize.capabilities);
  const initialized = await discover(options.name, requests, initialize, closing.signal);
  const changes = createChanges(requests, initialized.capabilities, options.frame);
  return {
    initialized,
    ended: closed.promise,
    async request(message, call) {
      return (
        respondLocally(message, initialized, { requests, changes }) ?? (await inputs.send(message, call))
      );
    },
    async notify(message) {
      if (isResponse(message)) inputs.resolve(message);
    },
    listen: changes.listen,
    async close() {
      closing.abort();
      changes.close();
      closed.resolve();
    },
  };
}

async function discover(
  name: string,
  requests: StatelessRequests,
  { protocolVersion }: InitializeParams,
  signal: AbortSignal,
): Promise<InitializeResult> {
  const request: RequestMessage = { jsonrpc: '2.0', id: 'discover', method: 'server/discover' };
  const { result, error } = await requests.send(request, { signal });
  if (!isMembers(result) || !isMembers(result['capabilities'])) {
    const reason = isMembers(error) ? String(error['message']) : 'no result';
    throw new BackendError('refused', `${name} refused server/discover: ${reason}.`);
  }
  const meta = isMembers(result['_meta']) ? result['_meta'] : {};
  const { instructions } = result;
  return {
    protocolVersion: WITH_SESSIONS.has(protocolVersion) ? protocolVersion : LAST_WITH_SESSIONS,
    capabilities: result['capabilities'],
    serverInfo: meta[metaKeys.serverInfo] ?? { name, version: '0' },
    ...(instructions !== undefined && { instructions }),
  };
}

/** The capabilities without which a server does not know a method. */
const OPTIONAL: Readonly<Record<string, (capabilities: JsonFields) => boolean>> = {
  'logging/setLevel': ({ logging }) => logging !== undefined,
  'resources/subscribe': (capabilities) => hasCapability(capabilities, 'resources', 'subscribe'),
  'resources/unsubscribe': (capabilities) => hasCapability(capabilities, 'resources', 'subscribe'),
};

/** A method without it has no `Mcp-Method`, and so none in the stateless revision. @see RFC 9110 §5.5 */
const FIELD_VALUE = /^[!-~](?:[\t -~]*[!-~])?$/;

/** Responds to requests that exist only in sessions, and to those that do not exist there. */
function respondLocally(
  { id, method, params }: RequestMessage,
  { capabilities }: InitializeResult,
  { requests, changes }: { readonly requests: StatelessRequests; readonly changes: Changes },
): Message | null {
  const parameters = isMembers(params) ? params : {};
  const { uri, level } = parameters;
  if (ADDED.has(method) || OPTIONAL[method]?.(capabilities) === false || !FIELD_VALUE.test(method))
    return errorResponse(id, errorCodes.methodNotFound, `This server does not know ${method}.`);
  if (method === 'logging/setLevel') {
    if (!LOG_LEVELS.includes(level)) return unknownLogLevel(id, level);
    requests.setLogLevel(level);
  } else if (method === 'resources/subscribe' && typeof uri === 'string') changes.subscribe(uri);
  else if (method === 'resources/unsubscribe') changes.unsubscribe(uri);
  else if (method !== 'ping') return null;
  return { jsonrpc: '2.0', id, result: {} };
}

type Changes = ReturnType<typeof createChanges>;

/** Changes that the backend reports, and their subscribers. */
function createChanges(requests: StatelessRequests, capabilities: JsonFields, frame: number) {
  const listeners = new Set<(message: Message) => void>();
  const uris = new Set<string>();
  let subscription: AbortController | null = null;
  let isClosed = false;

  return {
    subscribe(uri: string): void {
      uris.add(uri);
      follow();
    },
    unsubscribe(uri: unknown): void {
      uris.delete(String(uri));
      follow();
    },
    listen(receive: (message: Message) => void): () => void {
      listeners.add(receive);
      follow();
      return () => {
        listeners.delete(receive);
        if (listeners.size === 0) subscription?.abort();
      };
    },
    close(): void {
      isClosed = true;
      subscription?.abort();
    },
  };

  /** A subscription names all resources: each change opens a new one. */
  function follow(): void {
    subscription?.abort();
    subscription = null;
    if (listeners.size === 0 || isClosed) return;
    const receive = (message: Message): void => {
      for (const listener of listeners) listener(message);
    };
    subscription = new AbortController();
    const { signal } = subscription;
    void followSubscriptions({ requests, capabilities, uris: [...uris], frame, receive, signal });
  }
}
