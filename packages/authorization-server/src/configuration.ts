/** Configuration of an authorization server: judged once, at birth, every fault reported together, and frozen. */
import {
  profiles as allProfiles,
  canonicalResource,
  isScope,
  issuerFault,
  OAuthError,
  type Profile,
  type RedirectPolicy,
  readScopes,
  type ScopeHierarchy,
  type Scopes,
  TOKEN_EXCHANGE,
} from '@portcullis/protocol';
import { type ConfiguredClient, readConfiguredClient } from './clients/configured.ts';
import { type DocumentOptions, judgeDocuments } from './clients/documents/document-options.ts';
import type { TrustPolicy } from './clients/documents/document-url.ts';
import {
  judgeRegistration,
  type RegistrationOptions,
  type RegistrationRules,
} from './clients/registration-rules.ts';
import { judgeOutbound, type Outbound, type OutboundSettings } from './clients/remote/outbound-settings.ts';
import type { EventSink } from './events.ts';
import { type HeadlessOptions, type HeadlessRules, judgeHeadless } from './headless/headless-options.ts';
import { judgeKeys, type KeyOptions, type KeyRules } from './keys/key-options.ts';
import { judgeLimits, type LimitOptions, type LimitRules } from './limits/limit-options.ts';
import { type Brand, type BrandOptions, judgeBrand } from './pages/brand.ts';
import type { Pages } from './pages/pages.ts';
import { judgeTranslations, type Translations } from './pages/translations.ts';
import type { AuthorizationStore } from './ports/index.ts';
import type { ThirdPartyOptions } from './upstream/options.ts';
import { judgeThirdParties, type ThirdParty } from './upstream/third-party.ts';

/** A protected resource that tokens are issued for. */
export interface ResourceDefinition {
  /** Its canonical URI: the audience of its tokens. */
  readonly resource: string;
  /** What people call it. */
  readonly name: string;
  /** Each scope with the sentence that a person reads on the consent page. */
  readonly scopes: Readonly<Record<string, string>>;
  /** Its name and those sentences in the languages of the pages. */
  readonly translations?: Translations;
  /** What a request gets that names no scope; all scopes when left out. */
  readonly defaultScopes?: Scopes;
  /** Those that a person may not leave out. Any other may be switched off, as long as one remains. None when left out. */
  readonly requiredScopes?: Scopes;
  readonly hierarchy?: ScopeHierarchy;
  /** Identifiers of the confidential clients that may introspect its access tokens: the resource itself, as a client. */
  readonly introspectedBy?: readonly string[];
  /** Identifiers of the confidential clients that get the third party's token for an access token of it: the resource itself. */
  readonly exchangedBy?: readonly string[];
  /**
   * Whether its guard asks this server at each request if a token still stands: in the same process, or by introspection
   * without memory. Then ended access ends at once; otherwise a token works until it expires, and people are told so.
   */
  readonly endsAtOnce?: boolean;
}

/** A part of a protected server that a grant can be bound to: a team, a project, a customer. */
export interface Workspace {
  /** Stands in tokens as the claim `workspace`. */
  readonly id: string;
  /** What people call it. */
  readonly name: string;
}

/**
 * Answers the workspaces of a person on a resource; none: the resource knows no such thing, or this person may not choose.
 * When it rejects, the person is asked to come back later.
 */
export type FindWorkspaces = (accountId: string, resource: string) => Promise<readonly Workspace[]>;

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
  /** A client that registered and never got a token is forgotten after so long. */
  readonly unusedClient: number;
  /** A client that registered is forgotten so long after its last token, unless it still holds a grant. */
  readonly usedClient: number;
}

export const defaultLifetimes: Lifetimes = {
  accessToken: 600,
  code: 60,
  transaction: 600,
  session: 14 * 86_400,
  refreshIdle: 30 * 86_400,
  grant: 365 * 86_400,
  refreshGrace: 30,
  unusedClient: 86_400,
  usedClient: 90 * 86_400,
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
  /**
   * Keys that `sealingKey` has replaced, or that are going to replace it: they open what was sealed under them, and retries of
   * refreshes from before still get their successor. Nothing is sealed under them.
   */
  readonly previousSealingKeys?: readonly Uint8Array[];
  /** What keys sign access tokens, and how long each. */
  readonly keys?: KeyOptions;
  /** At least one. A request without `resource` means the first. */
  readonly resources: readonly ResourceDefinition[];
  /** RFC 7591 metadata with `client_id` and, for confidential clients, `client_secret`. */
  readonly clients?: readonly unknown[];
  /** The revisions served; all when left out. */
  readonly profiles?: readonly Profile[];
  /** `false`: no metadata documents, default paths only, as a Profile A server may be. */
  readonly metadata?: boolean;
  /** Whether anybody may register a client, and by what rules. */
  readonly registration?: boolean | RegistrationOptions;
  /** Whether clients may be named by the address of a document that describes them, and on which hosts. `true` when left out. */
  readonly metadataDocuments?: boolean | DocumentOptions;
  /** How this server asks hosts that clients name: for their documents and keys. */
  readonly outbound?: OutboundSettings;
  /** What the pages look like and say. */
  readonly brand?: BrandOptions;
  /** Pages in the place of ours. */
  readonly pages?: Pages;
  /** An application of the operator that shows sign-in or consent itself. */
  readonly headless?: HeadlessOptions;
  /** Where people choose a workspace as they consent. */
  readonly workspaces?: FindWorkspaces;
  /** Whose accounts people may sign in with as well, and whose tokens their grants then rest on. */
  readonly thirdParties?: readonly ThirdPartyOptions[];
  /** `false`: nobody has an account of this server's own, and third parties are the only way in. `true` when left out. */
  readonly localAccounts?: boolean;
  readonly lifetimes?: Partial<Lifetimes>;
  readonly privateUseSchemes?: readonly string[];
  /** How often what may be done; `false`: as often as anybody likes. */
  readonly limits?: LimitOptions | false;
  /** Seconds for which events are kept in the store; `false`: they are not. 90 days when left out. */
  readonly keepEvents?: number | false;
  readonly events?: EventSink;
  /** Epoch seconds. */
  readonly clock?: () => number;
}

/** Options as judged: nothing in it is optional or wrong. */
export interface Configuration {
  readonly issuer: string;
  readonly name: string;
  readonly store: AuthorizationStore;
  readonly sealingKey: Uint8Array;
  readonly previousSealingKeys: readonly Uint8Array[];
  readonly keys: KeyRules;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
  readonly clients: ReadonlyMap<string, ConfiguredClient>;
  readonly profiles: readonly Profile[];
  readonly metadata: boolean;
  /** `null`: nobody may register. */
  readonly registration: RegistrationRules | null;
  /** Whose metadata documents are read; `null`: nobody's. */
  readonly metadataDocuments: TrustPolicy | null;
  readonly outbound: Outbound;
  readonly workspaces: FindWorkspaces;
  /** By their identifiers. */
  readonly thirdParties: ReadonlyMap<string, ThirdParty>;
  readonly localAccounts: boolean;
  readonly brand: Brand;
  readonly pages: Pages;
  /** `null`: this server shows every page itself. */
  readonly headless: HeadlessRules | null;
  readonly lifetimes: Lifetimes;
  /** `null`: nothing is limited. */
  readonly limits: LimitRules | null;
  readonly keepEvents: number | false;
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
  const { lifetimes, keys, previousSealingKeys } = judgeSealingAndKeys(options, faults);
  const redirects = { privateUseSchemes: options.privateUseSchemes ?? [] };
  const resources = judgeResources(options.resources, faults);
  const clients = judgeClients(options.clients ?? [], redirects, resources, faults);
  judgeNamedClients(options.resources, clients, faults);
  const registration = judgeRegistration(options.registration ?? true, faults);
  const outbound = judgeOutbound(options.outbound ?? {}, faults);
  const metadataDocuments = judgeDocuments(options.metadataDocuments ?? true, outbound.loopback, faults);
  const limits = judgeLimits(options.limits ?? {}, faults);
  const keepEvents = options.keepEvents ?? 90 * 86_400;
  if (keepEvents !== false && (!Number.isSafeInteger(keepEvents) || keepEvents < 1)) {
    faults.push('keepEvents must be whole seconds, at least 1, or false');
  }
  const brand = judgeBrand(options.brand ?? {}, faults);
  const headless = judgeHeadless(options.headless, faults);
  const thirdParties = judgeThirdParties(options, faults);
  if (headless !== null && headless.loginUrl !== null && thirdParties.size > 0) {
    faults.push('headless.loginUrl and thirdParties: choose one, people sign in by one way or the other');
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
  return Object.freeze<Configuration>({
    issuer: options.issuer,
    name: options.name ?? new URL(options.issuer).host,
    store: options.store,
    sealingKey: options.sealingKey,
    previousSealingKeys,
    keys,
    resources,
    clients,
    profiles: options.profiles ?? allProfiles,
    metadata: options.metadata ?? true,
    registration,
    metadataDocuments,
    outbound,
    workspaces: options.workspaces ?? (async () => []),
    thirdParties,
    localAccounts: options.localAccounts ?? true,
    brand,
    pages: options.pages ?? {},
    headless,
    lifetimes,
    limits,
    keepEvents,
    redirects,
    events: options.events ?? (() => {}),
    clock: options.clock ?? (() => Math.floor(Date.now() / 1000)),
  });
}

/** All that is wrong with options, before there is a store or a key: none when they are good. */
export function faultsOfOptions(
  options: Omit<AuthorizationServerOptions, 'store' | 'sealingKey'>,
): readonly string[] {
  try {
    defineConfiguration({ ...options, store: NO_STORE, sealingKey: new Uint8Array(32) });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.faults;
  }
}

/** Judging asks nothing of it. */
const NO_STORE = {} as AuthorizationStore;

/** What concerns keys. */
type KeySettings = Pick<
  AuthorizationServerOptions,
  'sealingKey' | 'previousSealingKeys' | 'keys' | 'lifetimes'
>;

/**
 * Judges what concerns keys alone.
 * @throws ConfigurationError with every fault
 */
export function judgeKeySettings(options: KeySettings): {
  readonly rules: KeyRules;
  readonly previousSealingKeys: readonly Uint8Array[];
} {
  const faults: string[] = [];
  const { keys, previousSealingKeys } = judgeSealingAndKeys(options, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  return { rules: keys, previousSealingKeys };
}

function judgeSealingAndKeys(
  { sealingKey, previousSealingKeys = [], ...options }: KeySettings,
  faults: string[],
): Pick<Configuration, 'lifetimes' | 'keys' | 'previousSealingKeys'> {
  if (sealingKey.length !== 32) faults.push('sealingKey must be 32 bytes long');
  if (previousSealingKeys.some(({ length }) => length !== 32)) {
    faults.push('previousSealingKeys must each be 32 bytes long');
  }
  const lifetimes = judgeLifetimes(options.lifetimes ?? {}, faults);
  return { lifetimes, keys: judgeKeys(options.keys ?? {}, lifetimes, faults), previousSealingKeys };
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
      faults.push(`${at}.resource must be a canonical URI, ${canonicalAdvice(definition.resource)}`);
    }
    if (resources.has(definition.resource)) faults.push(`${at}.resource stands there twice`);
    const scopes = Object.keys(definition.scopes);
    for (const scope of scopes.filter((name) => !isScope(name))) {
      faults.push(`${at}.scopes: ${JSON.stringify(scope)} is no scope`);
    }
    for (const scope of definition.defaultScopes ?? []) {
      if (!scopes.includes(scope)) faults.push(`${at}.defaultScopes: ${scope} is not one of its scopes`);
    }
    for (const scope of definition.requiredScopes ?? []) {
      if (!scopes.includes(scope)) faults.push(`${at}.requiredScopes: ${scope} is not one of its scopes`);
    }
    for (const scope of Object.entries(definition.hierarchy ?? {}).flat(2)) {
      if (!scopes.includes(scope)) faults.push(`${at}.hierarchy: ${scope} is not one of its scopes`);
    }
    judgeTranslations(definition, at, faults);
    resources.set(definition.resource, definition);
  }
  return resources;
}

function canonicalAdvice(uri: string): string {
  const canonical = canonicalResource(uri);
  return canonical === null ? `not ${JSON.stringify(uri)}` : `written as ${JSON.stringify(canonical)}`;
}

/** Who introspects or exchanges MUST be authorized to: a configured client that proves itself. @see RFC 7662 §2.1, RFC 8693 §5 */
function judgeNamedClients(
  definitions: readonly ResourceDefinition[],
  clients: ReadonlyMap<string, ConfiguredClient>,
  faults: string[],
): void {
  for (const [index, { introspectedBy = [], exchangedBy = [] }] of definitions.entries()) {
    for (const [member, ids] of Object.entries({ introspectedBy, exchangedBy })) {
      for (const id of ids) {
        if ((clients.get(id)?.metadata.token_endpoint_auth_method ?? 'none') !== 'none') continue;
        faults.push(
          `resources.${index}.${member}: ${JSON.stringify(id)} is no configured client with a secret or a key`,
        );
      }
    }
    for (const id of exchangedBy) {
      if (clients.get(id)?.metadata.grant_types.includes(TOKEN_EXCHANGE) !== false) continue;
      faults.push(
        `resources.${index}.exchangedBy: ${JSON.stringify(id)} needs the grant type ${TOKEN_EXCHANGE}`,
      );
    }
  }
}

function judgeClients(
  documents: readonly unknown[],
  redirects: RedirectPolicy,
  resources: ReadonlyMap<string, ResourceDefinition>,
  faults: string[],
): ReadonlyMap<string, ConfiguredClient> {
  const known = new Set([...resources.values()].flatMap(({ scopes }) => Object.keys(scopes)));
  const clients = new Map<string, ConfiguredClient>();
  for (const [index, document] of documents.entries()) {
    try {
      const client = readConfiguredClient(document, redirects);
      if (clients.has(client.id)) faults.push(`clients.${index}: ${client.id} stands there twice`);
      for (const scope of readScopes(client.metadata.scope ?? '')) {
        if (!known.has(scope))
          faults.push(`clients.${index}: scope: no resource has ${JSON.stringify(scope)}`);
      }
      clients.set(client.id, client);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      faults.push(`clients.${index}: ${error.description}`);
    }
  }
  return clients;
}
