/** Fetching JSON that a client published somewhere: guarded, bounded in bytes and time, and on a budget. */
import { parseStrictJson } from '@portcullis/http';
import { OutboundError, type OutboundFetch } from '@portcullis/http/outbound';
import type { FetchBudget } from './fetch-budget.ts';

/** What is asked for. */
interface RemoteRequest {
  readonly url: string;
  /** Most bytes of the answer. */
  readonly limit: number;
  /** The network on whose word it is asked for; `null` when nobody knows. */
  readonly network: string | null;
  /** Of a copy that is kept; `null` when there is none. */
  readonly validators: Validators | null;
}

interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

export type FetchJsonResult =
  | { readonly kind: 'found'; readonly json: unknown; readonly headers: Headers }
  /** What the validators stand for is still what it is. */
  | { readonly kind: 'unchanged'; readonly headers: Headers };

/**
 * Why there is no answer: nobody was asked (`budget`), nobody answered (`outage`), the host took the document back (`gone`),
 * or what came or was named is of no use (`unusable`).
 */
export type RemoteIssue = 'budget' | 'outage' | 'gone' | 'unusable';

/** Ends a fetch. The message is for the developer of the client; what a stranger could learn of a network stands in the reason. */
export class FetchJsonError extends Error {
  override readonly name: string = 'RemoteError';
  readonly issue: RemoteIssue;
  readonly reason: string;
  /** Seconds after which the budget allows another try. */
  readonly retryAfter: number;

  constructor(issue: RemoteIssue, message: string, more: { reason?: string; retryAfter?: number } = {}) {
    super(message);
    this.issue = issue;
    this.reason = more.reason ?? message;
    this.retryAfter = more.retryAfter ?? 5;
  }
}

/** @throws RemoteError */
export type FetchJson = (request: RemoteRequest) => Promise<FetchJsonResult>;

interface FetchHands {
  readonly fetch: OutboundFetch;
  /** Milliseconds for a whole exchange. */
  readonly timeout: number;
  readonly budget: FetchBudget;
}

export function createFetchJson({ fetch, timeout, budget }: FetchHands): FetchJson {
  return async ({ url, limit, network, validators }) => {
    const retryAfter = budget.take(new URL(url).origin, network);
    if (retryAfter > 0) {
      throw new FetchJsonError('budget', 'too many documents are asked for at this moment', { retryAfter });
    }
    const signal = AbortSignal.timeout(timeout);
    try {
      const asked = fetch(url, { headers: headersOf(validators), redirect: 'manual', signal });
      const response = await beforeAbort(asked, signal);
      return await understand(response, limit, validators, signal);
    } catch (error) {
      throw explain(error, signal);
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

async function understand(
  response: Response,
  limit: number,
  validators: Validators | null,
  signal: AbortSignal,
): Promise<FetchJsonResult> {
  const { status, headers } = response;
  const conditional = validators !== null && (validators.etag !== null || validators.lastModified !== null);
  // Whoever asked without a condition cannot be told that it holds.
  if (status === 304 && conditional) return { kind: 'unchanged', headers };
  const issue = statusIssue(status) ?? typeIssue(headers);
  if (issue !== null) {
    await response.body?.cancel();
    throw issue;
  }
  const text = await readText(response, limit, signal);
  return { kind: 'found', json: parse(text), headers };
}

/** Redirects are not followed: what stands elsewhere is another's word. */
function statusIssue(status: number): FetchJsonError | null {
  if (status === 200) return null;
  const message = `its host answered with status ${status}, not 200`;
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

async function readText(response: Response, limit: number, signal: AbortSignal): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let size = 0;
  let text = '';
  try {
    for (;;) {
      const { done, value } = await beforeAbort(reader.read(), signal);
      if (done) return text + decoder.decode();
      size += value.byteLength;
      if (size > limit) throw tooLarge(limit);
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    // Whatever is still to come is not waited for.
    void reader.cancel().catch(() => {});
  }
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

function explain(error: unknown, signal: AbortSignal): FetchJsonError {
  if (error instanceof FetchJsonError) return error;
  if (error instanceof OutboundError && error.reason === 'size') {
    return new FetchJsonError('unusable', 'it is larger than allowed');
  }
  if (error instanceof TypeError && error.message.includes('encoded data')) {
    return new FetchJsonError('unusable', 'it is not encoded in UTF-8');
  }
  const reason = error instanceof OutboundError ? `${error.reason}: ${error.message}` : String(error);
  // An address that is not contacted looks to a stranger like one where nobody answers.
  const refused =
    error instanceof OutboundError && (error.reason === 'address' || error.reason === 'encoding');
  const message = signal.aborted ? 'its host did not answer in time' : 'it could not be fetched';
  return new FetchJsonError(refused ? 'unusable' : 'outage', message, { reason });
}

function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort));
}
