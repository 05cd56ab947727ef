/** Metadata documents with several well-known locations: a missing document leads to the next one, an outage never does. */
import { PROTOCOL_VERSION_HEADERS, type Profile, type ProtocolVersionHeader } from '@portcullis/protocol';
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

/** Requests for the locations of a document. Clients SHOULD send the protocol version during discovery. @see seed 2.4 row 7 */
export function documentRequests(
  urls: readonly string[],
  { revision }: Profile,
  versionHeader: ProtocolVersionHeader = PROTOCOL_VERSION_HEADERS[0],
): readonly OAuthRequest[] {
  return urls.map((url) => getRequest(url, { [versionHeader]: revision }));
}

/**
 * Sends the requests of the locations in order. `null`: none of them has the document.
 * @throws ClientError when a location is failing or has something other than JSON, and no later location that may still
 * be tried has the document.
 */
export async function fetchFirstDocument(
  transport: Transport,
  requests: readonly OAuthRequest[],
): Promise<NonNullable<unknown> | null> {
  let failure: ClientError | null = null;
  for (const request of requests) {
    try {
      const json = await fetchDocument(transport, request);
      if (json !== null) return json;
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      failure ??= error;
      if (!mayBeElsewhere(error)) break;
    }
  }
  if (failure !== null) throw failure;
  return null;
}

/** A web application has its page for every path, or its redirect, at a well-known location as well, and a gateway its 502. */
function mayBeElsewhere(error: ClientError): boolean {
  return (
    isForbiddenByCors(error) ||
    error.status === 502 ||
    ['metadata_invalid', 'redirected'].includes(error.code)
  );
}

/** In a browser, a server whose CORS policy does not allow the header looks unreachable. */
async function fetchDocument(transport: Transport, request: OAuthRequest) {
  try {
    return await requestDocument(transport, request);
  } catch (error) {
    if (!isForbiddenByCors(error)) throw error;
    return requestDocument(transport, getRequest(request.url));
  }
}

async function requestDocument(transport: Transport, request: OAuthRequest) {
  return processDocumentResponse(request, await sendRequest(transport, request));
}

/** Whether the response may have had no CORS headers, which looks the same as none. */
function isForbiddenByCors(error: unknown): boolean {
  return error instanceof ClientError && error.code === 'unreachable' && error.cause instanceof TypeError;
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
