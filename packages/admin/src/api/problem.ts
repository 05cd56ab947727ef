/** Errors of the API as problem details (RFC 9457). */
import { respondJson, toResponse } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import * as z from 'zod';
import { OperationError } from '../operations/errors.ts';

/** What is wrong with one member of a request, such as `query.limit` or `body.email`. */
const issueSchema = z.object({ at: z.string(), message: z.string() });

/** What each status means here, as the title of its problems. */
const TITLES = {
  400: 'The request cannot be used',
  401: 'An access token is needed',
  403: 'Not permitted',
  404: 'There is nothing at this path',
  405: 'The method is not supported here',
  409: 'The state does not allow this',
  412: 'It has changed meanwhile',
  413: 'The body is too large',
  415: 'The media type is not supported',
  500: 'The server failed',
  503: 'Temporarily unavailable',
} as const;

export type ProblemStatus = keyof typeof TITLES;

/** A request that is refused. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly status: ProblemStatus;
  readonly issues: readonly z.infer<typeof issueSchema>[];

  /** @param detail one sentence that says what to do */
  constructor(status: ProblemStatus, detail: string, issues: ProblemError['issues'] = []) {
    super(detail);
    this.status = status;
    this.issues = issues;
  }
}

/** @see RFC 9457 §3.1 */
export const problemSchema: z.ZodType = z
  .object({
    type: z.string().describe('always `about:blank`: the status says the type'),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('one sentence that says what to do'),
    issues: z.array(issueSchema).optional().describe('what is wrong with which member of the request'),
  })
  .meta({ id: 'Problem' });

/** The response of an error; unknown errors are rethrown. */
export function respondProblem(error: unknown): Response {
  const { status, message, issues } = toProblem(error);
  const document = {
    type: 'about:blank',
    title: TITLES[status],
    status,
    detail: message,
    ...(issues.length > 0 && { issues }),
  };
  const headers = {
    'content-type': 'application/problem+json',
    ...(status === 503 && { 'retry-after': '5' }),
  };
  return toResponse(respondJson(document, { status, headers }));
}

function toProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof OperationError) return new ProblemError(error.status, error.message);
  if (error instanceof OAuthError && error.code === 'temporarily_unavailable')
    return new ProblemError(503, 'The database is not available: try again in a few seconds.');
  throw error;
}
