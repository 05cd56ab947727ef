/** Second factors and recovery codes as facts of a database. */
import type { SecondFactorRecord, SecondFactorStore } from '@portcullis/authorization-server/ports';
import type { Database, Steps } from './database.ts';
import { sql } from './sql.ts';

interface SecondFactorRow {
  readonly account_id: string;
  readonly sealed_secret: string;
  readonly last_step: number;
  readonly created_at: number;
}

export function createSecondFactorStore(database: Database): SecondFactorStore {
  return {
    async findSecondFactor(accountId) {
      const [row] = await database.read<SecondFactorRow>(
        sql`SELECT account_id, sealed_secret, last_step, created_at FROM second_factors WHERE account_id = ${accountId}`,
      );
      return row === undefined ? null : readFactor(row);
    },
    async listSecondFactors(after, limit) {
      const rows = await database.read<SecondFactorRow>(
        sql`SELECT account_id, sealed_secret, last_step, created_at FROM second_factors WHERE account_id > ${after}
          ORDER BY account_id LIMIT ${limit}`,
      );
      return rows.map(readFactor);
    },
    async resealSecondFactor(accountId, from, to) {
      const resealed = await database.change(
        sql`UPDATE second_factors SET sealed_secret = ${to} WHERE account_id = ${accountId} AND sealed_secret = ${from}
          RETURNING 1 AS one`,
      );
      return resealed.length > 0;
    },
    saveSecondFactor: (record, recoveryHashes) =>
      database.fact({ steps: () => save(record, recoveryHashes), postgres: { lock: 'accounts' } }),
    async useSecondFactor(accountId, step) {
      const used = await database.change(
        sql`UPDATE second_factors SET last_step = ${step} WHERE account_id = ${accountId} AND last_step < ${step}
          RETURNING 1 AS one`,
      );
      return used.length > 0;
    },
    async useRecoveryCode(accountId, hash) {
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
    removeSecondFactor: (accountId) =>
      database.fact({ steps: () => forgetSecondFactor(accountId), postgres: { lock: 'accounts' } }),
  };
}

function readFactor(row: SecondFactorRow): SecondFactorRecord {
  const {
    account_id: accountId,
    sealed_secret: sealedSecret,
    last_step: lastStep,
    created_at: createdAt,
  } = row;
  return { accountId, sealedSecret, lastStep, createdAt };
}

function* save(record: SecondFactorRecord, recoveryHashes: readonly string[]): Steps<void> {
  yield* forgetSecondFactor(record.accountId);
  yield sql`INSERT INTO second_factors (account_id, sealed_secret, last_step, created_at)
    VALUES (${record.accountId}, ${record.sealedSecret}, ${record.lastStep}, ${record.createdAt})`;
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

export function* forgetSecondFactor(accountId: string): Steps<boolean> {
  const forgotten = yield sql`DELETE FROM second_factors WHERE account_id = ${accountId} RETURNING 1 AS one`;
  yield sql`DELETE FROM recovery_codes WHERE account_id = ${accountId}`;
  return forgotten.length > 0;
}
