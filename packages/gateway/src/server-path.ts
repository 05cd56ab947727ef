/** The path of a server: passes bytes through to a backend that speaks the client's protocol, and whole messages to any other. */

import { type Addresses, createAddresses, type HealthListener } from './addresses/addresses.ts';
import { type ProbeOptions, startProbes } from './addresses/probes.ts';
import { openSession } from './backends/clients/session-table.ts';
import { type BackendProtocol, createHttpBackend } from './backends/http/http-backend.ts';
import {
  type BackendProtocols,
  createProtocolDetection,
  type ProtocolDetection,
} from './backends/http/protocol-detection.ts';
import { STATELESS, WITH_SESSIONS } from './backends/revisions.ts';
import { describeIsolation, detectIsolation } from './backends/stdio/isolation.ts';
import type { ProcessLog } from './backends/stdio/process.ts';
import { createStdioBackend } from './backends/stdio/stdio-backend.ts';
import type { CredentialSource } from './credentials/credential-source.ts';
import type { ExchangeSummary } from './http/exchange.ts';
import {
  createPassThrough,
  type Forwarding,
  namesVersion,
  type PassThroughOptions,
} from './http/pass-through.ts';
import { StreamedBody } from './http/streamed-body.ts';
import { createMessagePath, type ServerPath } from './message-path.ts';
import { createParameterHeaders, hasParameterHeaders } from './parameter-headers.ts';
import type { GatewayRequest, OwnedRequest } from './servers/request.ts';
import type { BackendDefinition, GatewayServer, HttpBackendDefinition } from './servers/server.ts';

export interface ServerPathOptions extends PassThroughOptions {
  readonly log: ProcessLog;
  readonly onHealth: HealthListener;
  readonly probes: ProbeOptions;
}

export function createServerPath(
  server: GatewayServer,
  definition: BackendDefinition,
  options: ServerPathOptions,
): ServerPath {
  const { log, onHealth, probes } = options;
  if (definition.kind === 'stdio') {
    log(server.name, describeIsolation(detectIsolation()));
    return createMessagePath(server, createStdioBackend({ server, definition, log }), options);
  }
  const addresses = createAddresses(definition, server, onHealth);
  const stopProbes = startProbes(addresses, server, probes);
  const path =
    definition.kind === 'sse'
      ? createSsePath(server, definition, addresses, options)
      : createHttpPath(server, definition, addresses, options);
  return {
    ...path,
    close() {
      stopProbes();
      return path.close();
    },
  };
}

function createSsePath(
  server: GatewayServer,
  { forward }: HttpBackendDefinition,
  addresses: Addresses,
  options: ServerPathOptions,
): ServerPath {
  const backend = createHttpBackend({ server, addresses, protocol: 'sse', forward });
  const close = async () => void (await Promise.all([backend.close(), addresses.close()]));
  return createMessagePath(server, { ...backend, close }, options);
}

/** Passes through, unless the backend does not speak the protocol of the client. */
function createHttpPath(
  server: GatewayServer,
  definition: HttpBackendDefinition,
  addresses: Addresses,
  options: ServerPathOptions,
): ServerPath {
  const passThrough = createPassThrough(server, definition, addresses, options);
  const detection = createProtocolDetection(server, addresses);
  const translations = createTranslations(server, addresses, definition.forward, options);
  const readParameters = createParameterHeaders((request) =>
    translations.of('stateless').listSessions(request, 'newest'),
  );

  async function forwardDetected(request: GatewayRequest, forwarding: Forwarding): Promise<ExchangeSummary> {
    const protocols = detection.known() ?? (await detection.detect(forwarding.credential));
    const own = isStateless(request, forwarding) ? 'stateless' : 'sessions';
    const other = protocols?.[own] === false ? protocolOf(protocols) : undefined;
    if (other === undefined) {
      const mayRead = own === 'stateless' && protocols?.stateless === true;
      const parameters = mayRead ? await readParameters(request, forwarding.body) : {};
      // The response of a backend that refuses everything shows the reason.
      return passThrough.forward(request, { ...forwarding, parameters }, false);
    }
    return translations.of(other).forward(request, forwarding);
  }

  /** By the message path, whatever the backend speaks. */
  async function forwardTranslated(
    request: GatewayRequest,
    forwarding: Forwarding,
  ): Promise<ExchangeSummary> {
    const protocols = detection.known() ?? (await detection.detect(forwarding.credential));
    return translations.preferred(protocols).forward(request, forwarding);
  }

  return {
    isUp: passThrough.isUp,
    offersTasks: () => detection.known()?.tasks !== false,
    checkHandles(request) {
      if (!translations.has(request)) passThrough.checkHandles(request);
    },
    resumesResponse: (request) =>
      translations.has(request)
        ? translations.all().some((path) => path.resumesResponse(request))
        : passThrough.resumesResponse(request),
    takeUpload(request) {
      const isOwn = !hasNewVersion(request) || detection.known()?.stateless === true;
      const mayPass = isOwn && !hasParameterHeaders(request.incoming.headers);
      return mayPass && !translations.has(request) ? passThrough.takeUpload(request) : null;
    },
    forward(request, forwarding) {
      const { body } = forwarding;
      // A session without a token may be continued with one, which opens another one at the backend.
      const isOpen = request.owner.isAnonymous === true && isInitialize(forwarding);
      if (isOpen || translations.has(request)) return forwardTranslated(request, forwarding);
      const isOfStateless = isStateless(request, forwarding);
      const isPlain = !isOfStateless && !isInitialize(forwarding);
      if (isPlain || body instanceof StreamedBody) return passThrough.forward(request, forwarding, false);
      if (isOfStateless || detection.known() !== null) return forwardDetected(request, forwarding);
      // Most backends have sessions: they are not probed in advance.
      return passThrough
        .forward(request, forwarding, true)
        .then((end) => (end.kind === 'refused' ? forwardDetected(request, forwarding) : end));
    },
    ...createDetectedSessions(server, detection, translations, options.credentials),
    async close() {
      await Promise.all([passThrough, detection, ...translations.all()].map((one) => one.close()));
    },
  };
}

type Translations = ReturnType<typeof createTranslations>;

/** The message paths to one backend, by the protocol that it speaks. */
function createTranslations(
  server: GatewayServer,
  addresses: Addresses,
  forward: readonly string[],
  options: ServerPathOptions,
) {
  const paths = new Map<BackendProtocol, ServerPath>();
  function of(protocol: BackendProtocol): ServerPath {
    const path =
      paths.get(protocol) ??
      createMessagePath(server, createHttpBackend({ server, addresses, protocol, forward }), options);
    paths.set(protocol, path);
    return path;
  }
  return {
    of,
    /** @param protocols those of the backend; `null`: not known */
    preferred: (protocols: BackendProtocols | null) => of((protocols && protocolOf(protocols)) ?? 'sessions'),
    /** Whether the session of a request is one of a message path: its ID contains the parameters of `initialize`. */
    has({ incoming, owner }: GatewayRequest): boolean {
      const sealed = incoming.headers['mcp-session-id'];
      if (sealed === undefined) return false;
      return openSession(options.sealer, owner, String(sealed)) !== null;
    },
    all: () => [...paths.values()],
  };
}

/** Sessions of the gateway itself, and of merged servers. */
function createDetectedSessions(
  server: GatewayServer,
  detection: ProtocolDetection,
  translations: Translations,
  credentials: CredentialSource,
): Pick<ServerPath, 'listSessions' | 'open'> {
  async function detect({ principal }: OwnedRequest): Promise<BackendProtocols | null> {
    const credential = await credentials.for(principal, server);
    return detection.known() ?? detection.detect(credential);
  }

  return {
    async listSessions(request, revisions) {
      const protocols = await detect(request);
      const found = protocols === null ? [] : PROTOCOLS.filter((protocol) => protocols[protocol]);
      const sessions = found.map(async (protocol) => {
        const ofPath = await translations.of(protocol).listSessions(request, revisions);
        return protocol === 'stateless' ? ofPath.slice(0, 1) : ofPath;
      });
      return sessions.length === 0
        ? translations.of('sessions').listSessions(request, 'newest')
        : (await Promise.all(sessions)).flat();
    },
    async open(request, initialize, isShared) {
      return translations.preferred(await detect(request)).open(request, initialize, isShared);
    },
  };
}

const PROTOCOLS: readonly BackendProtocol[] = ['sessions', 'stateless', 'sse'];

function protocolOf(protocols: BackendProtocols): BackendProtocol | undefined {
  return PROTOCOLS.find((protocol) => protocols[protocol]);
}

/** Whether a request is of the stateless revision, or of another that requests name themselves: no backend with sessions knows it. */
function isStateless({ incoming }: GatewayRequest, forwarding: Forwarding): boolean {
  const { headers } = incoming;
  return (
    headers['mcp-protocol-version'] === STATELESS ||
    (namesVersion(forwarding) && headers['mcp-session-id'] === undefined)
  );
}

function hasNewVersion({ incoming }: GatewayRequest): boolean {
  const version = incoming.headers['mcp-protocol-version'];
  return version !== undefined && !WITH_SESSIONS.has(String(version));
}

/** It is the only message of its body, and has no session. */
function isInitialize({ scanned }: Forwarding): boolean {
  return scanned?.messages[0]?.method === 'initialize';
}
