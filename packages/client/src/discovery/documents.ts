/** Metadata documents with several well-known locations: a missing document leads to the next one, an outage never does. */
import type { ParseResult } from '@portcullis/protocol/documents';
import { ClientError, sanitizeText } from '../errors.ts';
import {
  getRequest,
  isTemporaryStatus,
  type OAuthRequest,
  type OAuthResponse,
  parseJsonOrUndefined,
  requireNoRedirect,
  sendRequest,
  type Transport,
  temporaryError,
} from '../transport.ts';

/** The document that was read. @throws ClientError `metadata_invalid` @param name of the document, as text for users */
export function requireDocument<T>(reading: ParseResult<T>, name: string): T {
  if ('document' in reading) return reading.document;
  const issues = reading.issues.slice(0, 3).map(sanitizeText).join('; ');
  throw new ClientError('metadata_invalid', `${name} is not valid: ${issues}.`);
}

/** How documents are requested. */
export interface DocumentRequest {
  readonly transport: Transport;
  /** The protocol version header. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface FoundDocument {
  readonly url: string;
  readonly json: unknown;
}

/** Result of one location. `skippable`: the next location may be tried before the failure counts. */
type LocationResult =
  | { readonly kind: 'found'; readonly json: unknown }
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly error: ClientError; readonly skippable: boolean };

/**
 * Requests the locations in order. `null`: none of them has the document.
 * @throws ClientError when a location is failing or has something other than JSON, and no later location that may still
 * be tried has the document.
 */
export async function fetchFirstDocument(
  request: DocumentRequest,
  urls: readonly string[],
): Promise<FoundDocument | null> {
  let failure: ClientError | null = null;
  for (const url of urls) {
    const result = await fetchDocument(request, url);
    if (result.kind === 'found') return { url, json: result.json };
    if (result.kind === 'absent') continue;
    failure ??= result.error;
    if (!result.skippable) break;
  }
  if (failure !== null) throw failure;
  return null;
}

async function fetchDocument({ transport, headers }: DocumentRequest, url: string): Promise<LocationResult> {
  const result = await tryLocation(transport, headers, url);
  // In a browser, a server whose CORS policy does not allow the header looks unreachable.
  const retry = result.kind === 'failed' && result.skippable && result.error.code === 'unreachable';
  return retry ? tryLocation(transport, {}, url) : result;
}

async function tryLocation(
  transport: Transport,
  headers: DocumentRequest['headers'],
  url: string,
): Promise<LocationResult> {
  try {
    const request = getRequest(url, headers);
    const json = processDocumentResponse(request, await sendRequest(transport, request));
    return json === null ? { kind: 'absent' } : { kind: 'found', json };
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    // A response without CORS headers looks the same; the next location may be tried.
    const maybeCors = error.code === 'unreachable' && error.cause instanceof TypeError;
    return { kind: 'failed', error, skippable: maybeCors || error.status === 502 };
  }
}

/**
 * Processes the response of one location: the document, or `null` when it has none and the next one may be tried.
 * @throws ClientError when the location is failing or has something other than JSON.
 */
export function processDocumentResponse(
  request: OAuthRequest,
  response: OAuthResponse,
): NonNullable<unknown> | null {
  requireNoRedirect(request, response);
  const { status, body } = response;
  if (status >= 200 && status < 300) {
    const json = parseJsonOrUndefined(body);
    if (typeof json === 'object' && json !== null) return json;
    throw new ClientError('metadata_invalid', `${request.url} did not respond with JSON.`, { status });
  }
  if (status >= 400 && !isTemporaryStatus(status)) return null;
  throw temporaryError(request.url, response);
}
