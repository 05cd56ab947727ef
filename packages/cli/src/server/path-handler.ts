/** What a door is: whatever answers at one path of the program itself; and what is said where there is none. */
import { type HttpRequest, type HttpResponse, respondJson } from '@portcullis/http';
import type { ConnectionInfo } from '@portcullis/http/node';

export type PathHandler = (asked: HttpRequest, connection: ConnectionInfo) => Promise<HttpResponse>;

/** Answers 404: at paths without a door, and at a door that strangers shall not know of. */
export function respondNotFound(): HttpResponse {
  const error_description = 'Nothing stands at this path.';
  return respondJson({ error: 'not_found', error_description }, { status: 404 });
}
