/** The cache of Client ID Metadata Documents. */
import type { ClientMetadataDocumentRecord, RegistrationStore } from '@portcullis/authorization-server/store';
import type { Database } from '../database.ts';
import { readFrozenJson } from '../json.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, type Query, sql } from '../sql.ts';

type ClientDocumentRow = Omit<ClientMetadataDocumentRecord, 'metadata'> & { readonly metadata: string };

const columns = defineRecordColumns<ClientDocumentRow>(
  'url metadata digest etag lastModified fetchedAt freshUntil lastUsedAt expiresAt verifiedAt',
);
const documentsAfter = defineQuery(
  `SELECT ${columns.select()} FROM client_metadata_documents WHERE url > ? ORDER BY url LIMIT ?`,
);
const documentByUrl = defineQuery(`SELECT ${columns.select()} FROM client_metadata_documents WHERE url = ?`);

export type ClientMetadataDocumentStore = Pick<
  RegistrationStore,
  | 'findClientMetadataDocument'
  | 'listClientMetadataDocuments'
  | 'saveClientMetadataDocument'
  | 'saveClientMetadataDocumentVerification'
  | 'recordClientMetadataDocumentUse'
>;

export function createClientMetadataDocumentStore(database: Database): ClientMetadataDocumentStore {
  return {
    findClientMetadataDocument: (url) =>
      database.readCached('client_metadata_documents', documentByUrl(url), readCopy),
    async saveClientMetadataDocument(copy) {
      await database.write(upsert(copy));
    },
    async listClientMetadataDocuments(after, limit) {
      return (await database.read(documentsAfter(after, limit))).map((row) =>
        readDocument(columns.read(row)),
      );
    },
    saveClientMetadataDocumentVerification: (url, digest, verifiedAt) =>
      database.changes(
        sql`UPDATE client_metadata_documents SET verified_at = ${verifiedAt} WHERE url = ${url} AND digest = ${digest}
          RETURNING 1 AS one`,
      ),
    async recordClientMetadataDocumentUse(url, at, expiresAt) {
      await database.write(
        sql`UPDATE client_metadata_documents SET last_used_at = ${at}, expires_at = ${expiresAt} WHERE url = ${url}`,
      );
    },
  };
}

function upsert(copy: ClientMetadataDocumentRecord): Query {
  return sql`INSERT INTO client_metadata_documents (url, metadata, digest, etag, last_modified, fetched_at, fresh_until, last_used_at,
      expires_at, verified_at)
    VALUES (${copy.url}, ${JSON.stringify(copy.metadata)}, ${copy.digest}, ${copy.etag}, ${copy.lastModified},
      ${copy.fetchedAt}, ${copy.freshUntil}, ${copy.lastUsedAt}, ${copy.expiresAt}, ${copy.verifiedAt})
    ON CONFLICT (url) DO UPDATE SET metadata = excluded.metadata, digest = excluded.digest, etag = excluded.etag,
      last_modified = excluded.last_modified, fetched_at = excluded.fetched_at, fresh_until = excluded.fresh_until,
      verified_at = CASE WHEN excluded.digest = client_metadata_documents.digest THEN client_metadata_documents.verified_at END,
      expires_at = CASE WHEN excluded.expires_at > client_metadata_documents.expires_at
        THEN excluded.expires_at ELSE client_metadata_documents.expires_at END
    WHERE excluded.fetched_at >= client_metadata_documents.fetched_at`;
}

function readCopy(rows: readonly unknown[]): ClientMetadataDocumentRecord | null {
  const copy = columns.readFirst(rows);
  if (copy === null) return null;
  return readDocument(copy);
}

function readDocument(row: ClientDocumentRow): ClientMetadataDocumentRecord {
  return Object.freeze<ClientMetadataDocumentRecord>({ ...row, metadata: readFrozenJson(row.metadata) });
}
