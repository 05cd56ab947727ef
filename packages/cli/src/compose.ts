/** Everything in one process: the authorization server, the guard, and the application behind it, at one origin. */
import {
  type AuthorizationServer,
  ConfigurationError,
  createAuthorizationServer,
} from '@portcullis/authorization-server';
import { respondJson } from '@portcullis/http';
import type { Peer, PeerHandler } from '@portcullis/http/node';
import {
  foldProfiles,
  profileA,
  profiles,
  resourceMetadataUrls,
  serverMetadataUrls,
} from '@portcullis/protocol';
import { createGuard, type Guard, jwtVerifier } from '@portcullis/resource-server';
import { protect } from '@portcullis/resource-server/fetch';
import type { ProtectedApplication, RunningApplication } from './application.ts';
import { reasonOf, SettingsError } from './faults.ts';
import { respondFrontPage } from './front-page.ts';
import { eventSink, type Log } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { respondMetrics } from './metrics-door.ts';
import { type Settings, titleOf, variableOf } from './settings.ts';
import type { Storage } from './storage.ts';

export interface Parts {
  readonly settings: Settings;
  /** The public URL: the issuer, byte for byte. */
  readonly issuer: string;
  readonly application: ProtectedApplication;
  readonly sealingKey: Uint8Array;
  readonly previousSealingKeys: readonly Uint8Array[];
  readonly storage: Storage;
  readonly log: Log;
}

/** The whole, ready to be served. */
export interface Composition {
  readonly handle: PeerHandler;
  /** The URL of the application: the resource that tokens are issued for. */
  readonly resource: string;
  /** URLs of the metadata documents that are published. */
  readonly documents: readonly string[];
  readonly authorizationServer: AuthorizationServer;
  close(): Promise<void>;
}

/** @throws SettingsError naming the settings */
export async function compose(given: Parts): Promise<Composition> {
  const metrics = createMetrics(given.application.path);
  const parts = { ...given, log: counted(given.log, metrics) };
  const resource = `${new URL(parts.issuer).origin}${parts.application.path}`;
  const authorizationServer = await createServer(parts, resource);
  const guard = createGuardOf(parts, resource, authorizationServer);
  const running = await create(parts);
  const protectedServer = protect(guard, (request, principal) => running.handle(request, principal));
  return {
    handle: metrics.measure(
      route(
        parts,
        resource,
        authorizationServer,
        protectedServer,
        respondMetrics(metrics, parts.settings.metricsToken),
      ),
    ),
    resource,
    documents: publishedDocuments(parts, resource),
    authorizationServer,
    async close() {
      await running.close();
      await authorizationServer.close();
    },
  };
}

/** A log that also counts. */
function counted(log: Log, metrics: Metrics): Log {
  return (event) => {
    metrics.count(event);
    log(event);
  };
}

async function create({ application, settings, storage, log }: Parts): Promise<RunningApplication> {
  try {
    return await application.create({ dataFolder: storage.dataFolder, log });
  } catch (cause) {
    throw new SettingsError(
      [`${titleOf('app')} is ${settings.app}, which did not start: ${reasonOf(cause)}`],
      {
        cause,
      },
    );
  }
}

async function createServer(parts: Parts, resource: string): Promise<AuthorizationServer> {
  const { settings, application, storage, sealingKey, previousSealingKeys, issuer, log } = parts;
  const { name, scopes, defaultScopes, hierarchy } = application;
  try {
    return await createAuthorizationServer({
      issuer,
      ...(settings.name !== null && { name: settings.name }),
      store: storage.store,
      sealingKey,
      previousSealingKeys,
      keys: settings.keys,
      resources: [
        {
          resource,
          name,
          scopes,
          ...(defaultScopes && { defaultScopes }),
          ...(hierarchy && { hierarchy }),
          endsAtOnce: true,
        },
      ],
      clients: settings.clients,
      ...(settings.profiles !== null && { profiles: settings.profiles }),
      metadata: settings.metadata,
      registration: settings.registration,
      lifetimes: settings.lifetimes,
      limits: settings.limits,
      privateUseSchemes: settings.privateUseSchemes,
      keepEvents: settings.keepEvents === 0 ? false : settings.keepEvents,
      events: eventSink(log),
    });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new SettingsError(error.faults.map(nameSetting), { cause: error });
  }
}

/** The authorization server names its own options: tells by which setting each is decided. */
function nameSetting(fault: string): string {
  if (fault.startsWith('issuer')) return fault.replace('issuer', titleOf('publicUrl'));
  if (fault.startsWith('resources')) return `${titleOf('app')}: ${fault}`;
  if (fault.startsWith('sealingKey'))
    return `${titleOf('key')} or ${titleOf('keyFile')}: ${fault.replace('sealingKey', 'the sealing key')}`;
  return `${variableOf('config')}: ${fault}`;
}

/** A guard with the keys at hand, so that a revoked token is refused at the next request. */
function createGuardOf(
  { settings, application, issuer, log }: Parts,
  resource: string,
  server: AuthorizationServer,
): Guard {
  const { name, scopes, defaultScopes, hierarchy, scopesFor } = application;
  return createGuard({
    resource,
    name,
    defaultScopes: defaultScopes ?? Object.keys(scopes),
    ...(hierarchy && { hierarchy }),
    ...(scopesFor && { scopesFor: (operation) => scopesFor.call(application, operation) }),
    verifier: jwtVerifier({ issuer, jwks: server.jwks, isLive: server.isLive }),
    profiles: servedProfiles(settings),
    events: (event) => log({ ...event }),
  });
}

/** Without metadata only the oldest profile is left: it alone has default paths to fall back to. */
function servedProfiles({ metadata, profiles: served }: Settings): NonNullable<Settings['profiles']> {
  return metadata ? (served ?? profiles) : [profileA];
}

function publishedDocuments({ settings, issuer }: Parts, resource: string): readonly string[] {
  if (!settings.metadata) return [];
  const policy = foldProfiles(servedProfiles(settings));
  return [
    ...serverMetadataUrls(issuer, policy.serverMetadata),
    ...(policy.resourceMetadata ? resourceMetadataUrls(resource) : []),
  ];
}

function route(
  { application, storage }: Parts,
  resource: string,
  server: AuthorizationServer,
  protectedServer: (request: Request) => Promise<Response>,
  metricsDoor: PeerHandler,
): PeerHandler {
  const belongs = (path: string) =>
    path === application.path ||
    path.startsWith(`${application.path}/`) ||
    path.startsWith('/.well-known/oauth-protected-resource');
  return async (request: Request, peer: Peer) => {
    const path = new URL(request.url).pathname;
    if (belongs(path)) return protectedServer(request);
    if (server.owns(path)) return server.handle(request, peer);
    if (path === '/healthz') return respondJson({ status: 'ok' });
    if (path === '/readyz') return ready(storage);
    if (path === '/metrics') return metricsDoor(request, peer);
    if (path === '/') return respondFrontPage(application.name, resource);
    return respondJson(
      { error: 'not_found', error_description: 'Nothing stands at this path.' },
      { status: 404 },
    );
  };
}

async function ready({ store }: Storage): Promise<Response> {
  try {
    await store.ping();
    return respondJson({ status: 'ok' });
  } catch {
    return respondJson({ status: 'unavailable' }, { status: 503, headers: { 'retry-after': '5' } });
  }
}
