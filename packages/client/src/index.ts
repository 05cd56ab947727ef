/** From the URL of a protected server to an authorized `fetch`: runs in Node, in browsers and in workers. */
export { createPasteReceiver, type PasteOptions } from './authorization/paste-receiver.ts';
export type { Pending } from './authorization/pending.ts';
export type { Arrival, Browser, Outcome, Receiver, Reception } from './authorization/receiver.ts';
export { planScopes, type ScopePlan, type ScopeSettings } from './authorization/scope-plan.ts';
export { type Client, createClient, type SignInOptions } from './client.ts';
export type { ServerChallenge } from './discovery/challenge.ts';
export type { Discovery } from './discovery/conclude.ts';
export { ClientError, type ClientErrorCode, type ClientErrorOptions, displayText } from './errors.ts';
export type { ClientEvent, SignInReason } from './events.ts';
export type {
  ApplicationGrant,
  DeviceGrant,
  DevicePrompt,
  EnterpriseGrant,
  GrantSettings,
  IdentityProvider,
  UserGrant as PersonGrant,
  WorkloadGrant,
} from './grants/settings.ts';
export { readSigningKey, type SigningAlgorithm, type SigningKey } from './keys/signing-key.ts';
export { type ClientOptions, defaultLimits, type Limits } from './options.ts';
export {
  buildMetadataDocument,
  checkHostedDocument,
  findDocumentIssues as findDocumentFaults,
  type MetadataDocument,
  type MetadataDocumentSettings,
} from './registration/metadata-document.ts';
export type {
  PreregisteredClient,
  Registration,
  RegistrationQuestion,
  RegistrationReply,
  RegistrationSettings,
} from './registration/registration.ts';
export { readServerUrl } from './server-url.ts';
export { describeSession, type Session } from './session/session.ts';
export type { BeginOptions } from './session/two-halves.ts';
export type {
  CredentialKey,
  CredentialRecord,
  CredentialStore,
  Release,
  SessionKind,
} from './store/credential-store.ts';
export { keyText } from './store/credential-store.ts';
export { createMemoryStore } from './store/memory-store.ts';
export { createWebStore, type WebLocks, type WebStorage, type WebStoreOptions } from './store/web-store.ts';
export type { Tokens } from './tokens/tokens.ts';
export type { Fetch } from './transport.ts';
