/** The path of a server: bytes pass through to a backend that speaks the client's wire; whole messages go to any other. */

import { createAddresses, type HealthListener } from './addresses/addresses.ts';
import { type ProbeOptions, startProbes } from './addresses/probes.ts';
import type { MessageBackend } from './backends/backend.ts';
import { type BackendWire, createHttpBackend } from './backends/http/http-backend.ts';
import { type BackendWires, createWireDetection } from './backends/http/wire-detection.ts';
import { STATELESS } from './backends/revisions.ts';
import { describeIsolation, detectIsolation } from './backends/stdio/isolation.ts';
import type { ProcessLog } from './backends/stdio/process.ts';
import { createStdioBackend } from './backends/stdio/stdio-backend.ts';
import {
  createPassThrough,
  type Forwarding,
  type PassThrough,
  type PassThroughOptions,
  type StreamedForwarding,
  type WholeForwarding,
} from './http/pass-through.ts';
import { StreamedBody } from './http/streamed-body.ts';
import { createMessagePath, type MessagePath, type MessagePathOptions } from './message-path.ts';
import type { GatewayRequest, OwnedRequest } from './servers/request.ts';
import type { BackendDefinition, GatewayServer, HttpBackendDefinition } from './servers/server.ts';

export interface ServerPathOptions extends PassThroughOptions, MessagePathOptions {
  readonly log: ProcessLog;
  readonly onHealth: HealthListener;
  readonly probes: ProbeOptions;
}

/** A path with sessions for the gateway itself. */
export type ServerPath = MessagePath | (PassThrough & Pick<MessagePath, 'openSession' | 'open'>);

export function createServerPath(
  server: GatewayServer,
  definition: BackendDefinition,
  options: ServerPathOptions,
): ServerPath {
  if (definition.kind === 'http') return createHttpPath(server, definition, options);
  if (definition.kind === 'stdio') options.log(server.name, describeIsolation(detectIsolation()));
  const backend =
    definition.kind === 'stdio'
      ? createStdioBackend({ server, definition, log: options.log })
      : createSseBackend(server, definition, options);
  return createMessagePath(server, backend, options);
}

function createSseBackend(
  server: GatewayServer,
  definition: HttpBackendDefinition,
  options: ServerPathOptions,
): MessageBackend {
  const addresses = createAddresses(definition, server, options.onHealth);
  const stopProbes = startProbes(addresses, server, options.probes);
  const backend = createHttpBackend({ server, addresses, wire: 'sse', forward: definition.forward });
  return {
    ...backend,
    async close() {
      stopProbes();
      await Promise.all([backend.close(), addresses.close()]);
    },
  };
}

/** Passes through, unless the backend does not speak the wire of the client. */
function createHttpPath(
  server: GatewayServer,
  definition: HttpBackendDefinition,
  options: ServerPathOptions,
): ServerPath {
  const addresses = createAddresses(definition, server, options.onHealth);
  const stopProbes = startProbes(addresses, server, options.probes);
  const passThrough = createPassThrough(server, definition, addresses, options);
  const detection = createWireDetection(server, addresses);
  const translations = new Map<BackendWire, MessagePath>();
  const { forward } = definition;

  return {
    isUp: passThrough.isUp,
    checkHandles(request) {
      if (!isTranslated(request)) passThrough.checkHandles(request);
    },
    takeUpload(request) {
      const isOwn = !isStateless(request) || detection.known()?.stateless === true;
      return isOwn && !isTranslated(request) ? passThrough.takeUpload(request) : null;
    },
    forward(request, forwarding) {
      if (isStreamed(forwarding)) return void passThrough.forward(request, forwarding);
      const wires = detection.known();
      if (isTranslated(request)) return void detectFor(request, forwarding);
      if (!isStateless(request) && !isInitialize(request, forwarding))
        return void passThrough.forward(request, forwarding);
      if (wires !== null) return void forwardTo(wires, request, forwarding);
      // Most backends speak the wire of sessions: they are not asked in advance.
      if (isStateless(request)) return void detectFor(request, forwarding);
      passThrough.forward(request, { ...forwarding, refused: () => detectFor(request, forwarding) });
    },
    openSession: async (request) => (await messagePath(request)).openSession(request),
    open: async (request, initialize) => (await messagePath(request)).open(request, initialize),
    async close() {
      stopProbes();
      await Promise.all([passThrough, detection, ...translations.values()].map((one) => one.close()));
    },
  };

  /** Sessions of the message path hold the parameters of `initialize`. */
  function isTranslated({ incoming, owner }: GatewayRequest): boolean {
    const sealed = incoming.headers['mcp-session-id'];
    return (
      sealed !== undefined && options.sealer.open('session', owner, String(sealed))?.startsWith('[') === true
    );
  }

  function detectFor(request: GatewayRequest, forwarding: WholeForwarding): void {
    const known = detection.known();
    if (known !== null) return void forwardTo(known, request, forwarding);
    detection
      .detect(forwarding.credential)
      .then((wires) => {
        if (wires !== null) forwardTo(wires, request, forwarding);
        else passThrough.forward(request, forwarding);
      })
      .catch(forwarding.fail);
  }

  function pathOf(wire: BackendWire): MessagePath {
    const path =
      translations.get(wire) ??
      createMessagePath(server, createHttpBackend({ server, addresses, wire, forward }), options);
    translations.set(wire, path);
    return path;
  }

  async function messagePath({ principal }: OwnedRequest): Promise<MessagePath> {
    const credential = await options.credentials.for(principal, server);
    const wires = detection.known() ?? (await detection.detect(credential));
    return pathOf((wires && wireOf(wires)) ?? 'sessions');
  }

  function forwardTo(wires: BackendWires, request: GatewayRequest, forwarding: WholeForwarding): void {
    const own = isStateless(request) ? 'stateless' : 'sessions';
    const other = wireOf(wires);
    // A backend that refuses everything shows why by itself.
    if (wires[own] || other === undefined) passThrough.forward(request, forwarding);
    else translate(other, request, forwarding);
  }

  /** @param wire of the backend */
  function translate(
    wire: BackendWire,
    request: GatewayRequest,
    { body, fail, done }: WholeForwarding,
  ): void {
    const sentAt = performance.now();
    pathOf(wire)
      .handle(request, body === null ? null : JSON.parse(body.toString('utf8')))
      .then(
        () => done({ outcome: 'answered', backendMs: performance.now() - sentAt, responseBytes: 0 }),
        (error: unknown) => {
          fail(error);
          done({ outcome: 'unavailable', backendMs: performance.now() - sentAt, responseBytes: 0 });
        },
      );
  }
}

function isStreamed(forwarding: Forwarding): forwarding is StreamedForwarding {
  return forwarding.body instanceof StreamedBody;
}

function wireOf(wires: BackendWires): BackendWire | undefined {
  return (['sessions', 'stateless', 'sse'] as const).find((wire) => wires[wire]);
}

function isStateless({ incoming }: GatewayRequest): boolean {
  return incoming.headers['mcp-protocol-version'] === STATELESS;
}

function isInitialize({ incoming }: GatewayRequest, { body }: WholeForwarding): boolean {
  const mayBe =
    body !== null && incoming.headers['mcp-session-id'] === undefined && body.includes('"initialize"');
  return (
    mayBe && (JSON.parse(body.toString('utf8')) as { readonly method?: unknown }).method === 'initialize'
  );
}
