/** The cache of Client ID Metadata Documents. */
import type {
  ClientMetadataDocumentRecord,
  ClientMetadataDocumentStore,
} from '@portcullis/authorization-server/store';
import { SKEW_TOLERANCE } from '@portcullis/protocol';
import type { Database } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, sql } from '../sql.ts';

const columns = defineRecordColumns<ClientMetadataDocumentRecord>(
  'url metadata:frozen digest etag lastModified fetchedAt freshUntil lastUsedAt expiresAt verifiedAt',
);
const documentsAfter = defineQuery(
  `SELECT ${columns.select()} FROM client_metadata_documents WHERE url > ? ORDER BY url LIMIT ?`,
);
const documentByUrl = defineQuery(`SELECT ${columns.select()} FROM client_metadata_documents WHERE url = ?`);
const upsert = columns.insertInto(
  'client_metadata_documents',
  `ON CONFLICT (url) DO UPDATE SET metadata = excluded.metadata, digest = excluded.digest, etag = excluded.etag,
      last_modified = excluded.last_modified, fetched_at = excluded.fetched_at, fresh_until = excluded.fresh_until,
      verified_at = CASE WHEN excluded.digest = client_metadata_documents.digest THEN client_metadata_documents.verified_at END,
      expires_at = CASE WHEN excluded.expires_at > client_metadata_documents.expires_at
        THEN excluded.expires_at ELSE client_metadata_documents.expires_at END
    WHERE excluded.fetched_at >= client_metadata_documents.fetched_at
      OR client_metadata_documents.fetched_at > excluded.fetched_at + ${SKEW_TOLERANCE}`,
);

export function createClientMetadataDocumentStore(database: Database): ClientMetadataDocumentStore {
  return {
    findClientMetadataDocument: (url) =>
      database.readCached('client_metadata_documents', documentByUrl(url), readCopy),
    saveClientMetadataDocument: (copy) => database.write(upsert(copy)),
    listClientMetadataDocuments: (after, limit) => columns.findAll(database, documentsAfter(after, limit)),
    saveClientMetadataDocumentVerification: (url, digest, verifiedAt) =>
      database.changes(
        sql`UPDATE client_metadata_documents SET verified_at = ${verifiedAt} WHERE url = ${url} AND digest = ${digest}
          RETURNING 1 AS one`,
      ),
    recordClientMetadataDocumentUse: (url, at, expiresAt) =>
      database.write(
        sql`UPDATE client_metadata_documents SET last_used_at = ${at}, expires_at = ${expiresAt} WHERE url = ${url}`,
      ),
  };
}

function readCopy(rows: readonly unknown[]): ClientMetadataDocumentRecord | null {
  const copy = columns.readFirst(rows);
  return copy && Object.freeze(copy);
}
