/** Options of an authorization server: as a caller passes them, and as the server uses them after validation. */
import type { Profile, RedirectPolicy } from '@portcullis/protocol';
import type { AssertionAudience } from './assertions/assertion-audiences.ts';
import type { TrustedIssuer } from './assertions/assertion-issuers.ts';
import type { AuditLevel, EventSink } from './audit/events.ts';
import type { ConfiguredClient } from './clients/client.ts';
import type { DocumentOptions, DocumentPolicy } from './clients/metadata-document/document-options.ts';
import type { Outbound, OutboundSettings } from './clients/metadata-document/outbound-settings.ts';
import type { RegistrationOptions, RegistrationRules } from './clients/registration-options.ts';
import type { UserBackends } from './connected-accounts/backend.ts';
import type { ExternalUiOptions, ExternalUiRules } from './external-ui/external-ui-options.ts';
import type { IdentityProvider } from './federation/provider/identity-provider.ts';
import type { IdentityProviderOptions } from './federation/provider/options.ts';
import type { PresetReference } from './federation/provider/schema.ts';
import type { KeyOptions, KeyRules } from './keys/key-options.ts';
import type { Lifetimes } from './lifetimes.ts';
import type { RateLimitOptions, RateLimitPolicies } from './rate-limit/policies.ts';
import type { ResourceDefinition } from './resource-options.ts';
import type { AuthorizationStore } from './store/index.ts';
import type { Brand, BrandOptions } from './ui/brand.ts';

/** A part of a protected server that a grant can be bound to: a team, a project, a customer. */
export interface Workspace {
  /** The claim `workspace` of tokens. */
  readonly id: string;
  /** Shown to users. */
  readonly name: string;
}

/**
 * Lists the workspaces that a user can pick for a resource on the consent page; empty for no choice.
 * When it rejects, the user is asked to try again later.
 */
export type FindWorkspaces = (accountId: string, resource: string) => Promise<readonly Workspace[]>;

/** Options of `createAuthorizationServer`. */
export interface AuthorizationServerOptions {
  /** The issuer identifier, used byte for byte. @see RFC 8414 §2 */
  readonly issuer: string;
  /** The server's name on its pages; the issuer's host by default. */
  readonly name?: string;
  /** Where clients, grants, keys and accounts are stored, for example `openStore` of `@portcullis/store`. Its owner closes it. */
  readonly store: AuthorizationStore;
  /** 32 bytes that encrypt private keys and derive refresh tokens. Never in the store. */
  readonly masterKey: Uint8Array;
  /**
   * Former or upcoming master keys: they decrypt what was encrypted under them and derive the successors of earlier refresh
   * tokens, and encrypt nothing.
   */
  readonly previousMasterKeys?: readonly Uint8Array[];
  /** Algorithm and rotation of signing keys. */
  readonly keys?: KeyOptions;
  /**
   * Whether token status lists are published, so that remote guards learn of revocation without introspection; `false` by
   * default. @see draft-ietf-oauth-status-list
   */
  readonly statusLists?: boolean;
  /** At least one; a request without `resource` means the first. @see RFC 8707 */
  readonly resources: readonly ResourceDefinition[];
  /** RFC 7591 metadata with `client_id` and, for confidential clients, `client_secret`. */
  readonly clients?: readonly object[];
  /** Revisions to serve; all by default. */
  readonly profiles?: readonly Profile[];
  /** `false`: no metadata documents, default paths only, as a Profile A server may be. */
  readonly metadata?: boolean;
  /** Open client registration and its rules. @see RFC 7591, RFC 7592 */
  readonly registration?: boolean | RegistrationOptions;
  /** Client ID metadata documents, and on which hosts; `true` by default. */
  readonly metadataDocuments?: boolean | DocumentOptions;
  /** How documents and keys of clients are fetched. */
  readonly outbound?: OutboundSettings;
  /** Logo, colours, texts and links of the pages. */
  readonly brand?: BrandOptions;
  /** An application of the operator that shows sign-in or consent. */
  readonly externalUi?: ExternalUiOptions;
  /** Lists the workspaces that users pick on the consent page. */
  readonly workspaces?: FindWorkspaces;
  /**
   * Whether the consent page also offers, switched off, the scopes of the resource that a client did not request: for hosts that
   * cannot request more scopes later. `false` by default.
   */
  readonly offerOtherScopes?: boolean;
  /** Whether users with a local account can create personal access tokens; `false` by default. */
  readonly personalAccessTokens?: boolean;
  /** Whether device authorization is offered; `false` by default. @see RFC 8628 */
  readonly deviceAuthorization?: boolean;
  /** Whether DPoP proofs must carry a nonce of this server, so that none can be made in advance; `false` by default. @see RFC 9449 §8 */
  readonly requireDpopNonces?: boolean;
  /** External identity providers users can sign in with; their tokens are linked to the resulting grants. */
  readonly identityProviders?: readonly (IdentityProviderOptions | PresetReference)[];
  /** Issuers whose assertions are accepted instead of a sign-in. @see RFC 7523 §2.1 */
  readonly assertionIssuers?: readonly TrustedIssuer[];
  /** Authorization servers at which this one vouches for its users. @see draft-ietf-oauth-identity-assertion-authz-grant */
  readonly assertionAudiences?: readonly AssertionAudience[];
  /** Backends of a gateway at which users connect accounts; none by default. */
  readonly backends?: UserBackends;
  /** `false`: no local accounts, identity providers are the only way to sign in. `true` by default. */
  readonly localAccounts?: boolean;
  /** Lifetimes in seconds; `defaultLifetimes` for those left out. */
  readonly lifetimes?: Partial<Lifetimes>;
  /** Whether a genuine refresh token that is newer than the store is accepted, as after restoring a backup; `true` by default. */
  readonly acceptNewerRefreshTokens?: boolean;
  /**
   * Private-use URI schemes that redirect URIs may have, beside the redirect URIs of well-known hosts. `false`: not even those.
   * @see RFC 8252 §7.1
   */
  readonly privateUseSchemes?: readonly string[] | false;
  /** Rate limits; `false` disables them. */
  readonly rateLimits?: RateLimitOptions | false;
  /** Seconds that audit events are stored, 90 days by default; `false` stores none. */
  readonly auditRetention?: number | false;
  /**
   * `summary`, the default: of ordinary refreshes only the first of each authorization is stored; the grant keeps the last use. Of
   * requests through a gateway only calls and refused ones are. `full`: all are. Every other event is stored with both.
   */
  readonly auditLevel?: AuditLevel;
  /** Receives every audit event, whether or not it is stored. */
  readonly events?: EventSink;
  /** Epoch seconds. */
  readonly clock?: () => number;
}

/** Validated options, with defaults. */
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
  /** `null`: registration is off. */
  readonly registration: RegistrationRules | null;
  /** Which client ID metadata documents are trusted; `null`: none. */
  readonly metadataDocuments: DocumentPolicy | null;
  readonly outbound: Outbound;
  readonly workspaces: FindWorkspaces;
  readonly offerOtherScopes: boolean;
  readonly personalAccessTokens: boolean;
  readonly deviceAuthorization: boolean;
  readonly requireDpopNonces: boolean;
  /** By their identifiers. */
  readonly identityProviders: ReadonlyMap<string, IdentityProvider>;
  readonly assertionIssuers: readonly TrustedIssuer[];
  readonly assertionAudiences: readonly AssertionAudience[];
  /** `null`: there is no gateway. */
  readonly backends: UserBackends | null;
  readonly localAccounts: boolean;
  /** `false` with a store without users: only clients that act for themselves get tokens. */
  readonly servesUsers: boolean;
  readonly brand: Brand;
  /** `null`: this server shows every page itself. */
  readonly externalUi: ExternalUiRules | null;
  readonly lifetimes: Lifetimes;
  readonly acceptNewerRefreshTokens: boolean;
  /** `null`: no rate limits. */
  readonly rateLimits: RateLimitPolicies | null;
  readonly auditRetention: number | false;
  readonly auditLevel: AuditLevel;
  readonly redirects: RedirectPolicy;
}
