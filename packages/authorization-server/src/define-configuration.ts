/** Judging the options of an authorization server: once, at birth, every fault reported together. */
import {
  profiles as allProfiles,
  ConfigurationError,
  canonicalResource,
  isScope,
  issuerError,
  OAuthError,
  type RedirectPolicy,
  readScopes,
  TOKEN_EXCHANGE,
} from '@portcullis/protocol';
import type { ConfiguredClient } from './clients/configured-client.ts';
import { readConfiguredClient } from './clients/configured-clients.ts';
import { judgeDocuments } from './clients/metadata-document/document-options.ts';
import { judgeOutbound } from './clients/metadata-document/outbound-settings.ts';
import { judgeRegistration } from './clients/registration-options.ts';
import { validateExternalUi } from './external-ui/external-ui-options.ts';
import { validateIdentityProviders } from './federation/identity-provider.ts';
import { validateKeySettings } from './keys/key-settings.ts';
import { issuesOfNames } from './option-names.ts';
import type { AuthorizationServerOptions, ResourceDefinition, ServerOptions } from './options.ts';
import { validateRateLimits } from './rate-limit/policies.ts';
import type { AuthorizationStore } from './store/index.ts';
import { validateBrand } from './ui/brand.ts';
import { validateTranslations } from './ui/translations.ts';

/**
 * Judges options.
 * @throws ConfigurationError with every fault.
 */
export function validateOptions(options: AuthorizationServerOptions): ServerOptions {
  const issues: string[] = [...issuesOfNames(options)];
  const issuer = issuerError(options.issuer);
  if (issuer !== null) issues.push(`issuer ${issuer}`);
  const { lifetimes, keys, previousMasterKeys } = validateKeySettings(options, issues);
  if (options.statusLists === true && lifetimes.accessToken > LONGEST_PUBLISHED) {
    issues.push(
      `statusLists is for access tokens of at most ${LONGEST_PUBLISHED} seconds: lifetimes.accessToken`,
    );
  }
  const redirects = { privateUseSchemes: options.privateUseSchemes ?? [] };
  const resources = judgeResources(options.resources, issues);
  const clients = judgeClients(options.clients ?? [], redirects, resources, issues);
  judgeNamedClients(options.resources, clients, issues);
  const registration = judgeRegistration(options.registration ?? true, issues);
  const outbound = judgeOutbound(options.outbound ?? {}, issues);
  const metadataDocuments = judgeDocuments(options.metadataDocuments ?? true, outbound.loopback, issues);
  const limits = validateRateLimits(options.rateLimits ?? {}, issues);
  const auditRetention = options.auditRetention ?? 90 * 86_400;
  if (auditRetention !== false && (!Number.isSafeInteger(auditRetention) || auditRetention < 1)) {
    issues.push('auditRetention must be whole seconds, at least 1, or false');
  }
  const brand = validateBrand(options.brand ?? {}, issues);
  const externalUi = validateExternalUi(options.externalUi, issues);
  const identityProviders = validateIdentityProviders(options, issues);
  if (externalUi !== null && externalUi.loginUrl !== null && identityProviders.size > 0) {
    issues.push(
      'externalUi.loginUrl and identityProviders: choose one, people sign in by one way or the other',
    );
  }
  if (issues.length > 0) throw new ConfigurationError(issues);
  return Object.freeze<ServerOptions>({
    issuer: options.issuer,
    name: options.name ?? new URL(options.issuer).host,
    masterKey: options.masterKey,
    previousMasterKeys,
    keys,
    statusLists: options.statusLists ?? false,
    resources,
    clients,
    profiles: options.profiles ?? allProfiles,
    metadata: options.metadata ?? true,
    registration,
    metadataDocuments,
    outbound,
    workspaces: options.workspaces ?? (async () => []),
    identityProviders,
    localAccounts: options.localAccounts ?? true,
    brand,
    externalUi,
    lifetimes,
    rateLimits: limits,
    auditRetention,
    redirects,
  });
}

/** Seconds. What has ended is kept for a day: for no longer can its status be told. */
const LONGEST_PUBLISHED = 43_200;

/** All that is wrong with options, before there is a store or a key: none when they are good. */
export function issuesOfOptions(
  options: Omit<AuthorizationServerOptions, 'store' | 'masterKey'>,
): readonly string[] {
  try {
    validateOptions({ ...options, store: NO_STORE, masterKey: new Uint8Array(32) });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.issues;
  }
}

/** Judging asks nothing of it. */
const NO_STORE = {} as AuthorizationStore;

function judgeResources(
  definitions: readonly ResourceDefinition[],
  issues: string[],
): ReadonlyMap<string, ResourceDefinition> {
  if (definitions.length === 0) issues.push('resources must name at least one protected resource');
  const resources = new Map<string, ResourceDefinition>();
  for (const [index, definition] of definitions.entries()) {
    const at = `resources.${index}`;
    if (canonicalResource(definition.resource) !== definition.resource) {
      issues.push(`${at}.resource must be a canonical URI, ${canonicalAdvice(definition.resource)}`);
    }
    if (resources.has(definition.resource)) issues.push(`${at}.resource stands there twice`);
    const scopes = Object.keys(definition.scopes);
    for (const scope of scopes.filter((name) => !isScope(name))) {
      issues.push(`${at}.scopes: ${JSON.stringify(scope)} is no scope`);
    }
    for (const scope of definition.defaultScopes ?? []) {
      if (!scopes.includes(scope))
        issues.push(`${at}.defaultScopes: ${scope} is not one of its scopes: ${scopes.join(', ')}`);
    }
    for (const scope of definition.requiredScopes ?? []) {
      if (!scopes.includes(scope))
        issues.push(`${at}.requiredScopes: ${scope} is not one of its scopes: ${scopes.join(', ')}`);
    }
    for (const scope of Object.entries(definition.hierarchy ?? {}).flat(2)) {
      if (!scopes.includes(scope))
        issues.push(`${at}.hierarchy: ${scope} is not one of its scopes: ${scopes.join(', ')}`);
    }
    const { revocationDelay = 0 } = definition;
    if (!Number.isSafeInteger(revocationDelay) || revocationDelay < 0) {
      issues.push(`${at}.revocationDelay must be whole seconds, 0 or more`);
    }
    if (definition.accessTokens === 'opaque' && (definition.introspectionClients ?? []).length === 0) {
      issues.push(`${at}.accessTokens: nobody can read opaque ones but who is named in introspectionClients`);
    }
    validateTranslations(definition, at, issues);
    resources.set(definition.resource, definition);
  }
  return resources;
}

function canonicalAdvice(uri: string): string {
  const canonical = canonicalResource(uri);
  return canonical === null
    ? `such as "https://mcp.example.com/mcp", not ${JSON.stringify(uri)}`
    : `written as ${JSON.stringify(canonical)}`;
}

/** Who introspects or exchanges MUST be authorized to: a configured client that proves itself. @see RFC 7662 §2.1, RFC 8693 §5 */
function judgeNamedClients(
  definitions: readonly ResourceDefinition[],
  clients: ReadonlyMap<string, ConfiguredClient>,
  issues: string[],
): void {
  for (const [index, { introspectionClients = [], tokenExchangeClients = [] }] of definitions.entries()) {
    for (const [member, ids] of Object.entries({ introspectionClients, tokenExchangeClients })) {
      for (const id of ids) {
        if ((clients.get(id)?.metadata.token_endpoint_auth_method ?? 'none') !== 'none') continue;
        issues.push(
          `resources.${index}.${member}: ${JSON.stringify(id)} is no configured client with a secret or a key`,
        );
      }
    }
    for (const id of tokenExchangeClients) {
      if (clients.get(id)?.metadata.grant_types.includes(TOKEN_EXCHANGE) !== false) continue;
      issues.push(
        `resources.${index}.tokenExchangeClients: ${JSON.stringify(id)} needs the grant type ${TOKEN_EXCHANGE}`,
      );
    }
  }
}

function judgeClients(
  documents: readonly unknown[],
  redirects: RedirectPolicy,
  resources: ReadonlyMap<string, ResourceDefinition>,
  issues: string[],
): ReadonlyMap<string, ConfiguredClient> {
  const known = new Set([...resources.values()].flatMap(({ scopes }) => Object.keys(scopes)));
  const clients = new Map<string, ConfiguredClient>();
  for (const [index, document] of documents.entries()) {
    const at = `clients.${index}`;
    const client = readFaultyClient(document, redirects, (issue) => issues.push(`${at}: ${issue}`));
    if (client === null) continue;
    if (clients.has(client.id)) issues.push(`${at}: client_id: ${client.id} stands there twice`);
    for (const scope of readScopes(client.metadata.scope ?? '')) {
      if (!known.has(scope)) issues.push(`${at}: scope: no resource has ${JSON.stringify(scope)}`);
    }
    clients.set(client.id, client);
  }
  return clients;
}

/** A client without the members that are at fault, so that all of them are told; `null`: nothing can be made of the rest. */
function readFaultyClient(
  document: unknown,
  redirects: RedirectPolicy,
  issue: (text: string) => void,
): ConfiguredClient | null {
  let rest = document;
  for (;;) {
    try {
      return readConfiguredClient(rest, redirects);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const remaining = without(rest, error.description);
      // Of members that are not there it is told the first time only: later it may follow from what was left out.
      if (rest === document || remaining !== null) issue(error.description);
      if (remaining === null) return null;
      rest = remaining;
    }
  }
}

/** The document without the members that a description begins its sentences with; `null` when it has none of them. */
function without(document: unknown, description: string): object | null {
  const named = description.split('; ').map((sentence) => /^[a-z_]+/.exec(sentence)?.[0] ?? '');
  // What types of responses there are follows from the types of grants.
  const at = named.includes('grant_types') ? [...named, 'response_types'] : named;
  const members = Object.entries(Object(document));
  const kept = members.filter(([name]) => !at.includes(name));
  return kept.length === members.length ? null : Object.fromEntries(kept);
}
