/** Authorization server metadata: found in the places of the profile, and believed only when it names the issuer that was asked. */
import {
  type AuthorizationServerMetadata,
  type Profile,
  readAuthorizationServerMetadata,
  serverMetadataUrls,
} from '@portcullis/protocol';
import { ClientError, sanitizeText } from '../errors.ts';
import { type DocumentRequest, fetchFirstDocument } from './documents.ts';

/**
 * Finds and judges the metadata of an issuer; `null` when it has none.
 * @throws ClientError `metadata_invalid`, `issuer_mismatch`, or an outage.
 * @see RFC 8414 §3, OpenID Connect Discovery 1.0 §4
 */
export async function findServerMetadata(
  request: DocumentRequest,
  issuer: string,
  profile: Profile,
): Promise<AuthorizationServerMetadata | null> {
  const found = await fetchFirstDocument(request, serverMetadataUrls(issuer, profile.serverMetadata));
  return found === null ? null : validateServerMetadata(found.json, issuer, profile);
}

/**
 * Judges a document. The issuer MUST be identical to the identifier that the well-known URL was made from; if it is
 * not, the document MUST NOT be used.
 * @see RFC 8414 §3.3
 */
export function validateServerMetadata(
  json: unknown,
  issuer: string,
  profile: Profile,
): AuthorizationServerMetadata {
  const reading = readAuthorizationServerMetadata(json);
  if ('issues' in reading) {
    const issues = reading.issues.slice(0, 3).map(sanitizeText).join('; ');
    throw new ClientError(
      'metadata_invalid',
      `The metadata of ${sanitizeText(issuer)} is not valid: ${issues}.`,
    );
  }
  const { document } = reading;
  if (profile.metadataIssuer === 'exact' && document.issuer !== issuer) {
    throw new ClientError(
      'issuer_mismatch',
      `The metadata of ${sanitizeText(issuer)} says that it belongs to ${sanitizeText(document.issuer)}. It was not used. ` +
        'If both are known to be one, name them in issuerAliases (--issuer-alias).',
    );
  }
  return document;
}
