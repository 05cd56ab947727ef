/** Runs applications that use the standard `Request` and `Response` on node:http, streaming bodies both ways. */
import type { RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';

/** @param toErrorResponse makes the response for an error that the handler throws */
export function createFetchListener(
  handler: (request: Request) => Promise<Response>,
  toErrorResponse: (error: unknown) => Response,
): RequestListener {
  return getRequestListener(handler, { errorHandler: toErrorResponse });
}
