/** Handlers of the program's own paths, and the response where there is none. */
import { type HttpRequest, type HttpResponse, respondJson } from '@portcullis/http';
import type { ConnectionInfo } from '@portcullis/http/node';

export type PathHandler = (request: HttpRequest, connection: ConnectionInfo) => Promise<HttpResponse>;

/** Responds with 404: at unknown paths, and to unauthorized requests for `/metrics`. */
export function respondNotFound(): HttpResponse {
  const error_description = 'There is nothing at this path.';
  return respondJson({ error: 'not_found', error_description }, { status: 404 });
}
