/** OAuth client for protected servers: from a server URL to an authorized `fetch`, in Node, browsers and workers. */
export type { DevicePrompt, EnterpriseGrant, GrantSettings } from './authorization/grant-settings.ts';
export { createPasteReceiver } from './authorization/paste-receiver.ts';
export type { Browser, ReceivedRedirect, Receiver, RedirectListener } from './authorization/receiver.ts';
export { planScopes, type ScopePlan } from './authorization/scope-plan.ts';
export { type Client, createClient } from './client.ts';
export type { DiscoveryResult } from './discovery/discovery-result.ts';
export { ClientError, type ClientErrorCode, sanitizeText } from './errors.ts';
export type { ClientEvent, SignInReason } from './events.ts';
export { type ClientOptions, defaultClientLimits } from './options.ts';
export {
  buildMetadataDocument,
  checkHostedDocument,
  type MetadataDocument,
} from './registration/metadata-document.ts';
export type {
  ManualRegistration,
  PreregisteredClient,
  RegistrationReply,
  RegistrationSettings,
} from './registration/registration.ts';
export { readServerUrl } from './settings.ts';
export { type ClientSigningKey, readSigningKey } from './signing-key.ts';
export { type CredentialStore, keyText } from './storage/credential-store.ts';
export type {
  CredentialKey,
  CredentialRecord,
  PendingAuthorization,
  Registration,
  Tokens,
} from './storage/credentials.ts';
export { createMemoryStore } from './storage/memory-store.ts';
export { createWebStore } from './storage/web-store.ts';
export { describeSession, type Session } from './tokens/session.ts';
export type { Fetch } from './transport.ts';
