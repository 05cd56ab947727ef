/** TOTP factors and recovery codes. */
import type { MfaStore, TotpFactorRecord } from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { sql } from '../sql.ts';
import { createPasskeyStore, type PasskeyStore } from './passkeys.ts';

interface TotpFactorRow {
  readonly account_id: string;
  readonly encrypted_secret: string;
  readonly last_step: number;
  readonly created_at: number;
}

type TotpStore = Omit<MfaStore, keyof PasskeyStore>;

export function createMfaStore(database: Database): MfaStore {
  return { ...createTotpStore(database), ...createPasskeyStore(database) };
}

function createTotpStore(database: Database): TotpStore {
  return {
    async findTotpFactor(accountId) {
      const [row] = await database.read<TotpFactorRow>(
        sql`SELECT account_id, encrypted_secret, last_step, created_at FROM totp_factors WHERE account_id = ${accountId}`,
      );
      return row === undefined ? null : readFactor(row);
    },
    async listTotpFactors(after, limit) {
      const rows = await database.read<TotpFactorRow>(
        sql`SELECT account_id, encrypted_secret, last_step, created_at FROM totp_factors WHERE account_id > ${after}
          ORDER BY account_id LIMIT ${limit}`,
      );
      return rows.map(readFactor);
    },
    async reencryptTotpFactor(accountId, from, to) {
      const reencrypted = await database.write(
        sql`UPDATE totp_factors SET encrypted_secret = ${to} WHERE account_id = ${accountId} AND encrypted_secret = ${from}
          RETURNING 1 AS one`,
      );
      return reencrypted.length > 0;
    },
    saveTotpFactor: (record, recoveryHashes) =>
      database.transact({ steps: () => save(record, recoveryHashes), postgres: { lock: 'accounts' } }),
    async consumeTotpStep(accountId, step) {
      const used = await database.write(
        sql`UPDATE totp_factors SET last_step = ${step} WHERE account_id = ${accountId} AND last_step < ${step}
          RETURNING 1 AS one`,
      );
      return used.length > 0;
    },
    async consumeRecoveryCode(accountId, hash) {
      const used = await database.write(
        sql`DELETE FROM recovery_codes WHERE account_id = ${accountId} AND hash = ${hash} RETURNING 1 AS one`,
      );
      return used.length > 0;
    },
    replaceRecoveryCodes: (accountId, hashes) =>
      database.transact({ steps: () => replaceCodes(accountId, hashes), postgres: { lock: 'accounts' } }),
    async countRecoveryCodes(accountId) {
      const codes = await database.read(sql`SELECT hash FROM recovery_codes WHERE account_id = ${accountId}`);
      return codes.length;
    },
    removeTotpFactor: (accountId) =>
      database.transact({ steps: () => deleteTotpFactor(accountId), postgres: { lock: 'accounts' } }),
  };
}

function readFactor(row: TotpFactorRow): TotpFactorRecord {
  const {
    account_id: accountId,
    encrypted_secret: encryptedSecret,
    last_step: lastStep,
    created_at: createdAt,
  } = row;
  return { accountId, encryptedSecret, lastStep, createdAt };
}

function* save(record: TotpFactorRecord, recoveryHashes: readonly string[]): Steps<void> {
  yield* deleteTotpFactor(record.accountId);
  yield sql`INSERT INTO totp_factors (account_id, encrypted_secret, last_step, created_at)
    VALUES (${record.accountId}, ${record.encryptedSecret}, ${record.lastStep}, ${record.createdAt})`;
  yield* insertCodes(record.accountId, recoveryHashes);
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
