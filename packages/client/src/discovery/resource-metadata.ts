/** Protected resource metadata: found where the challenge says, else at the well-known places, and believed only for its own server. */
import {
  coversResource,
  type ProtectedResourceMetadata,
  readProtectedResourceMetadata,
  readWebUrl,
  resourceMetadataUrls,
} from '@portcullis/protocol';
import { ClientError, sanitizeText } from '../errors.ts';
import type { ServerChallenge } from './challenge.ts';
import { type DocumentRequest, fetchFirstDocument } from './documents.ts';

export interface ResourceMetadataSearch extends DocumentRequest {
  /** Origins besides the server's own where its metadata may stand. */
  readonly trustedOrigins: readonly string[];
}

/**
 * Finds and judges the metadata of a server; `null` when it has none.
 * The place that the challenge names is asked first, and is the only one when it has the document.
 * @throws ClientError `endpoint_refused` when the challenge names a foreign place, `metadata_invalid`,
 * `resource_mismatch`, or an outage.
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
  return found === null ? null : validateResourceMetadata(found.json, server);
}

/**
 * Where a server's metadata may be, in the order in which it is asked for.
 * @throws ClientError `endpoint_refused` when the challenge names a foreign place
 */
export function resourceMetadataLocations(
  server: string,
  { resourceMetadata: announced }: ServerChallenge,
  trustedOrigins: readonly string[],
): readonly string[] {
  const wellKnown = resourceMetadataUrls(server);
  if (announced === null) return wellKnown;
  checkPlace(announced, server, trustedOrigins);
  return [announced, ...wellKnown.filter((url) => url !== announced)];
}

/**
 * Metadata that is announced is never absent.
 * @throws ClientError `metadata_missing`
 */
export function requireNotAnnounced({ resourceMetadata: announced }: ServerChallenge): void {
  if (announced === null) return;
  throw new ClientError(
    'metadata_missing',
    `The server names metadata at ${sanitizeText(announced)}, but there is none.`,
  );
}

/** A challenge could name any address; what stands elsewhere is not asked for. */
function checkPlace(announced: string, server: string, trustedOrigins: readonly string[]): void {
  const url = readWebUrl(announced);
  const origin = url?.origin ?? null;
  if (origin !== null && (origin === new URL(server).origin || trustedOrigins.includes(origin))) return;
  throw new ClientError(
    'endpoint_refused',
    `The server says that its metadata is at ${sanitizeText(announced)}, which is not its own origin. ` +
      'If you trust that origin, name it in trustedOrigins.',
  );
}

/**
 * Judges a document. If the resource is not the one that was asked for, the metadata MUST NOT be used.
 * @see RFC 9728 §3.3
 */
export function validateResourceMetadata(json: unknown, server: string): ProtectedResourceMetadata {
  const reading = readProtectedResourceMetadata(json);
  if ('issues' in reading) {
    const issues = reading.issues.slice(0, 3).map(sanitizeText).join('; ');
    throw new ClientError(
      'metadata_invalid',
      `The server's protected resource metadata is not valid: ${issues}.`,
    );
  }
  const { document } = reading;
  if (!coversResource(document.resource, server)) {
    throw new ClientError(
      'resource_mismatch',
      `The server's metadata speaks for ${sanitizeText(document.resource)}, not for ${server}. Nothing was sent there.`,
    );
  }
  return document;
}
