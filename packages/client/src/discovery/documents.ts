/** Looking for a metadata document in several places: absence leads to the next place, an outage is never taken for absence. */
import { ClientError } from '../errors.ts';
import {
  checkNotRedirected,
  getRequest,
  type OAuthRequest,
  type OAuthResponse,
  parseJsonOrUndefined,
  readRetryAfter,
  sendRequest,
  type Transport,
} from '../transport.ts';

/** How documents are asked for. */
export interface DocumentRequest {
  readonly transport: Transport;
  /** The protocol version header. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface FoundDocument {
  readonly url: string;
  readonly json: unknown;
}

/** What one place gave. `passable`: the next place may be asked before the failure counts. */
type PlaceOutcome =
  | { readonly kind: 'found'; readonly json: unknown }
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly error: ClientError; readonly passable: boolean };

/** Statuses of the 4xx family that say "not now" and not "not here". */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Asks the places in order. `null`: every one of them answered that it has no document.
 * @throws ClientError when a place is out of order or holds something else than JSON, and no later one that may still
 * be asked has the document.
 */
export async function fetchFirstDocument(
  request: DocumentRequest,
  urls: readonly string[],
): Promise<FoundDocument | null> {
  let failure: ClientError | null = null;
  for (const url of urls) {
    const outcome = await askForDocument(request, url);
    if (outcome.kind === 'found') return { url, json: outcome.json };
    if (outcome.kind === 'absent') continue;
    failure ??= outcome.error;
    if (!outcome.passable) break;
  }
  if (failure !== null) throw failure;
  return null;
}

async function askForDocument({ transport, headers }: DocumentRequest, url: string): Promise<PlaceOutcome> {
  const outcome = await tryDocument(transport, headers, url);
  // In a browser a server that does not expect the header in its preflight looks like no server at all.
  const plain = outcome.kind === 'failed' && outcome.passable && outcome.error.code === 'unreachable';
  return plain ? tryDocument(transport, {}, url) : outcome;
}

async function tryDocument(
  transport: Transport,
  headers: DocumentRequest['headers'],
  url: string,
): Promise<PlaceOutcome> {
  try {
    const ask = getRequest(url, headers);
    const json = processDocumentResponse(ask, await sendRequest(transport, ask));
    return json === null ? { kind: 'absent' } : { kind: 'found', json };
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    // So does an answer without CORS headers; the next place may be asked.
    const foreign = error.code === 'unreachable' && error.cause instanceof TypeError;
    return { kind: 'failed', error, passable: foreign || error.status === 502 };
  }
}

/**
 * Understands the answer of one place: the document, or `null`, when it has none and the next place may be asked.
 * @throws ClientError when the place is out of order or holds something else than JSON, which is never absence.
 */
export function processDocumentResponse(
  ask: OAuthRequest,
  answer: OAuthResponse,
): NonNullable<unknown> | null {
  checkNotRedirected(ask, answer);
  const { status, headers, body } = answer;
  if (status >= 200 && status < 300) {
    const json = parseJsonOrUndefined(body);
    if (typeof json === 'object' && json !== null) return json;
    throw new ClientError('metadata_invalid', `${ask.url} answered, but not with JSON.`, { status });
  }
  if (status >= 400 && status < 500 && !NOT_NOW.has(status)) return null;
  throw new ClientError('temporarily_unavailable', `${ask.url} answered with status ${status}.`, {
    status,
    retryAfter: readRetryAfter(headers, Date.now()),
  });
}
