/** Reads the JSON body of a request to the API. */
import { readJsonBody } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import { ProblemError } from './problem.ts';

/** An empty body is an empty object. @throws ProblemError */
export async function readRequestBody(request: Request): Promise<unknown> {
  const { headers, body } = request;
  if (body === null || headers.get('content-length') === '0') return {};
  try {
    return await readJsonBody(request as Parameters<typeof readJsonBody>[0]);
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const status = error.status === 413 || error.status === 415 ? error.status : 400;
    throw new ProblemError(status, error.description);
  }
}
