/** Authorization server metadata: its well-known locations, and the check that it names the requested issuer. */
import {
  type AuthorizationServerMetadata,
  type Profile,
  type ProtocolVersionHeader,
  serverMetadataUrls,
} from '@portcullis/protocol';
import { readAuthorizationServerMetadata } from '@portcullis/protocol/documents';
import { ClientError, sanitizeText } from '../errors.ts';
import type { OAuthRequest, OAuthResponse, Transport } from '../transport.ts';
import {
  documentRequests,
  fetchFirstDocument,
  processDocumentResponse,
  requireDocument,
} from './documents.ts';

/** Options for requests for the metadata of an issuer. */
interface ServerMetadataRequestOptions {
  readonly versionHeader?: ProtocolVersionHeader;
}

/**
 * The requests for an issuer's metadata, to send in order until a response has the document.
 * @throws ClientError `insecure_url`
 * @see RFC 8414 §3.1
 */
export function serverMetadataRequests(
  issuer: string,
  profile: Profile,
  { versionHeader }: ServerMetadataRequestOptions = {},
): readonly OAuthRequest[] {
  return documentRequests(serverMetadataUrls(issuer, profile.serverMetadata), profile, versionHeader);
}

/**
 * Finds and validates the metadata of an issuer; `null` when it has none.
 * @throws ClientError `metadata_invalid`, `issuer_mismatch`, or a temporary error.
 * @see RFC 8414 §3, OpenID Connect Discovery 1.0 §4
 */
export async function findServerMetadata(
  settings: ServerMetadataRequestOptions & { readonly transport: Transport },
  issuer: string,
  profile: Profile,
): Promise<AuthorizationServerMetadata | null> {
  const requests = serverMetadataRequests(issuer, profile, settings);
  const found = await fetchFirstDocument(settings.transport, requests);
  return found === null ? null : validateServerMetadata(found, issuer, profile);
}

/**
 * Processes the response of one location: the metadata, or `null` to try the next one.
 * @throws ClientError when the location is failing (`temporarily_unavailable`, `metadata_invalid`) or its document belongs to
 * another issuer (`issuer_mismatch`): do not try another one.
 * @see RFC 8414 §3.2 and §3.3
 */
export function processServerMetadataResponse(
  request: OAuthRequest,
  response: OAuthResponse,
  issuer: string,
  profile: Profile,
): AuthorizationServerMetadata | null {
  const json = processDocumentResponse(request, response);
  return json === null ? null : validateServerMetadata(json, issuer, profile);
}

/**
 * Validates the document. The issuer MUST be identical to the identifier that the well-known URL was made from; if it is
 * not, the document MUST NOT be used.
 * @see RFC 8414 §3.3
 */
function validateServerMetadata(
  json: unknown,
  issuer: string,
  profile: Profile,
): AuthorizationServerMetadata {
  const reading = readAuthorizationServerMetadata(json);
  const document = requireDocument(reading, `The metadata of ${sanitizeText(issuer)}`);
  if (profile.metadataIssuer === 'exact' && document.issuer !== issuer) {
    throw new ClientError(
      'issuer_mismatch',
      `The metadata of ${sanitizeText(issuer)} names another issuer, ${sanitizeText(document.issuer)}, and was not used. ` +
        'If both are the same server, configure issuerAliases (--issuer-alias).',
    );
  }
  return document;
}
