/** OAuth 2.1 authorization server for MCP servers: `createAuthorizationServer`. */

export { ConfigurationError } from '@portcullis/protocol';
export {
  type ApprovalAdministration,
  createApprovalAdministration,
  type ListedApproval,
} from './approvals/administer-approvals.ts';
export type { ApprovedUse, CallApprovals } from './approvals/call-approvals.ts';
export { type AuditLog, createAuditLog } from './audit/audit-log.ts';
export type { AuthorizationEvent, ComponentEvent, ComponentEvents, EventSink } from './audit/events.ts';
export type { FindWorkspaces, Workspace } from './authorization/options.ts';
export {
  type ClientAdministration,
  createClientAdministration,
  type ListedClient,
  type RotatedSecret,
} from './clients/administer.ts';
export { PERSONAL_ACCESS_TOKEN_CLIENT } from './clients/client.ts';
export {
  createInitialAccessTokenAdministration,
  type InitialAccessTokenAdministration,
  type ListedInitialAccessToken,
} from './clients/initial-access-tokens.ts';
export type { OutboundSettings } from './clients/metadata-document/outbound-settings.ts';
export type { ConnectedAccountTokens } from './connected-accounts/account-tokens.ts';
export type {
  BackendConnectionRequest,
  BackendRegistrations,
  BackendTokenResponse,
  BackendTokenSet,
  UserBackend,
  UserBackends,
} from './connected-accounts/backend.ts';
export type { ConnectedAccounts } from './connected-accounts/connected-accounts.ts';
export { IdentityProviderError, toIdentityProviderError } from './federation/provider/error.ts';
export { redirectUriOf } from './federation/provider/identity-provider.ts';
export type {
  ClientKeyOptions,
  IdentityProviderOptions,
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
export {
  createKeyAdministration,
  type KeyAdministration,
  type ListedKey,
} from './keys/key-administration.ts';
export type { SecurityEventKeys } from './keys/security-events.ts';
export type { MailedLinks } from './mail/mailed-links.ts';
export type { AuthorizationServerOptions } from './options.ts';
export type { RateLimitOptions } from './rate-limit/policies.ts';
export type { DecideScopes, ResourceDefinition } from './resources/options.ts';
export {
  createProvisioningTokenAdministration,
  type ListedProvisioningToken,
  type ProvisioningTokenAdministration,
} from './scim/tokens.ts';
export { type AuthorizationServer, createAuthorizationServer } from './server.ts';
export {
  type AccountAdministration,
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
export { findGroupsIssue } from './users/user-claims.ts';
