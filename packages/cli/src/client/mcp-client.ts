/** MCP requests over the authorized fetch, for `call`, `tools` and `doctor`: lenient, because the doctor examines servers that stricter clients reject. */
import { ClientError, type Fetch } from '@portcullis/client';
import {
  CLIENT_INFO_KEY,
  errorCodes,
  errorResponse,
  isResponse,
  type Message,
  type MessageId,
  VERSION_KEY,
} from '@portcullis/http';
import { profileC, profileD } from '@portcullis/protocol';
import { isObject } from '../json.ts';
import { createReconnectingTransport, maySpeakSse } from './transport/reconnecting-transport.ts';
import { HttpResponseError, limitLength } from './transport/responses.ts';

/** A JSON-RPC error. */
interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The server responded with a JSON-RPC error. */
export class ServerError extends Error {
  override readonly name: string = 'ServerError';
  readonly rpc: RpcError;
  /** HTTP status of the response that it was in. */
  readonly status: number;

  constructor(rpc: RpcError, status = 200) {
    super(rpc.message);
    this.rpc = rpc;
    this.status = status;
  }
}

/**
 * Sends a request and returns its result, unvalidated. Numbers are as the server writes them.
 * @throws errors of `fetch`, ServerError, or HttpResponseError for an HTTP error response.
 */
export type McpRequest = (method: string, params?: Readonly<Record<string, unknown>>) => Promise<unknown>;

export interface McpTarget {
  readonly url: string;
  readonly fetch: Fetch;
  readonly version: string;
  /** Declared in the client capabilities. */
  readonly extensions?: Readonly<Record<string, object>>;
  /** Receives the message endpoint of an HTTP+SSE server: `fetch` must send the token there too. */
  readonly acceptEndpoint: (endpoint: URL) => void;
  /** Offers this revision in a session, and no other; by default the newest common revision is negotiated. */
  readonly offer?: string;
}

/** A connection to an MCP server, for one request after the other. */
interface McpConnection {
  /** The negotiated protocol revision. */
  readonly revision: string;
  /** Revisions that the server lists; empty when it does not list any. */
  readonly listed: readonly string[];
  readonly request: McpRequest;
  close(): Promise<void>;
}

const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';

/** Connects by the stateless revision where the server lists it, else within a session. @throws as `McpRequest` */
export async function connectMcp({
  version,
  offer,
  extensions = {},
  ...target
}: McpTarget): Promise<McpConnection> {
  const { notify, request, close } = createRequests(target);
  const clientInfo = { name: 'portcullis', version };
  const capabilities = Object.keys(extensions).length === 0 ? {} : { extensions };
  const { revision } = profileD;
  const _meta = {
    [VERSION_KEY]: revision,
    [CLIENT_INFO_KEY]: clientInfo,
    [CAPABILITIES_KEY]: capabilities,
  };
  // Without sessions, each request states its client and revision.
  const stateless: McpRequest = (method, params = {}) => request(method, { ...params, _meta });
  const listed = offer === undefined ? await listVersions(stateless) : [];
  if (listed.includes(revision)) return { revision, listed, request: stateless, close };
  const protocolVersion = offer ?? profileC.revision;
  const initialized = await request('initialize', { protocolVersion, clientInfo, capabilities });
  await notify('notifications/initialized');
  return { revision: readRevision(initialized) ?? profileC.revision, listed, request, close };
}

async function listVersions(request: McpRequest): Promise<readonly string[]> {
  try {
    const found = await request('server/discover');
    const versions = isObject(found) ? found['supportedVersions'] : undefined;
    return Array.isArray(versions) ? versions.filter((one) => typeof one === 'string') : [];
  } catch (error) {
    // Servers of older revisions reject the method in different ways.
    const mayBeOlder = error instanceof HttpResponseError && maySpeakSse(error.status);
    if (error instanceof ServerError || mayBeOlder) return [];
    throw error;
  }
}

function readRevision(initialized: unknown): string | null {
  const revision = isObject(initialized) ? initialized['protocolVersion'] : undefined;
  return typeof revision === 'string' ? revision : null;
}

/** Requests of the server are rejected, except `ping`. */
function createRequests({ fetch, ...target }: Pick<McpTarget, 'url' | 'fetch' | 'acceptEndpoint'>) {
  let response: Message | null = null;
  let count = 0;
  /** HTTP status of the last error response. */
  let status = 200;
  let failure: unknown = null;
  let tooLong: ClientError | null = null;
  const transport = createReconnectingTransport({
    ...target,
    async fetch(input, init) {
      const received = limitLength(await fetch(input, init), (error) => {
        tooLong = error;
        void transport.close();
      });
      if (!received.ok) ({ status } = received);
      return received;
    },
    complain(error) {
      failure = error;
    },
    receive(message) {
      const { id, method } = message;
      if (isResponse(message)) response = id === count ? message : response;
      else if (id !== undefined && id !== null) void respond(id, method === 'ping');
    },
  });
  return {
    request,
    notify: (method: string) => transport.send({ jsonrpc: '2.0', method }),
    close: transport.close,
  };

  async function request(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    count += 1;
    status = 200;
    response = null;
    failure = null;
    await transport.send({ jsonrpc: '2.0', id: count, method, params });
    return resultOf(response);
  }

  function resultOf(received: Message | null): unknown {
    const cause = tooLong ?? failure;
    // The transport's cause is more specific than the response that replaces it.
    if (cause instanceof ClientError || cause instanceof HttpResponseError) throw cause;
    if (received === null)
      throw new ServerError({ code: errorCodes.internal, message: 'The server did not respond.' });
    if ('error' in received) throw new ServerError(readRpcError(received.error), status);
    return received.result;
  }

  async function respond(id: MessageId, isPing: boolean): Promise<void> {
    const message: Message = isPing
      ? { jsonrpc: '2.0', id, result: {} }
      : errorResponse(id, errorCodes.methodNotFound, 'Method not found');
    await transport.send(message).catch(() => undefined);
  }
}

function readRpcError(value: unknown): RpcError {
  const { code, message, data } = isObject(value) ? value : {};
  return {
    code: typeof code === 'number' ? code : errorCodes.internal,
    message: typeof message === 'string' ? message : 'error without a message',
    ...(data !== undefined && { data }),
  };
}
