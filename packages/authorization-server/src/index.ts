/** OAuth 2.1 authorization server for MCP servers: `createAuthorizationServer`. */

export { ConfigurationError } from '@portcullis/protocol';
export { type AuditLog, createAuditLog } from './audit/audit-log.ts';
export type { AuthorizationEvent, ComponentEvent, ComponentEvents, EventSink } from './audit/events.ts';
export type { FindWorkspaces, Workspace } from './authorization/options.ts';
export {
  type ClientAdministration,
  type ClientAdministrationContext,
  createClientAdministration,
  type ListedClient,
  type RotatedSecret,
} from './clients/administer.ts';
export {
  createInitialAccessTokenAdministration,
  type InitialAccessTokenAdministration,
  type ListedInitialAccessToken,
  type NewInitialAccessToken,
} from './clients/initial-access-tokens.ts';
export type { DocumentOptions } from './clients/metadata-document/options.ts';
export type { OutboundSettings } from './clients/metadata-document/outbound-settings.ts';
export type { RegistrationOptions } from './clients/registration-options.ts';
export type { ConnectedAccountTokens } from './connected-accounts/account-tokens.ts';
export type {
  BackendConnectionRequest,
  BackendRedirect,
  BackendRegistrations,
  BackendTokenResponse,
  BackendTokenSet,
  UserBackend,
  UserBackends,
} from './connected-accounts/backend.ts';
export type { ConnectedAccounts } from './connected-accounts/connected-accounts.ts';
export { defaultLifetimes, type Lifetimes } from './core-options.ts';
export { IdentityProviderError, toIdentityProviderError } from './federation/provider/error.ts';
export { redirectUriOf } from './federation/provider/identity-provider.ts';
export type {
  AllowedUsers,
  ClientKeyAlgorithm,
  ClientKeyOptions,
  IdentityProviderOptions,
  OpenIdProvider,
  PlainProvider,
  PresetOptions,
  PresetReference,
  StatusMethod,
  UserinfoClaims,
} from './federation/provider/options.ts';
export {
  auth0,
  github,
  gitlab,
  google,
  keycloak,
  microsoftEntra,
  okta,
  slack,
} from './federation/provider/presets.ts';
export type {
  ProviderToken,
  ProviderTokenRequest,
} from './federation/provider-tokens.ts';
export {
  createKeyAdministration,
  type KeyAdministration,
  type ListedKey,
} from './keys/key-administration.ts';
export type { KeyOptions } from './keys/options.ts';
export type { PublicJwk, SigningAlgorithm } from './keys/signing-algorithms.ts';
export type { AuthorizationServerOptions } from './options.ts';
export { defaultRateLimits, type RateLimitOptions } from './rate-limit/policies.ts';
export type { ResourceDefinition } from './resources/options.ts';
export { type AuthorizationServer, createAuthorizationServer } from './server.ts';
export type { OptionsForStore } from './store-options.ts';
export type { BrandOptions } from './ui/brand.ts';
export type { Translation, Translations } from './ui/translations.ts';
export {
  type AccountAdministration,
  type AccountAdministrationContext,
  type AccountLink,
  createAccountAdministration,
  type ListedAccount,
} from './users/administer-accounts.ts';
export {
  type ConnectionAdministration,
  createConnectionAdministration,
  type ListedConnection,
  type ListedProviderTokens,
} from './users/administer-connections.ts';
export { findFirstAccountIssues } from './users/first-account.ts';
