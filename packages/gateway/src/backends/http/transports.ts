/** The transports to HTTP backends with sessions, with errors for callers. */
import {
  connectLegacySse,
  createStreamableHttp,
  type HttpTransportOptions,
  type McpTransport,
  resolveEndpoint,
} from '@portcullis/http';
import { BackendError, toFailure } from '../backend.ts';

export interface BackendTransportOptions extends Omit<HttpTransportOptions, 'readError'> {
  readonly name: string;
}

export function createBackendTransport(options: BackendTransportOptions): McpTransport {
  return createStreamableHttp(ownOptions(options));
}

/**
 * HTTP+SSE.
 * @param timeout milliseconds
 * @throws BackendError when the backend does not speak it, or names an endpoint at another origin
 */
export async function connectSseBackend(
  options: BackendTransportOptions,
  timeout: number,
): Promise<McpTransport> {
  const { name, url } = options;
  const readEndpoint = (text: string): URL => {
    const endpoint = resolveEndpoint(text, url);
    if (endpoint !== null) return endpoint;
    throw new BackendError(
      'refused',
      `${name} names a message endpoint that is not at its own origin. Nothing was sent there.`,
    );
  };
  try {
    return await connectLegacySse({ ...ownOptions(options), timeout, readEndpoint });
  } catch (error) {
    throw toFailure(error, name);
  }
}

function ownOptions({ name, receiver, ...options }: BackendTransportOptions): HttpTransportOptions {
  const { accept, fail } = receiver;
  return {
    ...options,
    receiver: { accept, fail: (error) => fail(toFailure(error, name)) },
    async readError(response, _request, endsSession) {
      await response.body?.cancel();
      return failureOfResponse(name, response, endsSession);
    },
  };
}

/** Statuses below 500 that another attempt, or another session, may avoid. */
const PASSING: ReadonlySet<number> = new Set([404, 408, 425, 429]);

/** The reason why a response is not a message. */
export function failureOfResponse(
  name: string,
  { status, headers }: Response,
  endsSession = false,
): BackendError {
  const isChallenge = status === 401 || status === 403;
  const failure = endsSession ? 'session_unknown' : isChallenge ? 'challenged' : 'unavailable';
  const seconds = Number(headers.get('retry-after') ?? 5);
  const retryAfter = status < 500 && !PASSING.has(status) ? null : Number.isFinite(seconds) ? seconds : 5;
  const isRedirect = status >= 300 && status < 400;
  const reason = isRedirect ? `a redirect (${status}), which is not followed` : `HTTP status ${status}`;
  const text = `${name} answered with ${reason}.`;
  return new BackendError(failure, text, retryAfter, status);
}
