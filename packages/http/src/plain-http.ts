/** Node's module for plain http, without what its mere names bring along. */

/**
 * `import { … } from 'node:http'` reads every name of the module, and one of them, `WebSocket`, loads all of `undici`: 13 MB and 30
 * milliseconds of a start. Asked for in this way, the module is what it is and nothing more.
 */
export const plainHttp: typeof import('node:http') = process.getBuiltinModule('node:http');
