/** Node's http and https modules, loaded without `undici` for a fast cold start. */

/**
 * `import { … } from 'node:http'` reads every name of the module, and one of them, `WebSocket`, loads all of `undici`: 13 MB and 30
 * milliseconds of a cold start. `getBuiltinModule` loads the module alone.
 */
export const nodeHttp: typeof import('node:http') = process.getBuiltinModule('node:http');

/** Loads TLS, which costs 15 milliseconds of a cold start, only in servers that use it. */
export function loadNodeHttps(): typeof import('node:https') {
  return process.getBuiltinModule('node:https');
}
