/** Fetches JSON from a URL that a client named: with the SSRF guard, limits of size and time, and a fetch budget. */
import { parseStrictJson } from '@portcullis/http';
import { OutboundError, type OutboundErrorReason, type OutboundFetch } from '@portcullis/http/outbound';
import { beforeAbort, readBytes } from '@portcullis/protocol';
import type { LimitRegistry } from '../../rate-limit/limit-registry.ts';
import { outboundFetches } from '../../rate-limit/policies.ts';
import { createFetchBudget } from './fetch-budget.ts';
import { FetchJsonError, type RemoteIssue } from './fetch-json-error.ts';

interface RemoteRequest {
  readonly url: string;
  /** Maximum bytes of the response. */
  readonly limit: number;
  /** The site that causes the fetch; `null` when it is unknown. */
  readonly site: string | null;
  /** Whether an earlier fetch of this URL succeeded: renewals have a budget of their own. */
  readonly isRenewal: boolean;
  /** Of the cached copy; `null` (default) without one. */
  readonly validators?: Validators | null;
}

interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

export type FetchJsonResult =
  | { readonly kind: 'found'; readonly json: unknown; readonly headers: Headers }
  /** The cached copy is still valid (304). */
  | { readonly kind: 'unchanged'; readonly headers: Headers };

/** @throws FetchJsonError */
export type FetchJson = (request: RemoteRequest) => Promise<FetchJsonResult>;

interface FetchDependencies {
  readonly fetch: OutboundFetch;
  /** Milliseconds for the whole exchange. */
  readonly timeout: number;
  /** Epoch seconds. */
  readonly clock: () => number;
  /** Keeps the budgets. */
  readonly limits: LimitRegistry;
}

/** @param name of its budgets */
export function createFetchJson(
  name: string,
  { fetch, timeout, clock, limits }: FetchDependencies,
): FetchJson {
  const budgetOf = (kind: 'new' | 'renewal') =>
    limits.keep(`${kind} fetches of ${name}`, () => createFetchBudget(clock, outboundFetches[kind]));
  const [newFetches, renewals] = [budgetOf('new'), budgetOf('renewal')];
  return async ({ url, limit, site, isRenewal, validators = null }) => {
    const retryAfter = isRenewal ? renewals.take(url, site) : newFetches.take(new URL(url).origin, site);
    if (retryAfter > 0) {
      throw new FetchJsonError('budget', 'too many documents are being fetched', retryAfter);
    }
    const signal = AbortSignal.timeout(timeout);
    try {
      const pending = fetch(url, { headers: headersOf(validators), redirect: 'manual', signal });
      const response = await beforeAbort(pending, signal);
      return await readResponse(response, limit, validators, signal);
    } catch (error) {
      throw toFetchJsonError(error, signal);
    }
  };
}

function headersOf(validators: Validators | null): Record<string, string> {
  return {
    accept: 'application/json',
    ...(validators?.etag && { 'if-none-match': validators.etag }),
    ...(validators?.lastModified && { 'if-modified-since': validators.lastModified }),
  };
}

async function readResponse(
  response: Response,
  limit: number,
  validators: Validators | null,
  signal: AbortSignal,
): Promise<FetchJsonResult> {
  const { status, headers } = response;
  const conditional = validators !== null && (validators.etag !== null || validators.lastModified !== null);
  // 304 is only valid for a conditional request.
  if (status === 304 && conditional) return { kind: 'unchanged', headers };
  const issue = statusIssue(status) ?? typeIssue(headers);
  if (issue !== null) {
    // Not awaited: the host decides how long that lasts.
    void response.body?.cancel().catch(() => {});
    throw issue;
  }
  const bytes = await readBytes(response.body, { limit, tooLong: () => tooLarge(limit), signal });
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  return { kind: 'found', json: parse(text), headers };
}

/** Redirects are not followed: another URL is another authority. */
function statusIssue(status: number): FetchJsonError | null {
  if (status === 200) return null;
  const message = `its host responded with status ${status}, not 200`;
  if (status === 410) return new FetchJsonError('gone', message);
  return new FetchJsonError(status >= 500 || status === 429 ? 'outage' : 'unusable', message);
}

function typeIssue(headers: Headers): FetchJsonError | null {
  const [type = '', ...parameters] = (headers.get('content-type') ?? '').toLowerCase().split(';');
  const isJson = /^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json$/.test(type.trim());
  const isUtf8 = parameters.every((parameter) => !/^\s*charset=(?!"?utf-?8"?\s*$)/.test(parameter));
  return isJson && isUtf8
    ? null
    : new FetchJsonError('unusable', 'its content type is not application/json in UTF-8');
}

function parse(text: string): unknown {
  try {
    return parseStrictJson(text);
  } catch {
    throw new FetchJsonError('unusable', 'it is not well-formed JSON without repeated members');
  }
}

function tooLarge(limit: number): FetchJsonError {
  return new FetchJsonError('unusable', `it is larger than ${limit} bytes`);
}

function toFetchJsonError(error: unknown, signal: AbortSignal): FetchJsonError {
  if (error instanceof FetchJsonError) return error;
  if (error instanceof OutboundError && error.reason === 'size') {
    return new FetchJsonError('unusable', 'it is larger than allowed');
  }
  if (error instanceof TypeError && error.message.includes('encoded data')) {
    return new FetchJsonError('unusable', 'it is not encoded in UTF-8');
  }
  if (signal.aborted) return new FetchJsonError('outage', 'its host did not respond in time');
  if (!(error instanceof OutboundError)) return new FetchJsonError('outage', String(error));
  return new FetchJsonError(
    ISSUES[error.reason] ?? 'outage',
    `${error.reason}: ${error.message}${codeOf(error)}`,
  );
}

const ISSUES: Readonly<Partial<Record<OutboundErrorReason, RemoteIssue>>> = {
  address: 'unusable',
  encoding: 'unusable',
  egress: 'egress',
};

/** The system's code, such as ECONNREFUSED. */
function codeOf({ cause }: OutboundError): string {
  return cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
}
