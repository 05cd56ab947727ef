/** Composes the gateway: authorizes each request by its guard and passes it to the path of its server. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Message } from '@portcullis/http';
import { type DefinitionPinStore, OAuthError } from '@portcullis/protocol';
import type { Guard, GuardDecision, GuardResponse, Principal } from '@portcullis/resource-server';
import { nodeRequestInfo, nodeStreamWatcher, takeNodeRequest } from '@portcullis/resource-server/node';
import type { HealthListener } from './addresses/addresses.ts';
import { type CallAudit, type CallDecision, noAudit } from './audit/call-record.ts';
import type { ProcessLog } from './backends/stdio/process.ts';
import { createConnectionRetries } from './connection-retries.ts';
import { type CredentialSource, noCredential } from './credentials/credential-source.ts';
import { type HandlingServices, handleRequest, type ServedServer } from './handle-request.ts';
import { closeUnread, followsLast, invalidRequest, sendError } from './http/error-response.ts';
import { createCallRate, createGauge, createServerSlots } from './http/slots.ts';
import { PROBE_INTERVAL, PROBES_AT_ONCE } from './limits/bounds.ts';
import {
  createMergedBackend,
  createMergedCheck,
  createMergedRules,
  type MergedPart,
} from './merged/merged-server.ts';
import { createMessagePath, type MessagePathOptions } from './message-path.ts';
import { checkHeaderAgreement } from './messages/body-scanner.ts';
import type { ScannedBody } from './messages/scanned-message.ts';
import { createPinBoard } from './review/pins.ts';
import { createServerControl } from './server-control.ts';
import { createServerPath, type ServerPath } from './server-path.ts';
import { ownerOf } from './servers/owner.ts';
import type { GatewayRequest } from './servers/request.ts';
import { partsOf } from './servers/resources.ts';
import type { GatewayServer } from './servers/server.ts';
import { createSealer } from './sessions/sealer.ts';

/** The event, for the log: `backend.failed`, … */
export interface GatewayEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Options of `createGateway`. */
export interface GatewayOptions {
  readonly servers: readonly GatewayServer[];
  /** Protects the resources of the servers. */
  readonly guard: Guard;
  /** 32 bytes; only keys derived from it are used. */
  readonly masterKey: Uint8Array;
  /** Previous master keys, whose sealed IDs still open. */
  readonly previousMasterKeys?: readonly Uint8Array[];
  readonly events: (event: GatewayEvent) => void;
  /** Credentials for the backends; none by default. */
  readonly credentials?: CredentialSource;
  readonly audit?: CallAudit;
  /** Pins of tool definitions; without it, tools are neither reviewed nor compared with the backend's list. */
  readonly pins?: DefinitionPinStore;
  /** The gateway before a change of its servers: unchanged servers reuse its connections and state. */
  readonly previous?: Gateway | null;
  /** A prefix of the paths that a proxy in front removes: `/tools` if `/tools/files` arrives as `/files`. */
  readonly strippedPrefix?: string | null;
  /** Milliseconds without a response after which a backend over HTTP is probed. @default 15_000 */
  readonly probeInterval?: number;
  /** Headers of every response. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The state of one backend, for readiness. */
export interface ServerHealth {
  readonly server: string;
  readonly status: 'up' | 'down';
}

/** A gateway: authorization, policy and audit in front of MCP servers. */
export interface Gateway {
  readonly servers: readonly GatewayServer[];
  /** Whether a path is that of a server, below one, or of its metadata. */
  belongs(path: string): boolean;
  /** Handles a request on node:http; never throws. */
  handle(incoming: IncomingMessage, outgoing: ServerResponse): void;
  health(): readonly ServerHealth[];
  /** Releases the state of these servers to the next gateway; a merged server only together with all its members. */
  findRetained(servers: readonly GatewayServer[]): ReadonlyMap<string, ServedServer>;
  /** The next gateway is active: closes what it does not reuse. */
  release(retained: ReadonlyMap<string, ServedServer>): void;
  close(): Promise<void>;
}

const METADATA = '/.well-known/oauth-protected-resource';

const withoutCredentials: CredentialSource = {
  for: () => noCredential,
  rejected: async () => 'final',
};

/** Creates a gateway for servers as `defineServers` returns them. */
export function createGateway(options: GatewayOptions): Gateway {
  const { servers, guard, audit = noAudit, credentials = withoutCredentials } = options;
  const commonHeaders = Object.entries(options.headers ?? {}).flat();
  const sealer = createSealer(options.masterKey, options.previousMasterKeys);
  const retained = options.previous?.findRetained(servers) ?? new Map();
  const served = new Map(
    serveAll({ ...options, sealer, commonHeaders }, retained).map((one) => [one.server.resource, one]),
  );
  options.previous?.release(retained);
  let isReleased = false;
  const respondError = createErrorResponder(guard, commonHeaders);
  const retries = createConnectionRetries(sealer);
  const services: HandlingServices = { credentials, sealer, audit, retries, respondError };
  const watch = nodeStreamWatcher(guard);

  function proceed(decision: GuardDecision, incoming: IncomingMessage, outgoing: ServerResponse): void {
    if (!decision.authorized) {
      sendGuardResponse(outgoing, decision.response, commonHeaders);
      return;
    }
    const { principal, headers } = decision;
    for (const name in headers) outgoing.setHeader(name, headers[name] ?? '');
    watch?.(principal, outgoing);
    const found = served.get(principal.resource);
    if (found === undefined || !isEndpoint(incoming, found.server)) {
      sendError(outgoing, invalidRequest(404, 'There is no MCP server at this path.'), commonHeaders);
      return;
    }
    handleRequest(services, found, createRequest(found.server, principal, incoming, outgoing));
  }

  const prefix = options.strippedPrefix ?? '';
  const isServed = createPathCheck(servers);
  return {
    servers,
    belongs: (path) =>
      isServed(path) || path.startsWith(METADATA) || (prefix !== '' && isServed(prefix + path)),
    handle(incoming, outgoing) {
      if (followsLast(incoming)) return;
      const { url = '' } = incoming;
      if (prefix !== '' && !url.startsWith(METADATA) && !isServed(pathOf(url))) incoming.url = prefix + url;
      const decision = guard.authorize(takeNodeRequest(incoming));
      if (!(decision instanceof Promise)) proceed(decision, incoming, outgoing);
      else decision.then((later) => proceed(later, incoming, outgoing));
    },
    health: () => [...served.values()].map(healthOf),
    findRetained(next) {
      const texts = new Set(next.map((server) => JSON.stringify(server)));
      const isUnchanged = (server: GatewayServer) => texts.has(JSON.stringify(server));
      const isRetained = ({ server }: ServedServer) =>
        [server, ...partsOf(server, servers)].every(isUnchanged);
      return new Map([...served].filter(([, one]) => isRetained(one)));
    },
    release(retained) {
      isReleased = true;
      for (const one of served.values()) if (!retained.has(one.server.resource)) void one.path.close();
    },
    async close() {
      if (!isReleased) await Promise.all([...served.values()].map(({ path }) => path.close()));
    },
  };
}

/** Whether a path is that of a server, or below one. */
function createPathCheck(servers: readonly GatewayServer[]): (path: string) => boolean {
  const paths = servers.map(({ path }) => path);
  return (path) =>
    paths.some((one) => path.startsWith(one) && (path.length === one.length || path[one.length] === '/'));
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

function serveAll(
  options: GatewayOptions & Pick<MessagePathOptions, 'sealer' | 'commonHeaders'>,
  retained: ReadonlyMap<string, ServedServer>,
): readonly ServedServer[] {
  const { servers, events, credentials = withoutCredentials, sealer, commonHeaders } = options;
  const pins =
    options.pins === undefined
      ? null
      : createPinBoard(
          options.pins,
          () => performance.now(),
          () => Math.floor(Date.now() / 1000),
        );
  const onHealth = createHealthEvents(events);
  const probes = { interval: options.probeInterval ?? PROBE_INTERVAL, slots: createGauge(PROBES_AT_ONCE) };
  const log: ProcessLog = (server, line) => events({ type: 'process.output', server, line });
  const whole = servers.flatMap((server) => {
    const { backend, limits } = server;
    const known = retained.get(server.resource);
    if (backend === null) return [];
    if (known !== undefined) return [known];
    const control = createServerControl(server, {
      credentials,
      pins,
      servers,
      events,
      open: (one, revisions) => path.listSessions(one, revisions),
    });
    const slots = createServerSlots(server);
    const path: ServerPath = createServerPath(server, backend, {
      ...{ sealer, credentials, commonHeaders, onHealth, log, probes, slots },
      onToolsChanged: control.toolsChanged,
      edit: async (response, _method, request) =>
        control.editResponse(response, request, await credentials.for(request.principal, server)) as Message,
    });
    const rate = limits.callsPerMinute === null ? null : createCallRate(limits.callsPerMinute);
    const { checkRules, decide, filter, editResponse } = control;
    const { takeRequest } = slots;
    const part: MergedPart = { server, open: path.open, takeRequest, checkRules, decide, filter };
    return [
      {
        ...{ server, path, slots, rate, part, editResponse },
        checkRules: (request: GatewayRequest, body: ScannedBody) => {
          checkHeaderAgreement(body, request.incoming.headers);
          checkRules(request, body);
        },
        checkMessages: decide,
      },
    ];
  });
  const merged = servers.filter(({ merges }) => merges !== null);
  return [
    ...whole,
    ...merged.map(
      (server) =>
        retained.get(server.resource) ?? serveMerged(server, whole, { sealer, credentials, commonHeaders }),
    ),
  ];
}

/** A merged server is created again when one of its members has changed. */
function serveMerged(
  server: GatewayServer,
  others: readonly ServedServer[],
  options: Pick<MessagePathOptions, 'sealer' | 'credentials' | 'commonHeaders'>,
): ServedServer {
  const { credentials } = options;
  const parts = new Map<string, MergedPart>();
  for (const [prefix, path] of Object.entries(server.merges ?? {})) {
    const part = others.find((one) => one.server.path === path)?.part;
    if (part !== undefined && part !== null) parts.set(prefix, part);
  }
  const slots = createServerSlots(server);
  const path = createMessagePath(server, createMergedBackend(server, parts, credentials), {
    ...options,
    slots,
    onToolsChanged: () => undefined,
  });
  const { callsPerMinute } = server.limits;
  return {
    server,
    path,
    slots,
    part: null,
    rate: callsPerMinute === null ? null : createCallRate(callsPerMinute),
    checkRules: createMergedRules(parts),
    checkMessages: createMergedCheck(parts, credentials),
    editResponse: (message) => message,
  };
}

function createRequest(
  server: GatewayServer,
  principal: Principal,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): GatewayRequest {
  const owner = ownerOf(principal, server);
  return { server, principal, owner, incoming, outgoing, startedAt: performance.now() };
}

/**
 * A server has one endpoint; the guard also protects the paths below it. A whole URL as the target has to name the host that `Host`
 * names. @see RFC 9112 §3.2.2
 */
function isEndpoint({ url = '', headers }: IncomingMessage, { path }: GatewayServer): boolean {
  if (!url.startsWith('/')) {
    const target = URL.parse(url);
    return target?.host === headers.host && target?.pathname === path;
  }
  const asked = pathOf(url);
  return asked === path || asked === `${path}/`;
}

function sendGuardResponse(
  outgoing: ServerResponse,
  { status, headers, body }: GuardResponse,
  commonHeaders: readonly string[],
): void {
  const fields = [...Object.entries(headers).flat(), ...commonHeaders];
  if (body !== null) fields.push('content-length', String(Buffer.byteLength(body)));
  closeUnread(outgoing);
  outgoing.writeHead(status, fields).end(body ?? undefined);
}

/** An OAuth error becomes the challenge of the guard, any other a JSON-RPC error. */
function createErrorResponder(
  guard: Guard,
  commonHeaders: readonly string[],
): HandlingServices['respondError'] {
  return ({ incoming, outgoing }, error, id): CallDecision | null => {
    if (error instanceof OAuthError && !outgoing.headersSent) {
      sendGuardResponse(outgoing, guard.errorResponse(error, nodeRequestInfo(incoming)), commonHeaders);
      return error.code === 'insufficient_scope' ? 'insufficient_scope' : 'denied';
    }
    sendError(outgoing, error, commonHeaders, id);
    return outgoing.statusCode === 429 || outgoing.statusCode === 413 ? 'limited' : null;
  };
}

function healthOf({ server, path }: ServedServer): ServerHealth {
  return { server: server.path, status: path.isUp() ? 'up' : 'down' };
}

function createHealthEvents(events: GatewayOptions['events']): HealthListener {
  return (server, { url }, reason) => {
    const about = { server: server.path, address: url.origin };
    events(
      reason === null
        ? { type: 'backend.recovered', ...about }
        : { type: 'backend.failed', ...about, reason },
    );
  };
}
