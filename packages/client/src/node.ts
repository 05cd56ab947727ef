/** The client in Node: the system's browser, a loopback receiver, an SSRF guard, and credential files with encryption. */
export { createSystemBrowser } from './node/browser.ts';
export { composeClientName } from './node/client-name.ts';
export { credentialsFromEnvironment } from './node/environment.ts';
export { type FileStore, type FileStoreOptions, openFileStore } from './node/file-store.ts';
export { createGuardedFetch, toClientError } from './node/guarded-fetch.ts';
export { openCredentialStore } from './node/keychain.ts';
export { createLoopbackReceiver } from './node/loopback-receiver.ts';
export { createNodeClient, type NodeClientOptions } from './node/node-client.ts';
