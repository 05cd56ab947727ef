/** Protected resource metadata: its locations, and the check that it describes the server it was requested for. */
import {
  coversResource,
  type ProtectedResourceMetadata,
  readWebUrl,
  resourceMetadataUrls,
} from '@portcullis/protocol';
import { readProtectedResourceMetadata } from '@portcullis/protocol/documents';
import { ClientError, sanitizeText } from '../errors.ts';
import type { ServerChallenge } from './challenge.ts';
import { type DocumentRequest, fetchFirstDocument, requireDocument } from './documents.ts';

export interface ResourceMetadataSearch extends DocumentRequest {
  /** Origins besides the server's own that may host its metadata. */
  readonly trustedOrigins: readonly string[];
}

/**
 * Finds and validates the metadata of a server; `null` when it has none. The location named by the challenge comes first.
 * @throws ClientError `endpoint_refused` when the challenge names a foreign origin, `metadata_invalid`,
 * `resource_mismatch`, or a temporary error.
 * @see RFC 9728 §3 and §5.1
 */
export async function findResourceMetadata(
  search: ResourceMetadataSearch,
  server: string,
  challenge: ServerChallenge,
): Promise<ProtectedResourceMetadata | null> {
  const found = await fetchFirstDocument(
    search,
    resourceMetadataLocations(server, challenge, search.trustedOrigins),
  );
  return found === null ? null : validateResourceMetadata(found, server);
}

/**
 * The locations of a server's metadata, in the order to try them.
 * @throws ClientError `endpoint_refused` when the challenge names a foreign origin
 */
export function resourceMetadataLocations(
  server: string,
  { resourceMetadata: announced }: ServerChallenge,
  trustedOrigins: readonly string[],
): readonly string[] {
  const wellKnown = resourceMetadataUrls(server);
  if (announced === null) return wellKnown;
  checkLocation(announced, server, trustedOrigins);
  return [announced, ...wellKnown.filter((url) => url !== announced)];
}

/**
 * Rejects a challenge that announces metadata where there is none.
 * @throws ClientError `metadata_missing`
 */
export function requireNotAnnounced({ resourceMetadata: announced }: ServerChallenge): void {
  if (announced === null) return;
  throw new ClientError(
    'metadata_missing',
    `The server announces metadata at ${sanitizeText(announced)}, but there is none.`,
  );
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
export function validateResourceMetadata(json: unknown, server: string): ProtectedResourceMetadata {
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
