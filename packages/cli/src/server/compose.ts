/** Composes one process: the authorization server and, at the same origin, the guard with the application behind it. */
import type { EventTransmitter } from '@portcullis/admin/shared-signals';
import {
  type AuthorizationServer,
  ConfigurationError,
  createAuthorizationServer,
} from '@portcullis/authorization-server';
import type { Gateway } from '@portcullis/gateway';
import { pathOf } from '@portcullis/http';
import type { FetchDelegate, HttpHandler } from '@portcullis/http/node';
import { combineProfiles, profileA, resourceMetadataUrls, serverMetadataUrls } from '@portcullis/protocol';
import {
  combineVerifiers,
  createGuard,
  type DpopOptions,
  type Guard,
  jwtVerifier,
  opaqueTokenVerifier,
  type ResourceOptions,
  type SharedGuardOptions,
} from '@portcullis/resource-server';
import { protect } from '@portcullis/resource-server/fetch';
import { limitedReplayStore } from '@portcullis/resource-server/replays';
import { localUpstreamTokens } from '@portcullis/resource-server/upstream';
import { reasonOf, SettingsError } from '../errors.ts';
import type { Settings } from '../settings/schema.ts';
import { type Admin, createAdmin, decideAdminScopes } from './admin.ts';
import type { ProtectedApplication, RunningApplication } from './application.ts';
import { createDecideScopes } from './decision-point.ts';
import { createOwnFolder } from './folders.ts';
import { createGatewayFactory, needsApprovals, userBackendsOf } from './gateway.ts';
import { createLastingServer, type LastingServer } from './lasting-server.ts';
import { createMetrics } from './metrics/metrics.ts';
import { createOutageTolerance } from './outage-tolerance.ts';
import type { Parts } from './parts.ts';
import type { PathHandler } from './path-handler.ts';
import { type Prepared, serverOptions } from './prepare.ts';
import { protectedServers, resourceOf } from './protected-servers.ts';
import { createReadiness } from './readiness.ts';
import { createServiceRoutes } from './service-routes.ts';
import { decideStreamScopes, loadTransmitter } from './shared-signals.ts';

/** The composed process, ready to serve requests. */
export type Composition = Awaited<ReturnType<typeof compose>>;

/** @throws SettingsError naming the settings */
export async function compose(given: Parts) {
  const { application } = given.prepared;
  const metrics = createMetrics(application?.path ?? null, given.droppedLines, given.metrics);
  const tolerance = createOutageTolerance(given.prepared.settings.freshness);
  const parts: Parts = {
    ...given,
    log(event) {
      tolerance.note(event);
      metrics.count(event);
      given.log(event);
    },
  };
  const authorizationServer = await createServer(parts);
  let serving = authorizationServer;
  const lasts = createLastingServer(() => serving);
  const lastingServer = { ...lasts, isLive: tolerance.wrap(lasts.isLive) };
  const own = application === null ? null : await createOwn(application, parts, lastingServer);
  const health = () => current.gateway?.health() ?? [];
  const readiness = createReadiness(parts.storage.store, parts.log, health);
  const readMetrics = given.membership?.shareMetrics(metrics.families) ?? metrics.families;
  const createGatewayOf = createGatewayFactory(parts, lastingServer, tolerance.wrapPins(parts.storage.store));
  const createOwnGuard = guardFactory(parts, lastingServer);
  let { clients } = given.prepared.settings;
  const admin = await createAdmin(parts, lastingServer, createOwnGuard, {
    gateway: () => current.gateway,
    clients: () => clients,
  });
  const transmitter = await loadTransmitter(parts, lastingServer, createOwnGuard);
  /** The components that are recreated when servers are replaced. */
  const composeServers = async (
    prepared: Prepared,
    server: AuthorizationServer,
    previous: Gateway | null,
  ) => {
    const createGuardFor = guardFactory({ ...parts, prepared }, lastingServer);
    const gateway = await createGatewayOf(prepared, server.routes, createGuardFor, previous);
    const serviceRoutes = createServiceRoutes({
      ...{ issuer: given.issuer, readiness, server },
      servers: protectedServers(prepared, given.issuer),
      metrics: readMetrics,
      metricsToken: prepared.settings.metricsToken,
    });
    const handle = route(server, { own, admin, transmitter }, gateway, serviceRoutes);
    return { handle, gateway, authorizationServer: server };
  };
  let current = await composeServers(given.prepared, authorizationServer, null);
  const replaced = createReplaced();
  return {
    handle: metrics.measure((request, connection) => current.handle(request, connection)),
    servers: protectedServers(given.prepared, given.issuer),
    /** URLs of the published metadata documents. */
    documents: publishedDocuments(parts),
    /** The current one: servers may be replaced. */
    get authorizationServer(): AuthorizationServer {
      return serving;
    },
    /** Those of this process. */
    metrics: metrics.families,
    /** `null`: it is off. */
    transmitter,
    drain: readiness.drain,
    /**
     * Switches to the servers and clients of these settings; unchanged servers are not interrupted.
     * @throws SettingsError without changing anything
     */
    async replaceServers(prepared: Prepared): Promise<void> {
      const before = current;
      const server = await createServer({ ...parts, prepared }, before.authorizationServer);
      try {
        current = await composeServers(prepared, server, before.gateway);
        serving = server;
        clients = prepared.settings.clients;
        replaced.add(before.authorizationServer);
        admin?.recordReload(prepared.settings.servers.length);
      } catch (error) {
        await server.close();
        throw error;
      }
    },
    async close(): Promise<void> {
      await own?.close();
      await admin?.close();
      transmitter?.close();
      await current.gateway?.close();
      await replaced.close();
      await current.authorizationServer.close();
    },
  };
}

/** Milliseconds for a replaced authorization server to finish its requests. */
const GRACE = 30_000;

/** Replaced authorization servers with requests in progress. */
function createReplaced() {
  const open = new Map<AuthorizationServer, NodeJS.Timeout>();
  const close = async (server: AuthorizationServer) => {
    clearTimeout(open.get(server));
    open.delete(server);
    await server.close();
  };
  return {
    add(server: AuthorizationServer): void {
      open.set(server, setTimeout(() => void close(server), GRACE).unref());
    },
    close: async () => void (await Promise.all([...open.keys()].map(close))),
  };
}

async function createServer(parts: Parts, previous?: AuthorizationServer): Promise<AuthorizationServer> {
  const { prepared, storage, masterKey, previousMasterKeys, decisionPoint, issuer, log } = parts;
  try {
    const backends = await userBackendsOf(parts);
    const options = {
      ...serverOptions(prepared, issuer),
      ...(backends !== null && { backends }),
      ...(decisionPoint !== null && { decideScopes: createDecideScopes(decisionPoint) }),
      decideScopesOf: { ...(await decideAdminScopes(parts)), ...(await decideStreamScopes(parts)) },
      approvals: needsApprovals(parts),
      sendsMail: prepared.settings.mail !== null,
      signInLinks: prepared.settings.mail?.signInLinks ?? false,
      store: storage.store,
      masterKey,
      previousMasterKeys,
      events: log,
    };
    return await createAuthorizationServer(options, previous);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const { nameOf } = prepared;
    const keys = `${nameOf('key')} or ${nameOf('keyFile')}`;
    throw new SettingsError(
      error.issues.map((issue) => issue.replace(/^masterKey/, `${keys}: the master key`)),
      { cause: error },
    );
  }
}

/** The application in this process, behind its guard. */
interface OwnServer extends FetchDelegate {
  belongs(path: string): boolean;
  close(): Promise<void>;
}

async function createOwn(
  application: ProtectedApplication,
  parts: Parts,
  server: LastingServer,
): Promise<OwnServer> {
  const guard = createGuardOf(application, parts, server);
  const running = await create(application, parts, server);
  return {
    belongs: (path) =>
      path === application.path ||
      path.startsWith(`${application.path}/`) ||
      path.startsWith('/.well-known/oauth-protected-resource'),
    fetch: protect(guard, (request, principal) => running.handle(request, principal)),
    close: () => running.close(),
  };
}

async function create(
  application: ProtectedApplication,
  { prepared: { settings, nameOf }, storage, log }: Parts,
  server: LastingServer,
): Promise<RunningApplication> {
  try {
    const upstream = localUpstreamTokens(server);
    const { dataFolder } = storage;
    if (dataFolder !== null) await createOwnFolder(dataFolder);
    return await application.create({ dataFolder, log, upstream });
  } catch (cause) {
    throw new SettingsError(
      [`${nameOf('app')} is ${settings.app}, which did not start: ${reasonOf(cause)}`],
      { cause },
    );
  }
}

/** Creates a guard with direct access to keys and revocations, which rejects a revoked token at the next request. */
function createGuardOf(application: ProtectedApplication, parts: Parts, server: LastingServer): Guard {
  const { name, scopes, defaultScopes, hierarchy, scopesFor, authenticationFor } = application;
  return createGuard({
    resource: resourceOf(application, parts.issuer),
    name,
    defaultScopes: defaultScopes ?? Object.keys(scopes),
    ...(hierarchy && { hierarchy }),
    ...(scopesFor && { scopesFor: (operation) => scopesFor.call(application, operation) }),
    ...(authenticationFor && {
      authenticationFor: (operation) => authenticationFor.call(application, operation),
    }),
    ...guardOptions(parts, server),
  });
}

/** @returns a function that creates a guard of several resources */
function guardFactory(parts: Parts, server: LastingServer) {
  return (resources: readonly ResourceOptions[]): Guard =>
    createGuard({ resources, ...guardOptions(parts, server) });
}

function guardOptions(parts: Parts, server: LastingServer): SharedGuardOptions {
  const { settings } = parts.prepared;
  const { issuer, log } = parts;
  return {
    verifier: combineVerifiers([
      jwtVerifier({ issuer, jwks: server.jwks, isLive: server.isLive }),
      ...(settings.personalAccessTokens
        ? [opaqueTokenVerifier({ issuer, read: server.readPersonalAccessToken })]
        : []),
    ]),
    profiles: servedProfiles(settings),
    dpop: dpopOptions(parts, server),
    streams: { endedGrants: parts.endedGrants },
    events: (event) => log({ ...event }),
  };
}

/**
 * Processes share the store and the master key: each proof is accepted once, each nonce by all processes. The authorization
 * server has the same origin, for which clients store one nonce.
 */
function dpopOptions(
  { prepared: { settings }, storage: { store } }: Parts,
  { dpopNonces }: LastingServer,
): DpopOptions {
  return {
    replays: limitedReplayStore((proof, until) =>
      store.consumeClientAssertion(`guard:${proof}`, Math.ceil(until)),
    ),
    nonces: { ...dpopNonces, required: settings.requireDpopNonces },
  };
}

/** Without metadata only the oldest profile works: only it defines default paths. */
function servedProfiles({ metadata, profiles: served }: Settings): NonNullable<Settings['profiles']> {
  return metadata ? served : [profileA];
}

function publishedDocuments({ prepared, issuer }: Parts): readonly string[] {
  const { settings } = prepared;
  if (!settings.metadata) return [];
  const policy = combineProfiles(servedProfiles(settings));
  const own = protectedServers(prepared, issuer).filter(({ isOwn }) => isOwn);
  // With several resources, the root describes none of them.
  const count = own.length === 1 ? undefined : 1;
  return [
    ...serverMetadataUrls(issuer, policy.serverMetadata),
    ...(policy.resourceMetadata ? own.flatMap(({ url }) => resourceMetadataUrls(url).slice(0, count)) : []),
  ];
}

/** Those with paths of their own; `null`: it is off. */
interface Components {
  readonly own: OwnServer | null;
  readonly admin: Admin | null;
  readonly transmitter: EventTransmitter | null;
}

function route(
  server: AuthorizationServer,
  { own, admin, transmitter }: Components,
  gateway: Gateway | null,
  serviceRoutes: PathHandler,
): HttpHandler {
  return (request, connection) => {
    const path = pathOf(request);
    // Before the gateway, which responds to requests for the metadata of any other resource.
    if (admin?.belongs(path) === true) return Promise.resolve(admin);
    if (transmitter?.belongs(path) === true) return Promise.resolve(transmitter);
    if (gateway?.belongs(path) === true) {
      const { address } = connection;
      return Promise.resolve({ node: (incoming, outgoing) => gateway.handle(incoming, outgoing, address) });
    }
    if (own?.belongs(path) === true) return Promise.resolve(own);
    return server.owns(path) ? server.handleHttp(request, connection) : serviceRoutes(request, connection);
  };
}
