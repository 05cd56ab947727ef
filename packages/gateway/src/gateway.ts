/** Composes the gateway: authorizes each request by its guard and passes it to the path of its server. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { CallApprovals } from '@portcullis/authorization-server';
import { OAuthError } from '@portcullis/protocol';
import type { Guard, GuardDecision, GuardResponse } from '@portcullis/resource-server';
import { nodeRequestInfo, nodeStreamWatcher, takeNodeRequest } from '@portcullis/resource-server/node';
import { createApprovalGate, noApprovals } from './approvals/approval-gate.ts';
import { type CallAudit, type CallDecision, noAudit } from './audit/call-record.ts';
import { createPinBoard } from './catalogue/pins.ts';
import { type CredentialSource, noCredential } from './credentials/credential-source.ts';
import { type HandlingServices, RequestHandling } from './handle-request.ts';
import { sendError, sendResult } from './http/error-response.ts';
import { closeUnread, followsLast } from './http/headers.ts';
import { mapLater } from './map-later.ts';
import { invalidRequest } from './messages/gateway-error.ts';
import { PolicyError } from './policy/check-messages.ts';
import {
  createRetained,
  hasSameBackend,
  type Retained,
  type ServingOptions,
  serveAll,
} from './serve-servers.ts';
import type { ServedServer } from './served-server.ts';
import { ownerOf } from './servers/request.ts';
import { partsOf } from './servers/resources.ts';
import type { GatewayServer } from './servers/server.ts';
import { createSealer } from './sessions/sealer.ts';
import { readsToolChallenge, toolChallengeResult } from './tool-challenges/tool-challenge.ts';
import { traceRefusal } from './tracing/call-span.ts';
import { createUserActionRetries } from './user-action-retries.ts';

/** Options of `createGateway`. */
export interface GatewayOptions extends Omit<ServingOptions, 'credentials' | 'sealer' | 'commonHeaders'> {
  /** Protects the resources of the servers. */
  readonly guard: Guard;
  /** 32 bytes; only keys derived from it are used. */
  readonly masterKey: Uint8Array;
  /** Previous master keys, whose sealed IDs still open. */
  readonly previousMasterKeys?: readonly Uint8Array[];
  /** Credentials for the backends; none by default. */
  readonly credentials?: CredentialSource;
  readonly audit?: CallAudit;
  /** Approvals of calls; needed if a rule demands one: without them, such a call is refused. */
  readonly approvals?: CallApprovals | null;
  /** The gateway before a change of its servers: unchanged servers reuse its connections and state. */
  readonly previous?: Gateway | null;
  /** A prefix of the paths that a proxy in front removes: `/tools` if `/tools/files` arrives as `/files`. */
  readonly strippedPrefix?: string | null;
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
  /** Handles a request on node:http; never throws. @param address of the client; that of the connection by default */
  handle(incoming: IncomingMessage, outgoing: ServerResponse, address?: string): void;
  health(): readonly ServerHealth[];
  /** What a gateway with these servers takes over from this one. */
  findRetained(servers: readonly GatewayServer[]): Retained;
  /** The next gateway is active: what it does not reuse ends after the last request that uses it. */
  release(retained: Retained): void;
  close(): Promise<void>;
}

const METADATA = '/.well-known/oauth-protected-resource';

const withoutCredentials: CredentialSource = {
  for: () => noCredential,
  rejected: async () => 'final',
};

/**
 * Creates a gateway for servers as `defineServers` returns them.
 * @example
 * ```ts
 * import { once } from 'node:events';
 * import { createServer } from 'node:http';
 * import { createOptionReport, readOption } from '@portcullis/authorization-server/options';
 * import { createGateway } from '@portcullis/gateway';
 * import { defineServers, guardResourcesOf, serversSchema } from '@portcullis/gateway/options';
 * import { createGuard, jwtVerifier } from '@portcullis/resource-server';
 *
 * const report = createOptionReport(); // collects every issue of the options
 * const written = [{ path: '/files', name: 'Files', backend: { url: 'http://127.0.0.1:3000/mcp' } }];
 * const options = readOption(serversSchema(), written, ['servers'], report);
 * const servers = defineServers(options, { publicUrl: 'https://mcp.example', folder: '.' }, report);
 * const gateway = createGateway({
 *   servers,
 *   guard: createGuard({
 *     resources: guardResourcesOf(servers),
 *     verifier: jwtVerifier({ issuer: 'https://auth.example' }),
 *   }),
 *   masterKey: crypto.getRandomValues(new Uint8Array(32)), // the same at each start, stored elsewhere
 *   events: (event) => console.error(event),
 * });
 * const http = createServer(gateway.handle).listen();
 * await once(http, 'listening');
 * const response = await fetch(`http://localhost:${http.address().port}/files`, { method: 'POST' });
 * console.log(response.status); // 401
 * http.close();
 * await gateway.close();
 * ```
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { servers, guard, credentials = withoutCredentials } = options;
  const commonHeaders = Object.entries(options.headers ?? {}).flat();
  const sealer = createSealer(options.masterKey, options.previousMasterKeys);
  const retained = options.previous?.findRetained(servers) ?? createRetained();
  const all = serveAll({ ...options, credentials, sealer, commonHeaders }, retained);
  options.previous?.release(retained);
  const served = new Map(all.map((one) => [one.server.resource, one]));
  let isReleased = false;
  const proceed = createHandler(options, { credentials, sealer, commonHeaders }, served);
  const prefix = options.strippedPrefix ?? '';
  const isServed = createPathCheck(servers);

  return {
    servers,
    belongs: (path) =>
      isServed(path) || path.startsWith(METADATA) || (prefix !== '' && isServed(prefix + path)),
    handle(incoming, outgoing, address = incoming.socket.remoteAddress ?? '') {
      if (followsLast(incoming)) return;
      const { url = '' } = incoming;
      if (prefix !== '' && !url.startsWith(METADATA) && !isServed(pathOf(url))) incoming.url = prefix + url;
      const decision = guard.authorize(takeNodeRequest(incoming));
      void mapLater(decision, (known) => proceed(known, incoming, outgoing, address));
    },
    health: () =>
      all.map(({ server, path }) => ({ server: server.path, status: path.isUp() ? 'up' : 'down' })),
    findRetained: (next) => findRetained(all, servers, next, retained.draining),
    release(next) {
      isReleased = true;
      drainEnded(all, next);
    },
    async close() {
      const paths = isReleased ? [] : all.map(({ path }) => path);
      await Promise.all([...paths, ...retained.draining.keys()].map((path) => path.close()));
    },
  };
}

/** Serves what the guard has authorized, and sends its refusals. */
function createHandler(
  { servers, guard, audit = noAudit, approvals = null, pins }: GatewayOptions,
  { credentials, sealer, commonHeaders }: Pick<ServingOptions, 'credentials' | 'sealer' | 'commonHeaders'>,
  served: ReadonlyMap<string, ServedServer>,
) {
  const respondError = createErrorResponder(guard, commonHeaders);
  const retries = createUserActionRetries(sealer);
  const gate =
    approvals === null
      ? noApprovals
      : createApprovalGate(approvals, pins === undefined ? null : createPinBoard(pins));
  const services: HandlingServices = { credentials, sealer, audit, retries, approvals: gate, respondError };
  const watch = nodeStreamWatcher(guard);

  return (
    decision: GuardDecision,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    network: string,
  ): void => {
    if (!decision.authorized) {
      const { response } = decision;
      if (response.status >= 400)
        traceRefusal(incoming, () => pathOfServer(incoming, servers), response.status);
      sendGuardResponse(outgoing, response, commonHeaders);
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
    found.open.add(incoming, outgoing);
    const { server } = found;
    const owner = ownerOf(principal, server, network);
    const startedAt = performance.now();
    const request = { server, principal, owner, network, incoming, outgoing, startedAt };
    new RequestHandling(services, found, request).start();
  };
}

/** The path of the server that a request is for: other paths are of any number. */
function pathOfServer({ url = '' }: IncomingMessage, servers: readonly GatewayServer[]): string | null {
  const path = pathOf(url);
  return servers.some((server) => server.path === path) ? path : null;
}

function findRetained(
  served: readonly ServedServer[],
  servers: readonly GatewayServer[],
  next: readonly GatewayServer[],
  draining: Retained['draining'],
): Retained {
  const texts = new Set(next.map((server) => JSON.stringify(server)));
  const isUnchanged = (server: GatewayServer) => texts.has(JSON.stringify(server));
  // Rules are named by the index of their server. A merged server uses those of its members as they are now.
  const isMoved = ({ resource }: GatewayServer) => indexOf(servers, resource) !== indexOf(next, resource);
  const found = served.filter(
    ({ server }) =>
      [server, ...partsOf(server, servers)].every(isUnchanged) &&
      (server.merges !== null || !isMoved(server)),
  );
  const backends = served.flatMap(({ server, backend }) => {
    const changed = next.find((one) => one.resource === server.resource);
    return backend !== null && changed !== undefined && hasSameBackend(server, changed) ? [backend] : [];
  });
  return createRetained(found, backends, draining);
}

function indexOf(servers: readonly GatewayServer[], resource: string): number {
  return servers.findIndex((server) => server.resource === resource);
}

/** Closes what the next gateway does not reuse after the last request that uses it. */
function drainEnded(served: readonly ServedServer[], { servers, backends, draining }: Retained): void {
  const ended = served.filter(
    ({ server: { resource } }) => !servers.has(resource) && !backends.has(resource),
  );
  // A merged server uses the backends of its members as long as it has requests.
  for (const { server, path, open } of ended.toSorted(mergedFirst)) {
    const others = server.merges === null ? [...draining.values()] : [];
    const closed = Promise.all([open.drain(drainLimit(server)), ...others]).then(path.close);
    draining.set(
      path,
      closed.finally(() => draining.delete(path)),
    );
  }
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
  return ({ incoming, outgoing, server, principal }, error, id): CallDecision | null => {
    if (!(error instanceof OAuthError) || outgoing.headersSent) {
      sendError(outgoing, error, commonHeaders, id);
      return outgoing.statusCode === 429 || outgoing.statusCode === 413 ? 'limited' : null;
    }
    // The guard has taken the token, whose scheme the challenge has.
    const info = nodeRequestInfo(incoming, { principal });
    const isPolicy = error instanceof PolicyError;
    if (isPolicy && readsToolChallenge(server, incoming, error)) {
      const { headers } = guard.errorResponse(error, info);
      sendResult(outgoing, toolChallengeResult(error, headers['www-authenticate'] ?? ''), commonHeaders, id);
      return decisionOf(error);
    }
    const isChallenge = isPolicy && error.decision === 'challenge';
    const response = isChallenge ? guard.challengeResponse(info) : guard.errorResponse(error, info);
    sendGuardResponse(outgoing, response, commonHeaders);
    return isPolicy ? decisionOf(error) : 'denied';
  };
}

/** What the audit log records. */
function decisionOf({ decision }: PolicyError): CallDecision {
  return decision === 'challenge' ? 'challenged' : decision;
}

function mergedFirst({ server: one }: ServedServer, { server: other }: ServedServer): number {
  return Number(one.merges === null) - Number(other.merges === null);
}

/** Milliseconds after which requests that are still open are cut off: each has ended by then, unless its backend never stops sending. */
function drainLimit({ limits }: GatewayServer): number {
  return (limits.firstByte + limits.idle) * 1000;
}
