/** OAuth client for protected servers: from a server URL to an authorized `fetch`, in Node, browsers and workers. */
export type {
  ApplicationGrant,
  DeviceGrant,
  DevicePrompt,
  EnterpriseGrant,
  EnterpriseIdentityProvider,
  GrantSettings,
  UserGrant,
  WorkloadGrant,
} from './authorization/grant-settings.ts';
export { createPasteReceiver, type PasteOptions } from './authorization/paste-receiver.ts';
export type {
  Browser,
  ReceivedRedirect,
  Receiver,
  RedirectListener,
  SignInOutcome,
} from './authorization/receiver.ts';
export { planScopes, type ScopePlan, type ScopeSettings } from './authorization/scope-plan.ts';
export { type Client, createClient, type SignInOptions } from './client.ts';
export type { ServerChallenge } from './discovery/challenge.ts';
export type { DiscoveryResult } from './discovery/discovery-result.ts';
export { ClientError, type ClientErrorCode, type ClientErrorOptions, sanitizeText } from './errors.ts';
export type { ClientEvent, SignInReason } from './events.ts';
export { type ClientLimits, type ClientOptions, defaultClientLimits } from './options.ts';
export {
  buildMetadataDocument,
  checkHostedDocument,
  type MetadataDocument,
  type MetadataDocumentSettings,
} from './registration/metadata-document.ts';
export type {
  ManualRegistration,
  PreregisteredClient,
  RegistrationReply,
  RegistrationSettings,
} from './registration/registration.ts';
export { readServerUrl } from './settings.ts';
export { type ClientSigningAlgorithm, type ClientSigningKey, readSigningKey } from './signing-key.ts';
export { type CredentialStore, keyText, type Unlock } from './storage/credential-store.ts';
export type {
  CredentialKey,
  CredentialRecord,
  PendingAuthorization,
  Registration,
  SessionKind,
  Tokens,
} from './storage/credentials.ts';
export { createMemoryStore } from './storage/memory-store.ts';
export {
  createWebStore,
  type WebLocks,
  type WebStorage,
  type WebStoreOptions,
} from './storage/web-store.ts';
export type { BeginOptions } from './tokens/begin-complete.ts';
export { describeSession, type Session } from './tokens/session.ts';
export type { Fetch } from './transport.ts';
