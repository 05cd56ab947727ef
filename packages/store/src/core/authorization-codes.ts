/** Authorization codes: single use, redeemed together with the creation of their grant. */
import type {
  AuthorizationCodeRecord,
  CodeRedemption,
  FoundAuthorizationCode,
  GrantRecord,
  GrantStore,
  RefreshTokenRecord,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { defineRecordColumns, type RecordColumns } from '../record-columns.ts';
import { defineQuery, defineTemplate, type Query, sql, type Value } from '../sql.ts';
import { grantColumns, tokenColumns } from './grant-columns.ts';

const MEMBERS = `hash grantId clientId accountId redirectUri codeChallenge scopes:list resources:list workspace consentDigest issuedAt
  expiresAt keyThumbprint? authentication?:json`;
export const codeColumns: RecordColumns<AuthorizationCodeRecord> = defineRecordColumns(MEMBERS);
const foundColumns = defineRecordColumns<FoundAuthorizationCode>(`${MEMBERS} consumedAt`);

const codeByHash = defineQuery(`SELECT ${foundColumns.select()} FROM authorization_codes WHERE hash = ?`);
export const insertCode: (code: AuthorizationCodeRecord) => Query =
  codeColumns.insertInto('authorization_codes');

export type AuthorizationCodeStore = Pick<GrantStore, 'findCode' | 'redeemCode' | 'invalidateCode'>;

export function createAuthorizationCodeStore(database: Database): AuthorizationCodeStore {
  return {
    findCode: (hash) => foundColumns.findFirst(database, codeByHash(hash)),
    redeemCode: (codeHash, grant, refreshToken, at) =>
      database.transact(() => redeem(codeHash, grant, refreshToken, at), {
        query: () => redeemAtOnce(grant.accountId, at, codeHash, ...valuesOf(grant, refreshToken)),
        read: readRedemption,
        row: ['accounts', grant.accountId],
      }),
    invalidateCode: (hash, at) =>
      database.write(
        sql`UPDATE authorization_codes SET consumed_at = ${at} WHERE hash = ${hash} AND consumed_at IS NULL`,
      ),
  };
}

const names = `${grantColumns.names}, ${tokenColumns.names}`;
const marks = `${grantColumns.marks}, ${tokenColumns.marks}`;

function valuesOf(grant: GrantRecord, token: RefreshTokenRecord | null): readonly Value[] {
  return [...grantColumns.values(grant), ...tokenColumns.values(token)];
}

// `OR ROLLBACK`: an error ends the transaction, so SQLite need not copy pages to undo the statement alone.
const insertGrant = defineTemplate(`INSERT OR ROLLBACK INTO grants (${names}) SELECT ${marks}
  FROM accounts WHERE id = ? AND disabled_at IS NULL RETURNING 1 AS one`);

function* redeem(
  codeHash: string,
  grant: GrantRecord,
  token: RefreshTokenRecord | null,
  at: number,
): Steps<CodeRedemption> {
  // Point of no return: only one of several concurrent redemptions finds the code unused.
  const consumed =
    yield sql`UPDATE authorization_codes SET consumed_at = ${at} WHERE hash = ${codeHash} AND consumed_at IS NULL RETURNING 1 AS one`;
  if (consumed.length === 0) return 'already_used';
  const granted = yield { template: insertGrant, values: [...valuesOf(grant, token), grant.accountId] };
  return granted.length > 0 ? 'redeemed' : 'account_unavailable';
}

/**
 * The account is locked first (`FOR SHARE`), before the code is touched: a concurrent disabling or removal either completes first, or
 * waits and then finds the grant. Both lock account and code in the same order, so they never deadlock.
 */
const redeemAtOnce = defineQuery(`WITH owner AS (
      SELECT id FROM accounts WHERE id = ? AND disabled_at IS NULL FOR SHARE
    ), consumed AS (
      UPDATE authorization_codes SET consumed_at = ? WHERE hash = ? AND consumed_at IS NULL AND (SELECT count(*) FROM owner) >= 0
      RETURNING hash
    ), granted AS (
      INSERT INTO grants (${names}) SELECT ${marks} FROM consumed, owner RETURNING id
    ) SELECT CASE WHEN EXISTS (SELECT 1 FROM granted) THEN 'redeemed' ELSE 'account_unavailable' END AS outcome FROM consumed`);

function readRedemption(rows: readonly unknown[]): CodeRedemption {
  const [row] = rows as readonly { readonly outcome: CodeRedemption }[];
  return row?.outcome ?? 'already_used';
}
