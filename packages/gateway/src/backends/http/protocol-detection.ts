/** Detects the transport and revision of an HTTP backend, once, when a client's may differ. */

import { isMembers, type Message, readBodyMessages, type TransportFetch } from '@portcullis/http';
import type { Addresses } from '../../addresses/addresses.ts';
import type { BackendCredential } from '../../credentials/credential-source.ts';
import type { GatewayServer } from '../../servers/server.ts';
import { GATEWAY_CLIENT, LAST_WITH_SESSIONS, metaKeys, STATELESS } from '../revisions.ts';
import { createBackendPools } from './backend-fetch.ts';
import { connectSseBackend } from './transports.ts';

export interface BackendProtocols {
  readonly sessions: boolean;
  readonly stateless: boolean;
  /** HTTP+SSE; found only in a backend that speaks neither. */
  readonly sse: boolean;
  /** Whether it declares the extension for tasks. */
  readonly tasks: boolean;
}

export type ProtocolDetection = ReturnType<typeof createProtocolDetection>;

/** Sends the credential of the first user: backends may require one even for detection. */
export function createProtocolDetection(server: GatewayServer, addresses: Addresses) {
  const { limits } = server;
  const connections = createBackendPools(server, addresses);
  let protocols: BackendProtocols | null = null;
  let detecting: Promise<BackendProtocols | null> | null = null;

  return {
    /** `null` until one of them was detected. */
    known: (): BackendProtocols | null => protocols,
    /** `null` if the backend is unreachable or requires another credential: the request itself will fail with the reason. */
    detect(credential: BackendCredential): Promise<BackendProtocols | null> {
      detecting ??= detectNow(credential)
        .catch(() => null)
        .then((found) => {
          // Whatever it answered with instead may pass.
          if (found !== null && (found.sessions || found.stateless || found.sse)) protocols = found;
          detecting = null;
          return found;
        });
      return detecting;
    },
    close: connections.close,
  };

  async function detectNow(credential: BackendCredential): Promise<BackendProtocols | null> {
    const fetch = connections.fetchFor({
      principal: null,
      credential: () => credential,
      rejected: async () => 'final',
    });
    const discovered = await request({ fetch, url: urlNow(), limits }, discover, {
      'mcp-protocol-version': STATELESS,
      'mcp-method': 'server/discover',
    });
    if (discovered === null) return null;
    const stateless = isMembers(discovered.result) && 'supportedVersions' in discovered.result;
    const initialized = await request({ fetch, url: urlNow(), limits }, initialize, {});
    const sessions = isMembers(initialized?.result) && 'protocolVersion' in initialized.result;
    const sse = !stateless && !sessions && (await speaksSse(fetch));
    return { stateless, sessions, sse, tasks: stateless && declaresTasks(discovered) };
  }

  /** All addresses belong to the same server. */
  function urlNow(): URL {
    const address = addresses.choose(performance.now()) ?? addresses.all[0];
    return address.url;
  }

  async function speaksSse(fetch: TransportFetch): Promise<boolean> {
    const receiver = { accept: () => undefined, fail: () => undefined };
    const options = { name: server.name, url: urlNow(), fetch, limit: limits.frame, receiver };
    const transport = await connectSseBackend(options, limits.connect * 1000).catch(() => null);
    await transport?.close();
    return transport !== null;
  }
}

function declaresTasks({ result }: Message): boolean {
  const capabilities = isMembers(result) ? result['capabilities'] : undefined;
  const extensions = isMembers(capabilities) ? capabilities['extensions'] : undefined;
  return isMembers(extensions) && 'io.modelcontextprotocol/tasks' in extensions;
}

const discover: Message = {
  jsonrpc: '2.0',
  id: 1,
  method: 'server/discover',
  params: {
    _meta: {
      [metaKeys.version]: STATELESS,
      [metaKeys.clientInfo]: GATEWAY_CLIENT,
      [metaKeys.clientCapabilities]: {},
    },
  },
};

const initialize: Message = {
  jsonrpc: '2.0',
  id: 2,
  method: 'initialize',
  params: { protocolVersion: LAST_WITH_SESSIONS, capabilities: {}, clientInfo: GATEWAY_CLIENT },
};

/** The address of a probe. */
interface ProbeTarget {
  readonly fetch: TransportFetch;
  readonly url: URL;
  readonly limits: GatewayServer['limits'];
}

/** The response, or an error response without a message; `null` if neither concerns the message. */
async function request(
  { fetch, url, limits }: ProbeTarget,
  message: Message,
  headers: Readonly<Record<string, string>>,
): Promise<Message | null> {
  const signal = AbortSignal.timeout(limits.firstByte * 1000);
  const own = {
    ...headers,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: own,
    body: JSON.stringify(message),
    signal,
  });
  const { status } = response;
  const session = response.headers.get('mcp-session-id');
  const received = await firstResponse(response, limits.frame);
  if (session !== null) await end({ fetch, url, limits }, session);
  if (status === 401 || status === 403 || status === 429 || status >= 500) return null;
  return received ?? { jsonrpc: '2.0', error: {} };
}

async function firstResponse(response: Response, frame: number): Promise<Message | null> {
  for await (const message of readBodyMessages(response, frame))
    if (message.method === undefined) return message;
  return null;
}

async function end({ fetch, url, limits }: ProbeTarget, session: string): Promise<void> {
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': LAST_WITH_SESSIONS };
  const signal = AbortSignal.timeout(limits.connect * 1000);
  await fetch(url, { method: 'DELETE', headers, signal }).then(
    ({ body }) => body?.cancel(),
    () => undefined,
  );
}
