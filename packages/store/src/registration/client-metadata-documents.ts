/** The cache of Client ID Metadata Documents. */
import type { ClientMetadataDocumentRecord, RegistrationStore } from '@portcullis/authorization-server/store';
import type { Database } from '../database.ts';
import { readFrozenJson } from '../json.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, type Query, sql } from '../sql.ts';

type ClientDocumentRow = Omit<ClientMetadataDocumentRecord, 'metadata'> & { readonly metadata: string };

const columns = defineRecordColumns<ClientDocumentRow>(
  'url metadata digest etag lastModified fetchedAt freshUntil lastUsedAt expiresAt',
);
const documentByUrl = defineQuery(`SELECT ${columns.select()} FROM client_metadata_documents WHERE url = ?`);

export type ClientMetadataDocumentStore = Pick<
  RegistrationStore,
  'findClientMetadataDocument' | 'saveClientMetadataDocument' | 'recordClientMetadataDocumentUse'
>;

export function createClientMetadataDocumentStore(database: Database): ClientMetadataDocumentStore {
  return {
    findClientMetadataDocument: (url) =>
      database.readCached('client_metadata_documents', documentByUrl(url), readCopy),
    async saveClientMetadataDocument(copy) {
      await database.write(upsert(copy));
    },
    async recordClientMetadataDocumentUse(url, at, expiresAt) {
      await database.write(
        sql`UPDATE client_metadata_documents SET last_used_at = ${at}, expires_at = ${expiresAt} WHERE url = ${url}`,
      );
    },
  };
}

function upsert(copy: ClientMetadataDocumentRecord): Query {
  return sql`INSERT INTO client_metadata_documents (url, metadata, digest, etag, last_modified, fetched_at, fresh_until, last_used_at,
      expires_at)
    VALUES (${copy.url}, ${JSON.stringify(copy.metadata)}, ${copy.digest}, ${copy.etag}, ${copy.lastModified},
      ${copy.fetchedAt}, ${copy.freshUntil}, ${copy.lastUsedAt}, ${copy.expiresAt})
    ON CONFLICT (url) DO UPDATE SET metadata = excluded.metadata, digest = excluded.digest, etag = excluded.etag,
      last_modified = excluded.last_modified, fetched_at = excluded.fetched_at, fresh_until = excluded.fresh_until,
      expires_at = CASE WHEN excluded.expires_at > client_metadata_documents.expires_at
        THEN excluded.expires_at ELSE client_metadata_documents.expires_at END
    WHERE excluded.fetched_at >= client_metadata_documents.fetched_at`;
}

function readCopy(rows: readonly unknown[]): ClientMetadataDocumentRecord | null {
  const copy = columns.readFirst(rows);
  if (copy === null) return null;
  return Object.freeze<ClientMetadataDocumentRecord>({ ...copy, metadata: readFrozenJson(copy.metadata) });
}
