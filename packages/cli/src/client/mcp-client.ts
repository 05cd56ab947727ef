/** MCP requests with the official MCP client, loaded on first use, over the authorized fetch: for `call`, `tools` and `doctor`. */
import type { Fetch } from '@portcullis/client';
import { isObject, parseJson } from '../json.ts';
import { contentType, HttpResponseError, NOT_A_MESSAGE, readResponseError } from './responses.ts';

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

  constructor(rpc: RpcError) {
    super(rpc.message);
    this.rpc = rpc;
  }
}

/**
 * Sends a request and returns its result, unvalidated.
 * @throws what `fetch` throws, ServerError, or HttpResponseError for an HTTP error response.
 */
export type McpRequest = (method: string, params?: Readonly<Record<string, unknown>>) => Promise<unknown>;

/** A connection to an MCP server. */
export interface McpConnection {
  /** The negotiated protocol revision. */
  readonly revision: string;
  /** Revisions that the server lists; empty when it does not list any. */
  readonly listed: readonly string[];
  readonly request: McpRequest;
  close(): Promise<void>;
}

export interface McpConnectOptions {
  readonly url: string;
  readonly fetch: Fetch;
  readonly version: string;
  /** Declared in the client capabilities. */
  readonly extensions?: Readonly<Record<string, object>>;
  /** Offers this revision in a session, and no other; by default the newest common revision is negotiated. */
  readonly offer?: string;
}

/** The value type of `extensions` in the MCP client's types. */
type JsonObjects = Record<string, Record<string, never>>;

/** Accepts every result that the MCP client accepts: tools are displayed as the server describes them. */
const anyResult = {
  '~standard': { version: 1, vendor: 'portcullis', validate: (value: unknown) => ({ value }) },
} as const;

/** Connects. @throws what `fetch` throws, ServerError, or HttpResponseError for an HTTP error response. */
export async function connectMcp(options: McpConnectOptions): Promise<McpConnection> {
  const { url, version, extensions = {}, offer } = options;
  const { Client, ProtocolError, SdkError, StreamableHTTPClientTransport } = await import(
    '@modelcontextprotocol/client'
  );
  const failures = recordFailures(options.fetch);
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: failures.fetch });
  const client = new Client(
    { name: 'portcullis', version },
    {
      capabilities:
        Object.keys(extensions).length === 0 ? {} : { extensions: { ...extensions } as JsonObjects },
      ...(offer === undefined
        ? { versionNegotiation: { mode: 'auto' } }
        : { supportedProtocolVersions: [offer] }),
    },
  );
  await attempt(() => client.connect(transport));
  return {
    revision: client.getNegotiatedProtocolVersion() ?? '',
    listed: client.getDiscoverResult()?.supportedVersions ?? [],
    request: (method, params = {}) =>
      attempt(() => client.request({ method, params: { ...params } }, anyResult)),
    async close() {
      await transport.terminateSession().catch(() => undefined);
      await client.close();
    },
  };

  async function attempt<T>(act: () => Promise<T>): Promise<T> {
    failures.clear();
    try {
      return await act();
    } catch (error) {
      // The cause in the transport says more than the error that the MCP client makes of it.
      if (error instanceof ProtocolError) {
        const { code, message, data } = error;
        throw new ServerError({ code, message, ...(data !== undefined && { data }) });
      }
      if (failures.latest() !== null) throw failures.latest();
      if (error instanceof SdkError) throw new ServerError({ code: -32603, message: error.message });
      throw error;
    }
  }
}

/** A `fetch` that keeps its latest failure: an exception, or an HTTP error response. */
function recordFailures(fetch: Fetch) {
  let latest: unknown = null;
  return {
    latest: () => latest,
    clear() {
      latest = null;
    },
    async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
      try {
        const response = await fetch(input, init);
        if (init?.method !== 'POST') return response;
        if (!response.ok) {
          const text = await response.text();
          latest = errorIn(response, text);
          return new Response(text === '' ? null : text, response);
        }
        if (!MESSAGE_TYPES.includes(contentType(response)) && response.status === 200)
          latest = new HttpResponseError(response.status, NOT_A_MESSAGE);
        return response;
      } catch (error) {
        latest = error;
        throw error;
      }
    },
  };
}

/** Content types of MCP messages. */
const MESSAGE_TYPES = ['application/json', 'text/event-stream'];

/** An HTTP error response may have a JSON-RPC error as its body. */
function errorIn(response: Response, text: string): ServerError | HttpResponseError {
  const json = parseJson(text);
  const error = isObject(json) && json['jsonrpc'] === '2.0' ? json['error'] : undefined;
  return isObject(error) ? new ServerError(readRpcError(error)) : readResponseError(response, json);
}

export function readRpcError(value: unknown): RpcError {
  const { code, message, data } = isObject(value) ? value : {};
  return {
    code: typeof code === 'number' ? code : -32603,
    message: typeof message === 'string' ? message : 'error without a message',
    ...(data !== undefined && { data }),
  };
}
