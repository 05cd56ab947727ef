/** MCP requests of the doctor without the official MCP client: it must examine servers that client would reject. */
import { ClientError } from '@portcullis/client';
import { CLIENT_INFO_KEY, isResponse, type Message, type MessageId, VERSION_KEY } from '@portcullis/http';
import { profileC, profileD } from '@portcullis/protocol';
import { type McpRequest, readRpcError, ServerError } from '../client/mcp-client.ts';
import { createReconnectingTransport } from '../client/transport/reconnecting-transport.ts';
import type { SessionOptions } from '../client/transport/renewed-sessions.ts';
import { HttpResponseError } from '../client/transport/responses.ts';
import { isObject } from '../json.ts';

const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';

export interface ProbeTarget extends Pick<SessionOptions, 'url' | 'fetch' | 'acceptEndpoint'> {
  readonly version: string;
}

/**
 * Connects by the stateless revision where the server lists it, else within a session.
 * @param offer offers this revision in a session, and no other; by default the newest common revision is negotiated
 * @throws as `McpRequest`
 */
export async function probeMcp({ version, ...target }: ProbeTarget, offer?: string) {
  const { close, notify, request } = createRawRequests(target);
  const clientInfo = { name: 'portcullis', version };
  // Without sessions, each request states its client and revision.
  const _meta = {
    [VERSION_KEY]: profileD.revision,
    [CLIENT_INFO_KEY]: clientInfo,
    [CAPABILITIES_KEY]: {},
  };
  const stateless: McpRequest = (method, params = {}) => request(method, { ...params, _meta });
  const listed = offer === undefined ? await listVersions(stateless) : [];
  const { revision } = profileD;
  if (listed.includes(revision)) return { revision, listed, request: stateless, close };
  const protocolVersion = offer ?? profileC.revision;
  const initialized = await request('initialize', { protocolVersion, clientInfo, capabilities: {} });
  await notify('notifications/initialized');
  const stated = isObject(initialized) ? initialized['protocolVersion'] : undefined;
  return { revision: typeof stated === 'string' ? stated : profileC.revision, listed, request, close };
}

async function listVersions(request: McpRequest): Promise<readonly unknown[]> {
  try {
    const found = await request('server/discover');
    return isObject(found) && Array.isArray(found['supportedVersions']) ? found['supportedVersions'] : [];
  } catch (error) {
    // Servers of older revisions reject the method in different ways.
    if (error instanceof ServerError || error instanceof HttpResponseError) return [];
    throw error;
  }
}

/** Requests one after the other; requests of the server are rejected. */
function createRawRequests(target: Omit<SessionOptions, 'receive' | 'complain'>) {
  let pending: MessageId | null = null;
  let response: Message | null = null;
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
      const error = { code: -32601, message: 'Method not found' };
      if (!isResponse(message)) transport.send({ jsonrpc: '2.0', id, error }).catch(() => undefined);
      else if (id === pending) response = message;
    },
  });
  const request: McpRequest = async (method, params = {}) => {
    count += 1;
    pending = count;
    response = null;
    failure = null;
    await transport.send({ jsonrpc: '2.0', id: count, method, params });
    // The transport's cause is more specific than the response that replaces it.
    if (failure instanceof ClientError || failure instanceof HttpResponseError) throw failure;
    const received = response as Message | null;
    if (received === null) throw new ServerError({ code: -32603, message: 'The server did not respond.' });
    if ('error' in received) throw new ServerError(readRpcError(received.error));
    return received.result;
  };
  return {
    request,
    notify: (method: string) => transport.send({ jsonrpc: '2.0', method }),
    close: transport.close,
  };
}
