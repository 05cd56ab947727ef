/** Applications that speak the web's own Request and Response, on node:http: bodies pass as streams. */
import type { RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';

/** @param refuse the response for what the application threw */
export function createFetchListener(
  application: (request: Request) => Promise<Response>,
  refuse: (error: unknown) => Response,
): RequestListener {
  return getRequestListener(application, { errorHandler: refuse });
}
