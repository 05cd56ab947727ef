/** Configuration of an authorization server: judged once, at birth, every fault reported together, and frozen. */
import {
  profiles as allProfiles,
  type ClientMetadata,
  canonicalResource,
  isScope,
  issuerFault,
  OAuthError,
  type Profile,
  type RedirectPolicy,
  readClientMetadata,
  type ScopeHierarchy,
  type Scopes,
} from '@portcullis/protocol';
import { clientAuthenticationMethods } from './clients/presented.ts';
import type { EventSink } from './events.ts';
import type { AuthorizationStore } from './ports/index.ts';
import { hashSecret } from './secrets.ts';
import { grantTypes } from './token/grants.ts';

/** A protected resource that tokens are issued for. */
export interface ResourceDefinition {
  /** Its canonical URI: the audience of its tokens. */
  readonly resource: string;
  /** What people call it. */
  readonly name: string;
  /** Each scope with the sentence that a person reads on the consent page. */
  readonly scopes: Readonly<Record<string, string>>;
  /** What a request gets that names no scope; all scopes when left out. */
  readonly defaultScopes?: Scopes;
  readonly hierarchy?: ScopeHierarchy;
  /** Identifiers of the confidential clients that may introspect its access tokens: the resource itself, as a client. */
  readonly introspectedBy?: readonly string[];
}

/** Seconds. */
export interface Lifetimes {
  readonly accessToken: number;
  readonly code: number;
  readonly transaction: number;
  readonly session: number;
  /** A refresh token that is not used for so long dies. */
  readonly refreshIdle: number;
  /** A grant ends after so long, however often it was refreshed. */
  readonly grant: number;
  /** For so long after its rotation a refresh token still answers with the same successor. */
  readonly refreshGrace: number;
}

export const defaultLifetimes: Lifetimes = {
  accessToken: 600,
  code: 60,
  transaction: 600,
  session: 14 * 86_400,
  refreshIdle: 30 * 86_400,
  grant: 365 * 86_400,
  refreshGrace: 30,
};

/** What an operator says. */
export interface AuthorizationServerOptions {
  /** The issuer identifier, kept byte for byte. */
  readonly issuer: string;
  /** What people call this server; the host of the issuer when left out. */
  readonly name?: string;
  readonly store: AuthorizationStore;
  /** 32 bytes that seal private keys and from which refresh tokens are derived. They stand nowhere in the store. */
  readonly sealingKey: Uint8Array;
  /** At least one. A request without `resource` means the first. */
  readonly resources: readonly ResourceDefinition[];
  /** RFC 7591 metadata with `client_id` and, for confidential clients, `client_secret`. */
  readonly clients?: readonly unknown[];
  /** The revisions served; all when left out. */
  readonly profiles?: readonly Profile[];
  /** `false`: no metadata documents, default paths only, as a Profile A server may be. */
  readonly metadata?: boolean;
  /** Whether anybody may register a client. */
  readonly registration?: boolean;
  readonly lifetimes?: Partial<Lifetimes>;
  readonly privateUseSchemes?: readonly string[];
  readonly events?: EventSink;
  /** Epoch seconds. */
  readonly clock?: () => number;
}

/** A client from the configuration. */
interface ConfiguredClient {
  readonly id: string;
  readonly metadata: ClientMetadata;
  readonly secretHash: string | null;
}

/** Options as judged: nothing in it is optional or wrong. */
export interface Configuration {
  readonly issuer: string;
  readonly name: string;
  readonly store: AuthorizationStore;
  readonly sealingKey: Uint8Array;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
  readonly clients: ReadonlyMap<string, ConfiguredClient>;
  readonly profiles: readonly Profile[];
  readonly metadata: boolean;
  readonly registration: boolean;
  readonly lifetimes: Lifetimes;
  readonly redirects: RedirectPolicy;
  readonly events: EventSink;
  readonly clock: () => number;
}

/** All that is wrong with a configuration. */
export class ConfigurationError extends Error {
  override readonly name: string = 'ConfigurationError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}: ${faults.join('; ')}`,
    );
    this.faults = faults;
  }
}

/**
 * Judges options.
 * @throws ConfigurationError with every fault.
 */
export function defineConfiguration(options: AuthorizationServerOptions): Configuration {
  const faults: string[] = [];
  const issuer = issuerFault(options.issuer);
  if (issuer !== null) faults.push(`issuer ${issuer}`);
  if (options.sealingKey.length !== 32) faults.push('sealingKey must be 32 bytes long');
  const lifetimes = judgeLifetimes(options.lifetimes ?? {}, faults);
  const redirects = { privateUseSchemes: options.privateUseSchemes ?? [] };
  const resources = judgeResources(options.resources, faults);
  const clients = judgeClients(options.clients ?? [], redirects, faults);
  judgeIntrospection(options.resources, clients, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  return Object.freeze<Configuration>({
    issuer: options.issuer,
    name: options.name ?? new URL(options.issuer).host,
    store: options.store,
    sealingKey: options.sealingKey,
    resources,
    clients,
    profiles: options.profiles ?? allProfiles,
    metadata: options.metadata ?? true,
    registration: options.registration ?? true,
    lifetimes,
    redirects,
    events: options.events ?? (() => {}),
    clock: options.clock ?? (() => Math.floor(Date.now() / 1000)),
  });
}

function judgeLifetimes(chosen: Partial<Lifetimes>, faults: string[]): Lifetimes {
  const lifetimes = { ...defaultLifetimes, ...chosen };
  for (const [name, seconds] of Object.entries(lifetimes)) {
    const least = name === 'refreshGrace' ? 0 : 1;
    if (!Number.isSafeInteger(seconds) || seconds < least) {
      faults.push(`lifetimes.${name} must be whole seconds, at least ${least}`);
    }
  }
  return Object.freeze(lifetimes);
}

function judgeResources(
  definitions: readonly ResourceDefinition[],
  faults: string[],
): ReadonlyMap<string, ResourceDefinition> {
  if (definitions.length === 0) faults.push('resources must name at least one protected resource');
  const resources = new Map<string, ResourceDefinition>();
  for (const [index, definition] of definitions.entries()) {
    const at = `resources.${index}`;
    if (canonicalResource(definition.resource) !== definition.resource) {
      faults.push(`${at}.resource must be a canonical URI, not ${JSON.stringify(definition.resource)}`);
    }
    if (resources.has(definition.resource)) faults.push(`${at}.resource stands there twice`);
    const scopes = Object.keys(definition.scopes);
    for (const scope of scopes.filter((name) => !isScope(name))) {
      faults.push(`${at}.scopes: ${JSON.stringify(scope)} is no scope`);
    }
    for (const scope of definition.defaultScopes ?? []) {
      if (!scopes.includes(scope)) faults.push(`${at}.defaultScopes: ${scope} is not one of its scopes`);
    }
    for (const scope of Object.entries(definition.hierarchy ?? {}).flat(2)) {
      if (!scopes.includes(scope)) faults.push(`${at}.hierarchy: ${scope} is not one of its scopes`);
    }
    resources.set(definition.resource, definition);
  }
  return resources;
}

/** Who introspects MUST be authorized to: a configured client with a secret. @see RFC 7662 §2.1 */
function judgeIntrospection(
  definitions: readonly ResourceDefinition[],
  clients: ReadonlyMap<string, ConfiguredClient>,
  faults: string[],
): void {
  for (const [index, { introspectedBy = [] }] of definitions.entries()) {
    for (const id of introspectedBy) {
      if ((clients.get(id)?.secretHash ?? null) === null) {
        faults.push(
          `resources.${index}.introspectedBy: ${JSON.stringify(id)} is no configured client with a secret`,
        );
      }
    }
  }
}

function judgeClients(
  documents: readonly unknown[],
  redirects: RedirectPolicy,
  faults: string[],
): ReadonlyMap<string, ConfiguredClient> {
  const clients = new Map<string, ConfiguredClient>();
  for (const [index, document] of documents.entries()) {
    try {
      const client = readConfiguredClient(document, redirects);
      if (clients.has(client.id)) faults.push(`clients.${index}: ${client.id} stands there twice`);
      clients.set(client.id, client);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      faults.push(`clients.${index}: ${error.description}`);
    }
  }
  return clients;
}

/** @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri` */
function readConfiguredClient(document: unknown, redirects: RedirectPolicy): ConfiguredClient {
  const { client_id: id, client_secret: secret } = (document ?? {}) as Record<string, unknown>;
  const hasSecret = typeof secret === 'string' && secret !== '';
  const metadata = readClientMetadata(hasSecret ? document : { ...AS_PUBLIC, ...(document as object) }, {
    grantTypes,
    authenticationMethods: Object.keys(clientAuthenticationMethods),
    redirects,
  });
  if (hasSecret !== (metadata.token_endpoint_auth_method !== 'none')) {
    throw new OAuthError(
      'invalid_client_metadata',
      'client_secret goes with client_secret_basic or client_secret_post, and only with them',
    );
  }
  return { id: checkClientId(id), metadata, secretHash: hasSecret ? hashSecret(secret) : null };
}

/** Who configures a client without a secret and names no method means a public client. */
const AS_PUBLIC = { token_endpoint_auth_method: 'none' };

/**
 * client-id = *VSCHAR. The subject of a token is a person or a client, and which of the two has to be certain.
 * @see RFC 6749 appendix A.1, RFC 9068 §5
 */
function checkClientId(id: unknown): string {
  if (typeof id !== 'string' || !/^[\x20-\x7e]{1,2048}$/.test(id)) {
    throw new OAuthError('invalid_client_metadata', 'client_id must be printable ASCII');
  }
  if (id.startsWith('user_')) {
    throw new OAuthError('invalid_client_metadata', 'client_id must not start with user_, as accounts do');
  }
  return id;
}
