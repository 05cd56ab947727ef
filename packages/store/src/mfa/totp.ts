/** TOTP factors and recovery codes. */
import type { MfaStore, TotpFactorRecord, TotpStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, sql } from '../sql.ts';
import { changeInSession } from './change-in-session.ts';
import { createPasskeyStore } from './passkeys.ts';

const columns = defineRecordColumns<TotpFactorRecord>('accountId encryptedSecret lastStep createdAt');
const SELECT = `SELECT ${columns.select()} FROM totp_factors`;
const factorOfAccount = defineQuery(`${SELECT} WHERE account_id = ?`);
const factorsAfter = defineQuery(`${SELECT} WHERE account_id > ? ORDER BY account_id LIMIT ?`);

export function createMfaStore(database: Database): MfaStore {
  return { ...createTotpStore(database), ...createPasskeyStore(database) };
}

function createTotpStore(database: Database): TotpStore {
  return {
    findTotpFactor: (accountId) => columns.findFirst(database, factorOfAccount(accountId)),
    listTotpFactors: (after, limit) => columns.findAll(database, factorsAfter(after, limit)),
    reencryptTotpFactor: (accountId, from, to) =>
      database.changes(
        sql`UPDATE totp_factors SET encrypted_secret = ${to} WHERE account_id = ${accountId} AND encrypted_secret = ${from}
          RETURNING 1 AS one`,
      ),
    saveTotpFactor: (record, recoveryHashes, sessionHash) =>
      database.transact(
        () => changeInSession(sessionHash, record.accountId, () => save(record, recoveryHashes)),
        'accounts',
      ),
    consumeTotpStep: (accountId, step) =>
      database.changes(
        sql`UPDATE totp_factors SET last_step = ${step} WHERE account_id = ${accountId} AND last_step < ${step}
          RETURNING 1 AS one`,
      ),
    consumeRecoveryCode: (accountId, hash) =>
      database.changes(
        sql`DELETE FROM recovery_codes WHERE account_id = ${accountId} AND hash = ${hash} RETURNING 1 AS one`,
      ),
    replaceRecoveryCodes: (accountId, hashes, sessionHash) =>
      database.transact(
        () => changeInSession(sessionHash, accountId, () => replaceCodes(accountId, hashes)),
        'accounts',
      ),
    async countRecoveryCodes(accountId) {
      const codes = await database.read(sql`SELECT hash FROM recovery_codes WHERE account_id = ${accountId}`);
      return codes.length;
    },
    removeTotpFactor: (accountId) => database.transact(() => deleteTotpFactor(accountId), 'accounts'),
  };
}

function* save(record: TotpFactorRecord, recoveryHashes: readonly string[]): Steps<boolean> {
  yield* deleteTotpFactor(record.accountId);
  yield sql`INSERT INTO totp_factors (account_id, encrypted_secret, last_step, created_at)
    VALUES (${record.accountId}, ${record.encryptedSecret}, ${record.lastStep}, ${record.createdAt})`;
  yield* insertCodes(record.accountId, recoveryHashes);
  return true;
}

function* replaceCodes(accountId: string, hashes: readonly string[]): Steps<boolean> {
  const factors = yield sql`SELECT 1 AS one FROM totp_factors WHERE account_id = ${accountId}`;
  if (factors.length === 0) return false;
  yield sql`DELETE FROM recovery_codes WHERE account_id = ${accountId}`;
  yield* insertCodes(accountId, hashes);
  return true;
}

function* insertCodes(accountId: string, hashes: readonly string[]): Steps<void> {
  for (const hash of hashes) {
    yield sql`INSERT INTO recovery_codes (account_id, hash) VALUES (${accountId}, ${hash})`;
  }
}

export function* deleteTotpFactor(accountId: string): Steps<boolean> {
  const deleted = yield sql`DELETE FROM totp_factors WHERE account_id = ${accountId} RETURNING 1 AS one`;
  yield sql`DELETE FROM recovery_codes WHERE account_id = ${accountId}`;
  return deleted.length > 0;
}
