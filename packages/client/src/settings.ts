/** Client settings: the options of a host, validated once (unknown names included), completed and frozen. */
import {
  findProfile,
  isLoopbackHost,
  type OptionNames,
  PROTOCOL_VERSION_HEADERS,
  type Profile,
  profiles,
  resourceOfServer,
  unknownOptionIssues,
} from '@portcullis/protocol';
import { isMachineGrant } from './authorization/grant-settings.ts';
import type { Browser, Receiver } from './authorization/receiver.ts';
import type { ScopeSettings } from './authorization/scope-plan.ts';
import { ClientError } from './errors.ts';
import type { ClientEvent } from './events.ts';
import { type ClientLimits, type ClientOptions, defaultClientLimits } from './options.ts';
import { findDocumentUrlIssue } from './registration/metadata-document.ts';
import type { PreregisteredClient, RegistrationSettings } from './registration/registration.ts';
import { createMemoryStore } from './storage/memory-store.ts';
import type { Fetch } from './transport.ts';

/** Options that have another form in the settings, or none by default. */
type OtherOption =
  | 'serverUrl'
  | 'browser'
  | 'receiver'
  | 'revision'
  | 'orderAuthorizationServers'
  | 'onEvent'
  | 'limits';

/** Validated options with their defaults. */
export interface ClientSettings extends Required<Omit<ClientOptions, OtherOption>> {
  /** Canonical URL of the server. */
  readonly server: string;
  readonly browser: Browser | null;
  readonly receiver: Receiver | null;
  /** The pinned revision. */
  readonly profile: Profile | null;
  readonly orderAuthorizationServers: NonNullable<ClientOptions['orderAuthorizationServers']> | null;
  readonly emit: (event: ClientEvent) => void;
  readonly limits: ClientLimits;
}

/**
 * Validates and completes the options.
 * @throws ClientError `server_url_invalid`, or `configuration_invalid` with every issue.
 */
export function resolveClientOptions(options: ClientOptions): ClientSettings {
  const server = readServerUrl(options.serverUrl);
  const fetch: Fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const settings: ClientSettings = {
    server,
    grant: options.grant ?? { kind: 'user' },
    registration: options.registration ?? {},
    browser: options.browser ?? null,
    receiver: options.receiver ?? null,
    store: options.store ?? createMemoryStore(),
    account: options.account ?? 'default',
    fetch,
    oauthFetch: options.oauthFetch ?? fetch,
    mapFetchError: options.mapFetchError ?? (() => null),
    profile: options.revision === undefined ? null : (findProfile(options.revision) ?? null),
    versionHeader: options.versionHeader ?? PROTOCOL_VERSION_HEADERS[0],
    scopes: options.scopes ?? {},
    sendTokenTo: options.sendTokenTo ?? 'resource',
    trustedOrigins: options.trustedOrigins ?? [],
    issuerAliases: options.issuerAliases ?? {},
    resourceIndicators: options.resourceIndicators ?? {},
    orderAuthorizationServers: options.orderAuthorizationServers ?? null,
    confirmStepUp: options.confirmStepUp ?? (async () => true),
    retryStepUp: options.retryStepUp ?? false,
    dpop: options.dpop ?? 'when-offered',
    emit: options.onEvent ?? (() => undefined),
    clock: options.clock ?? Date.now,
    random: options.random ?? ((bytes) => crypto.getRandomValues(new Uint8Array(bytes))),
    sleep: options.sleep ?? ((milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))),
    limits: { ...defaultClientLimits, ...options.limits },
  };
  const issues = findIssues(options, settings);
  if (issues.length > 0) throw new ClientError('configuration_invalid', `${issues.join('; ')}.`);
  return Object.freeze(settings);
}

/**
 * The canonical form of a server URL, under which everything about the server is stored.
 * @throws ClientError `server_url_invalid`
 */
export function readServerUrl(serverUrl: string): string {
  const server = resourceOfServer(serverUrl);
  if (server !== null) return server;
  const suggested = suggestServerUrl(serverUrl);
  const message =
    'The server URL must be an absolute https URL; http is allowed for loopback addresses only.';
  throw new ClientError(
    'server_url_invalid',
    suggested === null ? message : `${message} Did you mean ${suggested}?`,
  );
}

/** A host without a scheme, as in an address bar: `localhost:8080/mcp`. */
function suggestServerUrl(text: string): string | null {
  if (!/^[a-z0-9.-]+(?::\d+)?(?:\/|$)/i.test(text)) return null;
  const isLoopback = isLoopbackHost(URL.parse(`http://${text}`)?.hostname ?? '');
  return resourceOfServer(`${isLoopback ? 'http' : 'https'}://${text}`);
}

function findIssues(options: ClientOptions, settings: ClientSettings): readonly string[] {
  const { grant, registration, sendTokenTo, profile } = settings;
  const issues = [...findUnknownNames(options, settings)];
  if (isMachineGrant(grant) && (registration.preregistered ?? []).length === 0)
    issues.push(`the grant ${grant.kind} needs a preregistered client`);
  if (options.revision !== undefined && profile === null)
    issues.push(`revision must be one of ${profiles.map(({ revision }) => revision).join(', ')}`);
  if (typeof sendTokenTo !== 'function' && !TOKEN_TARGETS.has(sendTokenTo))
    issues.push('sendTokenTo must be resource, origin or a function');
  const url = registration.metadataDocumentUrl;
  const urlIssue = url === undefined ? null : findDocumentUrlIssue(url);
  if (urlIssue !== null) issues.push(`metadataDocumentUrl ${urlIssue}`);
  return issues;
}

const TOKEN_TARGETS: ReadonlySet<unknown> = new Set(['resource', 'origin']);

const SCOPES: OptionNames<ScopeSettings> = { add: true, only: true };

const REGISTRATION: OptionNames<RegistrationSettings> = {
  preregistered: true,
  metadataDocumentUrl: true,
  metadataDocumentKey: true,
  clientName: true,
  clientUri: true,
  softwareId: true,
  softwareVersion: true,
  ask: true,
};

const PREREGISTERED: OptionNames<PreregisteredClient> = {
  issuer: true,
  clientId: true,
  clientSecret: true,
  signingKey: true,
  authentication: true,
  redirectUris: true,
};

/** A misspelled option would silently have no effect. */
function findUnknownNames(
  options: ClientOptions,
  { server: _server, profile: _profile, emit: _emit, ...sameNames }: ClientSettings,
): readonly string[] {
  const { preregistered = [] } = options.registration ?? {};
  // The settings have the names of the options, except for those.
  const known: Readonly<Record<keyof ClientOptions, unknown>> = {
    ...sameNames,
    ...{ serverUrl: true, revision: true, onEvent: true },
  };
  return [
    ...unknownOptionIssues(options, known),
    ...unknownOptionIssues(options.scopes, SCOPES, 'scopes.'),
    ...unknownOptionIssues(options.limits, defaultClientLimits, 'limits.'),
    ...unknownOptionIssues(options.registration, REGISTRATION, 'registration.'),
    ...preregistered.flatMap((client, index) =>
      unknownOptionIssues(client, PREREGISTERED, `registration.preregistered.${index}.`),
    ),
  ];
}
