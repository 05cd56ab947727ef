/** Composes the gateway: authorizes each request by its guard and passes it to the path of its server. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Guard, Principal } from '@portcullis/resource-server';
import { protectNode } from '@portcullis/resource-server/node';
import { invalidRequest, sendError } from './http/error-response.ts';
import { createPassThrough, type PassThrough } from './http/pass-through.ts';
import { ownerOf } from './servers/owner.ts';
import type { GatewayServer } from './servers/server.ts';
import { createSealer } from './sessions/sealer.ts';

/** What happened, for the log: `gateway.backend_down`, … */
export interface GatewayEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

export interface GatewayOptions {
  readonly servers: readonly GatewayServer[];
  /** Protects the resources of the servers. */
  readonly guard: Guard;
  /** 32 bytes; only keys derived from it are used. */
  readonly masterKey: Uint8Array;
  /** Master keys whose handles still open. */
  readonly previousMasterKeys?: readonly Uint8Array[];
  readonly events: (event: GatewayEvent) => void;
  /** Headers of every response. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The state of one backend, for readiness. */
export interface ServerHealth {
  readonly server: string;
  readonly status: 'up' | 'down';
}

export interface Gateway {
  readonly servers: readonly GatewayServer[];
  /** Whether a path is that of a server, below one, or of its metadata. */
  belongs(path: string): boolean;
  /** Handles a request on node:http; never throws. */
  handle(incoming: IncomingMessage, outgoing: ServerResponse): void;
  health(): readonly ServerHealth[];
  close(): Promise<void>;
}

/** A server with what serves it. */
interface Served {
  readonly server: GatewayServer;
  readonly path: PassThrough;
}

const METADATA = '/.well-known/oauth-protected-resource';

export function createGateway(options: GatewayOptions): Gateway {
  const { servers, guard, events } = options;
  const commonHeaders = Object.entries(options.headers ?? {}).flat();
  const sealer = createSealer(options.masterKey, options.previousMasterKeys);
  const onHealth = createHealthEvents(events);
  const served = new Map<string, Served>();
  for (const server of servers) {
    if (server.backend === null || server.backend.kind === 'stdio') continue;
    const path = createPassThrough(server, server.backend, { sealer, commonHeaders, onHealth });
    served.set(server.resource, { server, path });
  }

  const handle = protectNode(guard, (incoming, outgoing, principal) => {
    const found = served.get(principal.resource);
    if (found === undefined || !isEndpoint(incoming, found.server)) {
      sendError(outgoing, invalidRequest(404, 'There is no MCP server at this path.'), commonHeaders);
      return;
    }
    found.path.handle(createRequest(found.server, principal, incoming, outgoing));
  });

  const paths = servers.map(({ path }) => path);
  return {
    servers,
    belongs: (path) =>
      paths.some((one) => path.startsWith(one) && (path.length === one.length || path[one.length] === '/')) ||
      path.startsWith(METADATA),
    handle,
    health: () => [...served.values()].map(healthOf),
    close: async () => void (await Promise.all([...served.values()].map(({ path }) => path.close()))),
  };
}

function createRequest(
  server: GatewayServer,
  principal: Principal,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
) {
  const owner = ownerOf(principal, server);
  return { server, principal, owner, incoming, outgoing, startedAt: performance.now() };
}

/** A server has one endpoint; the guard also protects the paths below it. */
function isEndpoint({ url = '' }: IncomingMessage, { path }: GatewayServer): boolean {
  const end = url.indexOf('?');
  const asked = end === -1 ? url : url.slice(0, end);
  return asked === path || asked === `${path}/`;
}

function healthOf({ server, path }: Served): ServerHealth {
  const isUp = path.addresses.all.some(({ failures }) => failures === 0);
  return { server: server.path, status: isUp ? 'up' : 'down' };
}

function createHealthEvents(events: GatewayOptions['events']) {
  return (server: GatewayServer, { url }: { readonly url: URL }, reason: string | null) => {
    const about = { server: server.path, address: url.origin };
    events(
      reason === null
        ? { type: 'backend.recovered', ...about }
        : { type: 'backend.failed', ...about, reason },
    );
  };
}
