/** Readers of JSON documents: they need the schema library, which a guard does not load, for a fast start. */

export { readTokenExchangeResponse } from './messages/read-token-exchange-response.ts';
export { readTokenResponse } from './messages/token-response.ts';
export { readAuthorizationServerMetadata } from './metadata/authorization-server-metadata.ts';
export { openRegistrationPolicy, readClientMetadata } from './metadata/client-metadata.ts';
export { readProtectedResourceMetadata } from './metadata/read-protected-resource-metadata.ts';
export type { ParseResult } from './parsing/json-document.ts';
