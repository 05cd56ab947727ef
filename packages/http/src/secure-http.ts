/** Node's module for https: loaded where it is used, since many a server never does, and TLS is 15 milliseconds of a start. */

export function secureHttp(): typeof import('node:https') {
  return process.getBuiltinModule('node:https');
}
