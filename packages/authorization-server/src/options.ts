/** Configuration of an authorization server: what an operator may say, and what it is once it was judged. */
import type { Profile, RedirectPolicy } from '@portcullis/protocol';
import type { EventSink } from './audit/events.ts';
import type { ConfiguredClient } from './clients/client.ts';
import type { DocumentOptions } from './clients/metadata-document/document-options.ts';
import type { DocumentTrustPolicy } from './clients/metadata-document/document-url.ts';
import type { Outbound, OutboundSettings } from './clients/metadata-document/outbound-settings.ts';
import type { RegistrationOptions, RegistrationRules } from './clients/registration-options.ts';
import type { ExternalUiOptions, ExternalUiRules } from './external-ui/external-ui-options.ts';
import type { IdentityProvider } from './federation/identity-provider.ts';
import type { IdentityProviderOptions } from './federation/provider-options.ts';
import type { PresetReference } from './federation/provider-schema.ts';
import type { KeyOptions, KeyRules } from './keys/key-options.ts';
import type { Lifetimes } from './lifetimes.ts';
import type { RateLimitOptions, RateLimitPolicies } from './rate-limit/policies.ts';
import type { ResourceDefinition } from './resource-options.ts';
import type { AuthorizationStore } from './store/index.ts';
import type { Brand, BrandOptions } from './ui/brand.ts';

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

/** What an operator says. */
export interface AuthorizationServerOptions {
  /** The issuer identifier, kept byte for byte. */
  readonly issuer: string;
  /** What people call this server; the host of the issuer when left out. */
  readonly name?: string;
  readonly store: AuthorizationStore;
  /** 32 bytes that seal private keys and from which refresh tokens are derived. They stand nowhere in the store. */
  readonly masterKey: Uint8Array;
  /**
   * Keys that `masterKey` has replaced, or that are going to replace it: they open what was sealed under them, and retries of
   * refreshes from before still get their successor. Nothing is sealed under them.
   */
  readonly previousMasterKeys?: readonly Uint8Array[];
  /** What keys sign access tokens, and how long each. */
  readonly keys?: KeyOptions;
  /**
   * Whether the status of access tokens is published, so that guards elsewhere notice revocation without asking for each token.
   * `false` when left out. @see draft-ietf-oauth-status-list
   */
  readonly statusLists?: boolean;
  /** At least one. A request without `resource` means the first. */
  readonly resources: readonly ResourceDefinition[];
  /** RFC 7591 metadata with `client_id` and, for confidential clients, `client_secret`. */
  readonly clients?: readonly object[];
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
  /** An application of the operator that shows sign-in or consent itself. */
  readonly externalUi?: ExternalUiOptions;
  /** Where people choose a workspace as they consent. */
  readonly workspaces?: FindWorkspaces;
  /** Whose accounts people may sign in with as well, and whose tokens their grants then rest on. */
  readonly identityProviders?: readonly (IdentityProviderOptions | PresetReference)[];
  /** `false`: nobody has an account of this server's own, and third parties are the only way in. `true` when left out. */
  readonly localAccounts?: boolean;
  readonly lifetimes?: Partial<Lifetimes>;
  readonly privateUseSchemes?: readonly string[];
  /** How often what may be done; `false`: as often as anybody likes. */
  readonly rateLimits?: RateLimitOptions | false;
  /** Seconds for which events are kept in the store; `false`: they are not. 90 days when left out. */
  readonly auditRetention?: number | false;
  readonly events?: EventSink;
  /** Epoch seconds. */
  readonly clock?: () => number;
}

/** Options as judged: nothing in it is optional or wrong. */
export interface ServerOptions {
  readonly issuer: string;
  readonly name: string;
  readonly masterKey: Uint8Array;
  readonly previousMasterKeys: readonly Uint8Array[];
  readonly keys: KeyRules;
  readonly statusLists: boolean;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
  readonly clients: ReadonlyMap<string, ConfiguredClient>;
  readonly profiles: readonly Profile[];
  readonly metadata: boolean;
  /** `null`: nobody may register. */
  readonly registration: RegistrationRules | null;
  /** Whose metadata documents are read; `null`: nobody's. */
  readonly metadataDocuments: DocumentTrustPolicy | null;
  readonly outbound: Outbound;
  readonly workspaces: FindWorkspaces;
  /** By their identifiers. */
  readonly identityProviders: ReadonlyMap<string, IdentityProvider>;
  readonly localAccounts: boolean;
  /** `false` with a store without users: only clients that act on their own behalf get tokens. */
  readonly servesUsers: boolean;
  readonly brand: Brand;
  /** `null`: this server shows every page itself. */
  readonly externalUi: ExternalUiRules | null;
  readonly lifetimes: Lifetimes;
  /** `null`: nothing is limited. */
  readonly rateLimits: RateLimitPolicies | null;
  readonly auditRetention: number | false;
  readonly redirects: RedirectPolicy;
}
