/** Protected resource metadata: its locations, and the check that it describes the server it was requested for. */
import {
  coversResource,
  type Profile,
  type ProtectedResourceMetadata,
  type ProtocolVersionHeader,
  readWebUrl,
  resourceMetadataUrls,
} from '@portcullis/protocol';
import { readProtectedResourceMetadata } from '@portcullis/protocol/documents';
import { ClientError, sanitizeText } from '../errors.ts';
import type { OAuthRequest, OAuthResponse, Transport } from '../transport.ts';
import { NO_CHALLENGE, type ServerChallenge } from './challenge.ts';
import { initialProfile } from './discovery-result.ts';
import {
  documentRequests,
  fetchFirstDocument,
  processDocumentResponse,
  requireDocument,
} from './documents.ts';

/** Options for requests for the metadata of a server. */
interface ResourceMetadataRequestOptions {
  readonly versionHeader?: ProtocolVersionHeader;
  /** Origins besides the server's own that may host its metadata. */
  readonly trustedOrigins?: readonly string[];
  /** The pinned revision. */
  readonly profile?: Profile | null;
}

/**
 * The requests for a server's protected resource metadata, to send in order until a response has the document. The location
 * named by the challenge comes first.
 * @throws ClientError `endpoint_refused` when the challenge names a foreign origin; `insecure_url`
 * @see RFC 9728 §3.1
 */
export function resourceMetadataRequests(
  server: string,
  { resourceMetadata: announced }: ServerChallenge = NO_CHALLENGE,
  { versionHeader, trustedOrigins = [], profile = null }: ResourceMetadataRequestOptions = {},
): readonly OAuthRequest[] {
  if (announced !== null) checkLocation(announced, server, trustedOrigins);
  const urls = new Set([...(announced === null ? [] : [announced]), ...resourceMetadataUrls(server)]);
  return documentRequests([...urls], initialProfile(profile), versionHeader);
}

/**
 * Finds and validates the metadata of a server; `null` when it has none.
 * @throws ClientError `endpoint_refused` when the challenge names a foreign origin, `metadata_invalid`,
 * `resource_mismatch`, or a temporary error.
 * @see RFC 9728 §3 and §5.1
 */
export async function findResourceMetadata(
  settings: ResourceMetadataRequestOptions & { readonly transport: Transport },
  server: string,
  challenge: ServerChallenge,
): Promise<ProtectedResourceMetadata | null> {
  const requests = resourceMetadataRequests(server, challenge, settings);
  const found = await fetchFirstDocument(settings.transport, requests);
  return found === null ? null : validateResourceMetadata(found, server);
}

/**
 * Processes the response of one location: the metadata, or `null` to try the next one.
 * @throws ClientError when the location is failing (`temporarily_unavailable`, `metadata_invalid`) or its document is not for
 * this server (`resource_mismatch`): do not try another one.
 * @see RFC 9728 §3.2 and §3.3
 */
export function processResourceMetadataResponse(
  request: OAuthRequest,
  response: OAuthResponse,
  server: string,
): ProtectedResourceMetadata | null {
  const json = processDocumentResponse(request, response);
  return json === null ? null : validateResourceMetadata(json, server);
}

/** A challenge could name any URL (SSRF): other origins are not requested. */
function checkLocation(announced: string, server: string, trustedOrigins: readonly string[]): void {
  const url = readWebUrl(announced);
  const origin = url?.origin ?? null;
  if (origin !== null && (origin === new URL(server).origin || trustedOrigins.includes(origin))) return;
  throw new ClientError(
    'endpoint_refused',
    `The server says that its metadata is at ${sanitizeText(announced)}, which is not its own origin. ` +
      'If you trust that origin, add it to trustedOrigins.',
  );
}

/**
 * Validates the document. If the resource is not the requested one, the metadata MUST NOT be used.
 * @see RFC 9728 §3.3
 */
function validateResourceMetadata(json: unknown, server: string): ProtectedResourceMetadata {
  const reading = readProtectedResourceMetadata(json);
  const document = requireDocument(reading, "The server's protected resource metadata");
  if (!coversResource(document.resource, server)) {
    throw new ClientError(
      'resource_mismatch',
      `The server's metadata describes ${sanitizeText(document.resource)}, not ${server}. No credentials were sent.`,
    );
  }
  return document;
}
