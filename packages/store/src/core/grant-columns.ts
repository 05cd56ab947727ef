/** The columns of a grant, whose refresh token is part of its row. */
import type { GrantRecord, RefreshTokenRecord } from '@portcullis/authorization-server/store';
import { defineRecordColumns, type RecordColumns } from '../record-columns.ts';
import type { Query } from '../sql.ts';

export const GRANT_MEMBERS = `id clientId accountId scopes:list resources:list workspace consentDigest createdAt expiresAt lastUsedAt
  lastUsedFrom keyThumbprint? authentication?:json managedBy?`;

export const grantColumns: RecordColumns<GrantRecord> = defineRecordColumns(GRANT_MEMBERS);

/** All are `NULL` in a grant without a refresh token. */
export const tokenColumns: RecordColumns<RefreshTokenRecord> = defineRecordColumns(
  'hash generation seed issuedAt expiresAt rotations',
  'refreshToken',
);

export const insertGrant: (grant: GrantRecord) => Query = grantColumns.insertInto('grants');
