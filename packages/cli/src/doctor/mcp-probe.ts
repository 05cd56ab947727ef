/** MCP requests of the doctor without the official MCP client: it must examine servers that client would reject. */
import { ClientError, type Fetch } from '@portcullis/client';
import { CLIENT_INFO_KEY, isResponse, type Message, type MessageId, VERSION_KEY } from '@portcullis/http';
import { profileC, profileD } from '@portcullis/protocol';
import { type McpRequest, readRpcError, ServerError } from '../client/mcp-client.ts';
import {
  createReconnectingTransport,
  type MessageTransport,
} from '../client/transport/reconnecting-transport.ts';
import { HttpResponseError } from '../client/transport/responses.ts';
import { isObject } from '../json.ts';

const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';

export interface ProbeTarget {
  readonly url: string;
  readonly fetch: Fetch;
  readonly version: string;
  /** Receives the message endpoint of an HTTP+SSE server: `fetch` must send the token there too. */
  readonly acceptEndpoint: (endpoint: URL) => void;
  /** Offers this revision in a session, and no other; by default the newest common revision is negotiated. */
  readonly offer?: string;
}

interface ProbedConnection {
  /** The negotiated protocol revision. */
  readonly revision: string;
  /** Revisions that the server lists; empty when it does not list any. */
  readonly listed: readonly string[];
  readonly request: McpRequest;
  close(): Promise<void>;
}

/** Connects by the stateless revision where the server lists it, else within a session. @throws as `McpRequest` */
export async function probeMcp({ version, offer, ...target }: ProbeTarget): Promise<ProbedConnection> {
  const { transport, request } = createRawRequests(target);
  const { close } = transport;
  const clientInfo = { name: 'portcullis', version };
  const stateless = addMetadata(request, clientInfo);
  const listed = offer === undefined ? await listVersions(stateless) : [];
  const { revision } = profileD;
  if (listed.includes(revision)) return { revision, listed, request: stateless, close };
  const protocolVersion = offer ?? profileC.revision;
  const initialized = await request('initialize', { protocolVersion, clientInfo, capabilities: {} });
  await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return { revision: readRevision(initialized) ?? profileC.revision, listed, request, close };
}

/** Without sessions, each request states its client and revision. */
function addMetadata(request: McpRequest, clientInfo: object): McpRequest {
  const _meta = {
    [VERSION_KEY]: profileD.revision,
    [CLIENT_INFO_KEY]: clientInfo,
    [CAPABILITIES_KEY]: {},
  };
  return (method, params = {}) => request(method, { ...params, _meta });
}

async function listVersions(request: McpRequest): Promise<readonly string[]> {
  try {
    const found = await request('server/discover');
    const versions = isObject(found) ? found['supportedVersions'] : undefined;
    return Array.isArray(versions) ? versions.filter((one) => typeof one === 'string') : [];
  } catch (error) {
    // Servers of older revisions reject the method in different ways.
    if (error instanceof ServerError || error instanceof HttpResponseError) return [];
    throw error;
  }
}

function readRevision(initialized: unknown): string | null {
  const revision = isObject(initialized) ? initialized['protocolVersion'] : undefined;
  return typeof revision === 'string' ? revision : null;
}

/** Requests one after the other; requests of the server are rejected. */
function createRawRequests(target: Omit<ProbeTarget, 'version' | 'offer'>): {
  transport: MessageTransport;
  request: McpRequest;
} {
  const waiting = new Map<MessageId, (response: Message) => void>();
  let failure: unknown = null;
  let count = 0;
  const transport = createReconnectingTransport({
    ...target,
    complain(error) {
      failure = error;
    },
    receive(message) {
      const { id } = message;
      if (id === null || id === undefined) return;
      if (isResponse(message)) waiting.get(id)?.(message);
      else void reject(id);
    },
  });
  return { transport, request };

  async function request(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    const id = ++count;
    let response: Message | null = null;
    waiting.set(id, (message) => {
      response = message;
    });
    failure = null;
    await transport.send({ jsonrpc: '2.0', id, method, params });
    waiting.delete(id);
    return resultOf(response);
  }

  function resultOf(response: Message | null): unknown {
    // The transport's cause is more specific than the response that replaces it.
    if (failure instanceof ClientError || failure instanceof HttpResponseError) throw failure;
    if (response === null) throw new ServerError({ code: -32603, message: 'The server did not respond.' });
    if ('error' in response) throw new ServerError(readRpcError(response.error));
    return response.result;
  }

  async function reject(id: MessageId): Promise<void> {
    const error = { code: -32601, message: 'Method not found' };
    await transport.send({ jsonrpc: '2.0', id, error }).catch(() => undefined);
  }
}
