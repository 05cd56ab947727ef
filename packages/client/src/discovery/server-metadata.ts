/** Authorization server metadata: its well-known locations, and the check that it names the requested issuer. */
import { type AuthorizationServerMetadata, type Profile, serverMetadataUrls } from '@portcullis/protocol';
import { readAuthorizationServerMetadata } from '@portcullis/protocol/documents';
import { ClientError, sanitizeText } from '../errors.ts';
import { type DocumentRequest, fetchFirstDocument, requireDocument } from './documents.ts';

/**
 * Finds and validates the metadata of an issuer; `null` when it has none.
 * @throws ClientError `metadata_invalid`, `issuer_mismatch`, or a temporary error.
 * @see RFC 8414 §3, OpenID Connect Discovery 1.0 §4
 */
export async function findServerMetadata(
  request: DocumentRequest,
  issuer: string,
  profile: Profile,
): Promise<AuthorizationServerMetadata | null> {
  const found = await fetchFirstDocument(request, serverMetadataUrls(issuer, profile.serverMetadata));
  return found === null ? null : validateServerMetadata(found, issuer, profile);
}

/**
 * Validates the document. The issuer MUST be identical to the identifier that the well-known URL was made from; if it is
 * not, the document MUST NOT be used.
 * @see RFC 8414 §3.3
 */
export function validateServerMetadata(
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
