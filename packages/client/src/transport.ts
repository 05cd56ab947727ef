/** One request of the client to an OAuth party, bounded: secure addresses only, no redirects, a time limit and a size limit. */
import { isSecureUrl, readWebUrl } from '@portcullis/protocol';
import { ClientError, displayText } from './errors.ts';

/** The `fetch` that every leg goes through: put a proxy or a private certificate authority into it. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** What carries a request, and how far it may go. */
export interface Wire {
  readonly fetch: Fetch;
  /** Milliseconds for a whole exchange, body included. */
  readonly timeout: number;
  /** Most bytes of a body. */
  readonly limit: number;
  /** Understands what `fetch` throws; `null`: nobody could be reached. */
  readonly explain: (error: unknown) => ClientError | null;
}

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export interface Question {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Asks, and reads the answer to its end.
 * @throws ClientError `insecure_url`, `redirected`, `answer_too_large`, or `unreachable` when nothing came in time.
 */
export async function exchange(wire: Wire, address: string, question: Question): Promise<Answer> {
  const url = readWebUrl(address);
  // All authorization endpoints MUST be served over HTTPS. @see seed 5.3(6)
  if (url === null || !isSecureUrl(url)) {
    throw new ClientError(
      'insecure_url',
      `Refused to contact ${displayText(address)}: it must be an https address.`,
    );
  }
  const signal = AbortSignal.timeout(wire.timeout);
  try {
    const response = await wire.fetch(address, {
      method: question.method,
      headers: { accept: 'application/json', ...question.headers },
      ...(question.body !== undefined && { body: question.body }),
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
      signal,
    });
    if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
      await discard(response);
      throw new ClientError(
        'redirected',
        `${url.origin} answered with a redirect, which is not followed here.`,
        {
          status: response.status,
        },
      );
    }
    return { status: response.status, headers: response.headers, body: await readText(response, wire.limit) };
  } catch (error) {
    if (error instanceof ClientError) throw error;
    throw wire.explain(error) ?? unreachable(url.origin, error, signal.aborted);
  }
}

function unreachable(origin: string, cause: unknown, late: boolean): ClientError {
  const what = late ? `${origin} did not answer in time.` : `${origin} could not be reached.`;
  return new ClientError('unreachable', what, { cause });
}

async function readText(response: Response, limit: number): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > limit) {
      await reader.cancel().catch(() => undefined);
      throw new ClientError('answer_too_large', `The answer is longer than ${limit} bytes.`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Ends an answer that nobody will read. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined);
}

/** JSON, or `undefined` when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Seconds of a `Retry-After` field, at most an hour; `undefined` when there is none. */
export function readRetryAfter(headers: Headers, now: number): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isFinite(seconds) ? Math.min(Math.max(Math.ceil(seconds), 0), 3600) : undefined;
}
