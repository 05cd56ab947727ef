/** Authorization transactions, and the codes issued when they complete. */
import type {
  AuthorizationCodeRecord,
  AuthorizationTransactionRecord,
  TransactionStore,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { readJson } from '../json.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, type Query, sql } from '../sql.ts';
import { codeColumns, insertCode } from './authorization-codes.ts';

interface TransactionRow
  extends Omit<AuthorizationTransactionRecord, 'encryptedState' | 'approvedScopes' | 'acrValues'> {
  /** JSON, also of `null`. */
  readonly state: string;
  readonly approvedScopes: string;
  /** Separated by spaces. */
  readonly acrValues: string | null;
}

const MEMBERS = `id browserHash clientId redirectUri redirectUriSent:boolean state codeChallenge keyThumbprint? acrValues scopes:list
  resources:list accountId approvedScopes forceLogin:boolean identityProvider linkedGrantId createdAt expiresAt`;
const columns = defineRecordColumns<TransactionRow>(MEMBERS);
const liveTransaction = defineQuery(
  `SELECT ${columns.select()} FROM authorization_transactions WHERE id = ? AND expires_at > ?`,
);
const insert = defineRecordColumns<TransactionRow & { readonly network: string | null }>(
  `${MEMBERS} network`,
).insertInto('authorization_transactions');

export function createTransactionStore(database: Database): TransactionStore {
  return {
    openTransaction: (transaction, network = null) =>
      database.write(insertTransaction(transaction, network), ['authorization_transactions', transaction.id]),
    async countAnonymousTransactions(now) {
      const [row] = await database.read<{ readonly open: number }>(
        sql`SELECT COUNT(*) AS open FROM authorization_transactions WHERE network IS NOT NULL AND expires_at > ${now}`,
      );
      return row?.open ?? 0;
    },
    async countAnonymousTransactionsByNetwork(now) {
      const rows = await database.read<{ readonly network: string; readonly open: number }>(
        sql`SELECT network, COUNT(*) AS open FROM authorization_transactions
          WHERE network IS NOT NULL AND expires_at > ${now} GROUP BY network`,
      );
      return new Map(rows.map(({ network, open }) => [network, open]));
    },
    async findTransaction(id, now) {
      const row = await columns.findFirst(database, liveTransaction(id, now));
      return row === null ? null : readTransaction(row);
    },
    setTransactionAccount: (id, accountId) =>
      database.write(
        // What another user connected before is not part of this user's grant.
        sql`UPDATE authorization_transactions SET account_id = ${accountId}, network = NULL,
            linked_grant_id = CASE WHEN account_id = ${accountId} THEN linked_grant_id END
          WHERE id = ${id}`,
        ['authorization_transactions', id],
      ),
    issueCode: (code) => database.write(insertCode(code), ['authorization_codes', code.hash]),
    completeTransaction: (id, code) =>
      database.transact(() => complete(id, code), {
        query: () => completeInOneStatement(id, code),
        read: (ended) => ended.length > 0,
        row: ['authorization_transactions', id],
      }),
  };
}

function* complete(id: string, code: AuthorizationCodeRecord | null): Steps<boolean> {
  const ended = yield deleteTransaction(id);
  if (ended.length === 0) return false;
  if (code !== null) yield insertCode(code);
  return true;
}

const deleteTransaction = defineQuery(
  'DELETE FROM authorization_transactions WHERE id = ? RETURNING 1 AS one',
);
const completeWithCode = defineQuery(`WITH ended AS (
      DELETE FROM authorization_transactions WHERE id = ? RETURNING id
    ), issued AS (
      INSERT INTO authorization_codes (${codeColumns.names}) SELECT ${codeColumns.marks} FROM ended
    ) SELECT id FROM ended`);

/** Of two concurrent deletions of a row, one waits for the other and then finds no row. */
function completeInOneStatement(id: string, code: AuthorizationCodeRecord | null): Query {
  return code === null ? deleteTransaction(id) : completeWithCode(id, ...codeColumns.values(code));
}

function insertTransaction(
  { encryptedState, approvedScopes, acrValues, ...others }: AuthorizationTransactionRecord,
  network: string | null,
): Query {
  return insert({
    ...others,
    state: JSON.stringify(encryptedState),
    approvedScopes: JSON.stringify(approvedScopes),
    acrValues: acrValues?.join(' ') ?? null,
    network,
  });
}

function readTransaction(row: TransactionRow): AuthorizationTransactionRecord {
  const { state, approvedScopes, acrValues, ...others } = row;
  return {
    ...others,
    encryptedState: readJson(state),
    approvedScopes: readJson(approvedScopes),
    ...(acrValues && { acrValues: acrValues.split(' ') }),
  };
}
