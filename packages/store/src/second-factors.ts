/** Second factors and recovery codes as facts of a database. */
import type { TotpFactorRecord, TotpStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { sql } from './sql.ts';

interface TotpFactorRow {
  readonly account_id: string;
  readonly sealed_secret: string;
  readonly last_step: number;
  readonly created_at: number;
}

export function createTotpFactorStore(database: Database): TotpStore {
  return {
    async findTotpFactor(accountId) {
      const [row] = await database.read<TotpFactorRow>(
        sql`SELECT account_id, sealed_secret, last_step, created_at FROM second_factors WHERE account_id = ${accountId}`,
      );
      return row === undefined ? null : readFactor(row);
    },
    async listTotpFactors(after, limit) {
      const rows = await database.read<TotpFactorRow>(
        sql`SELECT account_id, sealed_secret, last_step, created_at FROM second_factors WHERE account_id > ${after}
          ORDER BY account_id LIMIT ${limit}`,
      );
      return rows.map(readFactor);
    },
    async reencryptTotpFactor(accountId, from, to) {
      const resealed = await database.change(
        sql`UPDATE second_factors SET sealed_secret = ${to} WHERE account_id = ${accountId} AND sealed_secret = ${from}
          RETURNING 1 AS one`,
      );
      return resealed.length > 0;
    },
    saveTotpFactor: (record, recoveryHashes) =>
      database.fact({ steps: () => save(record, recoveryHashes), postgres: { lock: 'accounts' } }),
    async consumeTotpStep(accountId, step) {
      const used = await database.change(
        sql`UPDATE second_factors SET last_step = ${step} WHERE account_id = ${accountId} AND last_step < ${step}
          RETURNING 1 AS one`,
      );
      return used.length > 0;
    },
    async consumeRecoveryCode(accountId, hash) {
      const used = await database.change(
        sql`DELETE FROM recovery_codes WHERE account_id = ${accountId} AND hash = ${hash} RETURNING 1 AS one`,
      );
      return used.length > 0;
    },
    replaceRecoveryCodes: (accountId, hashes) =>
      database.fact({ steps: () => replaceCodes(accountId, hashes), postgres: { lock: 'accounts' } }),
    async countRecoveryCodes(accountId) {
      const codes = await database.read(sql`SELECT hash FROM recovery_codes WHERE account_id = ${accountId}`);
      return codes.length;
    },
    removeTotpFactor: (accountId) =>
      database.fact({ steps: () => forgetTotpFactor(accountId), postgres: { lock: 'accounts' } }),
  };
}

function readFactor(row: TotpFactorRow): TotpFactorRecord {
  const {
    account_id: accountId,
    sealed_secret: encryptedSecret,
    last_step: lastStep,
    created_at: createdAt,
  } = row;
  return { accountId, encryptedSecret, lastStep, createdAt };
}

function* save(record: TotpFactorRecord, recoveryHashes: readonly string[]): Steps<void> {
  yield* forgetTotpFactor(record.accountId);
  yield sql`INSERT INTO second_factors (account_id, sealed_secret, last_step, created_at)
    VALUES (${record.accountId}, ${record.encryptedSecret}, ${record.lastStep}, ${record.createdAt})`;
  yield* keepCodes(record.accountId, recoveryHashes);
}

function* replaceCodes(accountId: string, hashes: readonly string[]): Steps<boolean> {
  const factors = yield sql`SELECT 1 AS one FROM second_factors WHERE account_id = ${accountId}`;
  if (factors.length === 0) return false;
  yield sql`DELETE FROM recovery_codes WHERE account_id = ${accountId}`;
  yield* keepCodes(accountId, hashes);
  return true;
}

function* keepCodes(accountId: string, hashes: readonly string[]): Steps<void> {
  for (const hash of hashes) {
    yield sql`INSERT INTO recovery_codes (account_id, hash) VALUES (${accountId}, ${hash})`;
  }
}

export function* forgetTotpFactor(accountId: string): Steps<boolean> {
  const forgotten = yield sql`DELETE FROM second_factors WHERE account_id = ${accountId} RETURNING 1 AS one`;
  yield sql`DELETE FROM recovery_codes WHERE account_id = ${accountId}`;
  return forgotten.length > 0;
}
