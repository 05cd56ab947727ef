/** MCP requests with the official MCP client, loaded on first use, over the authorized fetch: for `call`, `tools` and `doctor`. */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { ClientError, Fetch } from '@portcullis/client';
import { type Message, mediaType } from '@portcullis/http';
import { beforeAbort } from '@portcullis/protocol';
import { isObject, parseJson } from '../json.ts';
import { connectSse, maySpeakSse } from './transport/reconnecting-transport.ts';
import {
  HttpResponseError,
  limitLength,
  MESSAGE_TYPES,
  NOT_A_MESSAGE,
  readResponseError,
} from './transport/responses.ts';

/** A JSON-RPC error. */
export interface RpcError {
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

/** The server has accepted a request, and not responded to it. */
export class NoResponse extends Error {
  override readonly name: string = 'NoResponse';

  constructor() {
    super(
      `The server has not responded for ${BEYOND_SIGN_IN / 3_600_000} hours. A tool that was called may still be running.`,
    );
  }
}

/**
 * Sends a request and returns its result, unvalidated.
 * @throws errors of `fetch`, ServerError, NoResponse, or HttpResponseError for an HTTP error response.
 */
export type McpRequest = (method: string, params?: Readonly<Record<string, unknown>>) => Promise<unknown>;

/** A connection to an MCP server. */
interface McpConnection {
  readonly request: McpRequest;
  close(): Promise<void>;
}

interface McpConnectOptions {
  readonly url: string;
  readonly fetch: Fetch;
  readonly version: string;
  /** Declared in the client capabilities. */
  readonly extensions: Readonly<Record<string, object>>;
  /** Receives the message endpoint of an HTTP+SSE server: `fetch` must send the token there too. */
  readonly acceptEndpoint: (endpoint: URL) => void;
}

/** The value type of `extensions` in the MCP client's types. */
type JsonObjects = Record<string, Record<string, never>>;

/** Accepts every result that the MCP client accepts: tools are displayed as the server describes them. */
const anyResult = {
  '~standard': { version: 1, vendor: 'portcullis', validate: (value: unknown) => ({ value }) },
} as const;

/**
 * Milliseconds. Any request may include a sign-in, which ends by its own timeout, with an error that says so: after ten minutes in a
 * browser, after an hour with a code, and after another one for the account.
 */
const BEYOND_SIGN_IN = 2 * 3_600_000;
const PATIENT = { timeout: BEYOND_SIGN_IN } as const;
/** Timeout for ending a session at the server, in milliseconds. */
const END_TIMEOUT = 2000;

/** Connects. @throws errors of `fetch`, ServerError, NoResponse, or HttpResponseError for an HTTP error response. */
export async function connectMcp(options: McpConnectOptions): Promise<McpConnection> {
  const { url, version, extensions } = options;
  const { Client, ProtocolError, SdkError, SdkErrorCode, StreamableHTTPClientTransport } = await import(
    '@modelcontextprotocol/client'
  );
  const failures = recordFailures(options.fetch, () => void transport.close());
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: failures.fetch });
  const createMcpClient = (negotiates: boolean) =>
    new Client(
      { name: 'portcullis', version },
      {
        capabilities:
          Object.keys(extensions).length === 0 ? {} : { extensions: { ...extensions } as JsonObjects },
        ...(negotiates && { versionNegotiation: { mode: 'auto', probe: { timeoutMs: BEYOND_SIGN_IN } } }),
      },
    );
  const client = await connectOrFallBack();
  return {
    request: (method, params = {}) =>
      attempt(() => client.request({ method, params: { ...params } }, anyResult, PATIENT)),
    async close() {
      const ending = transport.terminateSession();
      await beforeAbort(ending, AbortSignal.timeout(END_TIMEOUT)).catch(() => undefined);
      // Aborts a request that the server has not responded to.
      await client.close();
    },
  };

  /** Falls back for servers that reject Streamable HTTP: they may implement revision 2024-11-05. */
  async function connectOrFallBack() {
    const client = createMcpClient(true);
    try {
      await attempt(() => client.connect(transport, PATIENT));
      return client;
    } catch (error) {
      if (!(error instanceof HttpResponseError) || !maySpeakSse(error.status)) throw error;
      const legacy = await createSseTransport(options, failures.record);
      if (legacy === null) throw error;
      const older = createMcpClient(false);
      await attempt(() => older.connect(legacy, PATIENT));
      return older;
    }
  }

  async function attempt<T>(act: () => Promise<T>): Promise<T> {
    failures.clear();
    try {
      return await act();
    } catch (error) {
      if (failures.recorded() !== null) throw failures.recorded();
      // The transport's cause is more specific than the MCP client's error.
      if (error instanceof ProtocolError) {
        const { code, message, data } = error;
        throw new ServerError({ code, message, ...(data !== undefined && { data }) });
      }
      if (failures.latest() !== null) throw failures.latest();
      if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) throw new NoResponse();
      if (error instanceof SdkError) throw new ServerError({ code: -32603, message: error.message });
      throw error;
    }
  }
}

/** HTTP+SSE as a transport of the MCP client; `null` if the server does not support it. */
async function createSseTransport(
  { url, fetch, acceptEndpoint }: McpConnectOptions,
  complain: (error: unknown) => void,
): Promise<Transport | null> {
  const sse = await connectSse({
    ...{ url, fetch, complain, acceptEndpoint },
    // It knows numbers as doubles only.
    receive: (message) => transport.onmessage?.(JSON.parse(JSON.stringify(message)) as JSONRPCMessage),
  });
  const transport: Transport = {
    start: async () => undefined,
    send: async (message) => void sse?.send(message as Message).catch((error) => transport.onerror?.(error)),
    async close() {
      await sse?.close();
      transport.onclose?.();
    },
  };
  return sse === null ? null : transport;
}

/**
 * A `fetch` that records its latest failure: an exception, or an HTTP error response.
 * @param end called when a response is too long: the MCP client would continue to wait for the message in it
 */
function recordFailures(fetch: Fetch, end: () => void) {
  let latest: unknown = null;
  let recorded: unknown = null;
  let tooLong: ClientError | null = null;
  return {
    latest: () => latest,
    /** The error that ended the connection, or is behind an error response that was created here. */
    recorded: () => tooLong ?? recorded,
    record(error: unknown) {
      recorded = error;
    },
    clear() {
      latest = null;
      recorded = null;
    },
    async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
      try {
        const response = limitLength(await fetch(input, init), (error) => {
          tooLong = error;
          end();
        });
        if (init?.method !== 'POST') return response;
        if (!response.ok) {
          const text = await response.text();
          latest = errorIn(response, text);
          return new Response(text === '' ? null : text, response);
        }
        if (!MESSAGE_TYPES.includes(mediaType(response)) && response.status === 200)
          latest = new HttpResponseError(response.status, NOT_A_MESSAGE);
        return response;
      } catch (error) {
        latest = error;
        throw error;
      }
    },
  };
}

/** An HTTP error response may have a JSON-RPC error as its body. */
function errorIn(response: Response, text: string): ServerError | HttpResponseError {
  const json = parseJson(text);
  const error = isObject(json) && json['jsonrpc'] === '2.0' ? json['error'] : undefined;
  return isObject(error)
    ? new ServerError(readRpcError(error), response.status)
    : readResponseError(response, json);
}

export function readRpcError(value: unknown): RpcError {
  const { code, message, data } = isObject(value) ? value : {};
  return {
    code: typeof code === 'number' ? code : -32603,
    message: typeof message === 'string' ? message : 'error without a message',
    ...(data !== undefined && { data }),
  };
}
