/** Serves each server: its rules in front of its backend, which outlives a change of what it does not depend on. */
import type { CompileCondition } from '@portcullis/policy';
import type { DefinitionPinStore } from '@portcullis/protocol';
import type { HealthListener } from './addresses/addresses.ts';
import type { DecisionPoint } from './authzen/decision-point.ts';
import { createExternalPolicy } from './authzen/external-policy.ts';
import type { ProcessLog } from './backends/stdio/process.ts';
import { createCatalogue } from './catalogue/catalogue.ts';
import { createListTools } from './catalogue/list-tools.ts';
import { createPinBoard, type PinBoard } from './catalogue/pins.ts';
import type { CredentialSource } from './credentials/credential-source.ts';
import { createGauge } from './gauge.ts';
import { type CallRate, createCallRate, createOpenRequests, createServerSlots } from './http/slots.ts';
import { PROBE_INTERVAL, PROBES_AT_ONCE } from './limits.ts';
import { createMergedBackend, createMergedControl } from './merged/merged-server.ts';
import { createMessagePath, type ServerPath } from './message-path.ts';
import type { RunningBackend, ServedServer } from './served-server.ts';
import { type ControlServices, createServerControl } from './server-control.ts';
import { createServerPath, type ServerPathOptions } from './server-path.ts';
import type { BackendDefinition, GatewayServer } from './servers/server.ts';

/** What one gateway takes over from the one before it, by resource. */
export interface Retained {
  /** Unchanged servers at their index; a merged one only together with all its members, at any index. */
  readonly servers: ReadonlyMap<string, ServedServer>;
  /** Backends of changed servers whose changes they do not depend on. */
  readonly backends: ReadonlyMap<string, RunningBackend>;
  /** Paths that end after their last request. */
  readonly draining: Map<Pick<ServerPath, 'close'>, Promise<void>>;
}

export function createRetained(
  servers: readonly ServedServer[] = [],
  backends: readonly RunningBackend[] = [],
  draining: Retained['draining'] = new Map(),
): Retained {
  return {
    servers: new Map(servers.map((one) => [one.server.resource, one])),
    backends: new Map(backends.map((one) => [one.server.resource, one])),
    draining,
  };
}

/** The event, for the log: `backend.failed`, … */
export interface GatewayEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Options of `createGateway` that concern its servers. */
export interface ServingOptions extends Pick<ServerPathOptions, 'sealer' | 'commonHeaders'> {
  readonly servers: readonly GatewayServer[];
  readonly credentials: CredentialSource;
  readonly events: (event: GatewayEvent) => void;
  /** Pins of tool definitions; without it, tools are neither reviewed nor compared with the backend's list. */
  readonly pins?: DefinitionPinStore;
  /** Compiles the conditions of rules; needed if a rule has one. */
  readonly conditions?: CompileCondition | null;
  /** Asked about what the rules allow: `createDecisionPoint`. */
  readonly decisionPoint?: DecisionPoint | null;
  /** Milliseconds without a response after which a backend over HTTP is probed. @default 15_000 */
  readonly probeInterval?: number;
}

/** What the backends of a gateway share. */
type Services = Omit<ServerPathOptions, 'slots' | 'onToolsChanged'> & {
  readonly pins: PinBoard | null;
  readonly servers: readonly GatewayServer[];
  readonly control: ControlServices;
  readonly events: ServingOptions['events'];
};

export function serveAll(options: ServingOptions, retained: Retained): readonly ServedServer[] {
  const { servers } = options;
  const services = createServices(options);
  const whole = servers.flatMap((server) => {
    const { backend: definition } = server;
    if (definition === null) return [];
    return [retained.servers.get(server.resource) ?? serveOne(server, definition, services, retained)];
  });
  const merged = servers.filter(({ merges }) => merges !== null);
  return [
    ...whole,
    ...merged.map((server) => retained.servers.get(server.resource) ?? serveMerged(server, whole, options)),
  ];
}

function createServices(options: ServingOptions): Services {
  const { servers, events, credentials, sealer, commonHeaders } = options;
  const { conditions = null, decisionPoint = null } = options;
  const pins = options.pins === undefined ? null : createPinBoard(options.pins);
  const probes = {
    interval: options.probeInterval ?? PROBE_INTERVAL,
    slots: createGauge(() => PROBES_AT_ONCE),
  };
  const log: ProcessLog = (server, line) => events({ type: 'process.output', server, line });
  const onHealth = createHealthEvents(events);
  const external = decisionPoint === null ? null : createExternalPolicy(decisionPoint);
  const control = { compile: conditions, external };
  // Without the other options: a gateway must not retain the one before it.
  return { servers, events, credentials, sealer, commonHeaders, control, pins, probes, log, onHealth };
}

function serveOne(
  server: GatewayServer,
  definition: BackendDefinition,
  services: Services,
  retained: Retained,
): ServedServer {
  const known = retained.backends.get(server.resource);
  const backend = known ?? startBackend(server, definition, services);
  if (known !== undefined) updateBackend(known, server, services);
  return { ...backend, server, backend };
}

function startBackend(
  written: GatewayServer,
  definition: BackendDefinition,
  services: Services,
): RunningBackend {
  const { pins, events } = services;
  const server = { ...written };
  const slots = createServerSlots(server);
  const path = createServerPath(server, definition, {
    ...services,
    slots,
    onToolsChanged: () => catalogue?.changed(),
  });
  const catalogue =
    pins === null
      ? null
      : createCatalogue({
          list: createListTools(path.listSessions),
          pins,
          now: () => performance.now(),
          onChange: (changes) => {
            for (const { tool, state } of changes)
              events({ type: 'tool.changed', server: server.path, tool, change: state });
          },
        });
  const control = createServerControl(server, services.servers, catalogue, services.control);
  const rate = createRate(server.limits.callsPerMinute);
  const backend: RunningBackend = {
    server,
    path,
    slots,
    open: createOpenRequests(),
    catalogue,
    control,
    rate,
  };
  return backend;
}

function createRate(perMinute: number | null): CallRate | null {
  return perMinute === null ? null : createCallRate(perMinute);
}

/** Name, rules, scopes and limits of a backend that stays. Requests under way were decided by the rules before; what they receive is not. */
function updateBackend(backend: RunningBackend, server: GatewayServer, { servers, control }: Services): void {
  Object.assign(backend.server, server);
  backend.control = createServerControl(server, servers, backend.catalogue, control);
  const { callsPerMinute } = server.limits;
  if (callsPerMinute !== backend.rate?.perMinute) backend.rate = createRate(callsPerMinute);
}

/** Whether a backend can stay when its server changes: connections are opened with the limits that are compared here. */
export function hasSameBackend(one: GatewayServer, other: GatewayServer): boolean {
  const partOf = ({ path, backend, pinnedBackend, limits: { connect, firstByte, idle } }: GatewayServer) =>
    JSON.stringify([path, backend, pinnedBackend, connect, firstByte, idle]);
  return partOf(one) === partOf(other);
}

/** A merged server is created again when one of its members has changed. */
function serveMerged(
  server: GatewayServer,
  others: readonly ServedServer[],
  { sealer, credentials, commonHeaders }: ServingOptions,
): ServedServer {
  const parts = new Map<string, RunningBackend>();
  for (const [prefix, path] of Object.entries(server.merges ?? {})) {
    const part = others.find((one) => one.server.path === path)?.backend;
    if (part !== undefined && part !== null) parts.set(prefix, part);
  }
  const slots = createServerSlots(server);
  const control = createMergedControl(server, parts, credentials);
  const path = createMessagePath(server, createMergedBackend(server, parts, credentials), {
    ...{ sealer, credentials, commonHeaders, slots },
    onToolsChanged: () => undefined,
  });
  return {
    server,
    path,
    slots,
    open: createOpenRequests(),
    backend: null,
    rate: createRate(server.limits.callsPerMinute),
    control,
  };
}

function createHealthEvents(events: ServingOptions['events']): HealthListener {
  return (server, { url }, reason) => {
    const about = { server: server.path, address: url.origin };
    events(
      reason === null
        ? { type: 'backend.recovered', ...about }
        : { type: 'backend.failed', ...about, reason },
    );
  };
}
