/** The client in Node: the system's browser, a loopback receiver, an SSRF guard, and credential files with encryption. */
export {
  createSystemBrowser,
  type StartProcess,
  type SystemBrowserOptions,
} from './node/browser.ts';
export { type ClientNameParts, composeClientName } from './node/client-name.ts';
export { credentialsFromEnvironment } from './node/environment.ts';
export { type FileStore, type FileStoreOptions, openFileStore } from './node/file-store.ts';
export { createGuardedFetch, type GuardedFetchOptions, toClientError } from './node/guarded-fetch.ts';
export {
  type KeychainEntry,
  type OpenKeychainEntry,
  openCredentialStore,
} from './node/keychain.ts';
export { createLoopbackReceiver, type LoopbackOptions } from './node/loopback-receiver.ts';
export { createNodeClient, type NodeClientOptions } from './node/node-client.ts';
