/** What a client is made from: options that a caller gives, judged once, completed and frozen. */
import {
  findProfile,
  PROTOCOL_VERSION_HEADERS,
  type Profile,
  type ProtocolVersionHeader,
  profiles,
  type Scopes,
} from '@portcullis/protocol';
import { findGrantIssues, type GrantSettings } from './authorization/grant-settings.ts';
import type { Browser, Receiver } from './authorization/receiver.ts';
import type { ScopeSettings } from './authorization/scope-plan.ts';
import { ClientError } from './errors.ts';
import type { ClientEvent } from './events.ts';
import { issuesOfNames } from './option-names.ts';
import { type ClientLimits, type ClientOptions, defaultClientLimits } from './options.ts';
import { findDocumentUrlIssue } from './registration/metadata-document.ts';
import type { RegistrationSettings } from './registration/registration.ts';
import { readServerUrl } from './server-url.ts';
import type { CredentialStore } from './storage/credential-store.ts';
import { createMemoryStore } from './storage/memory-store.ts';
import type { Fetch } from './transport.ts';

/** What every hand of the client gets. */
export interface ClientSettings {
  /** Canonical URL of the server. */
  readonly server: string;
  readonly grant: GrantSettings;
  readonly registration: RegistrationSettings;
  readonly browser: Browser | null;
  readonly receiver: Receiver | null;
  readonly store: CredentialStore;
  readonly account: string;
  readonly fetch: Fetch;
  readonly oauthFetch: Fetch;
  readonly mapFetchError: (error: unknown, origin: string) => ClientError | null;
  readonly profile: Profile | null;
  readonly versionHeader: ProtocolVersionHeader;
  readonly scopes: ScopeSettings;
  readonly trustedOrigins: readonly string[];
  readonly issuerAliases: Readonly<Record<string, string>>;
  readonly resourceIndicators: Readonly<Record<string, string | null>>;
  readonly orderAuthorizationServers: NonNullable<ClientOptions['orderAuthorizationServers']> | null;
  readonly confirmStepUp: (added: Scopes) => Promise<boolean>;
  readonly retryStepUp: boolean;
  readonly dpop: NonNullable<ClientOptions['dpop']>;
  readonly emit: (event: ClientEvent) => void;
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly limits: ClientLimits;
}

/**
 * Judges and completes the options.
 * @throws ClientError `server_url_invalid`, or `configuration_invalid` with every fault at once.
 */
export function resolveClientOptions(options: ClientOptions): ClientSettings {
  const server = readServerUrl(options.serverUrl);
  const issues = findIssues(options);
  if (issues.length > 0) throw new ClientError('configuration_invalid', `${issues.join('; ')}.`);
  const carry: Fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  return Object.freeze<ClientSettings>({
    server,
    grant: options.grant ?? { kind: 'user' },
    registration: options.registration ?? {},
    browser: options.browser ?? null,
    receiver: options.receiver ?? null,
    store: options.store ?? createMemoryStore(),
    account: options.account ?? 'default',
    fetch: carry,
    oauthFetch: options.oauthFetch ?? carry,
    mapFetchError: options.mapFetchError ?? (() => null),
    profile: options.revision === undefined ? null : (findProfile(options.revision) ?? null),
    versionHeader: options.versionHeader ?? PROTOCOL_VERSION_HEADERS[0],
    scopes: options.scopes ?? {},
    trustedOrigins: options.trustedOrigins ?? [],
    issuerAliases: options.issuerAliases ?? {},
    resourceIndicators: options.resourceIndicators ?? {},
    orderAuthorizationServers: options.orderAuthorizationServers ?? null,
    confirmStepUp: options.confirmStepUp ?? (async () => true),
    retryStepUp: options.retryStepUp ?? false,
    dpop: options.dpop ?? 'when-required',
    emit: options.onEvent ?? (() => undefined),
    clock: options.clock ?? Date.now,
    random: options.random ?? ((bytes) => crypto.getRandomValues(new Uint8Array(bytes))),
    sleep: options.sleep ?? ((milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))),
    limits: { ...defaultClientLimits, ...options.limits },
  });
}

function findIssues(options: ClientOptions): string[] {
  const issues: string[] = [
    ...issuesOfNames(options),
    ...findGrantIssues(options.grant ?? { kind: 'user' }, options.registration ?? {}),
  ];
  if (options.revision !== undefined && findProfile(options.revision) === undefined) {
    issues.push(`revision must be one of ${profiles.map(({ revision }) => revision).join(', ')}`);
  }
  const document = options.registration?.metadataDocumentUrl;
  const documentIssue = document === undefined ? null : findDocumentUrlIssue(document);
  if (documentIssue !== null) issues.push(`metadataDocumentUrl ${documentIssue}`);
  return issues;
}
