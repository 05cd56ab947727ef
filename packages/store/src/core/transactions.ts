/** Authorization transactions, and the codes issued when they complete. */
import type {
  AuthorizationCodeRecord,
  AuthorizationTransactionRecord,
  TransactionStore,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { jsonOrNull, readJson } from '../json.ts';
import { type Query, sql } from '../sql.ts';
import { insertCode } from './authorization-codes.ts';

interface TransactionRow {
  readonly id: string;
  readonly browser_hash: string;
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly redirect_uri_sent: number;
  readonly state: string;
  readonly code_challenge: string;
  readonly key_thumbprint: string | null;
  readonly acr_values: string | null;
  readonly scopes: string;
  readonly resources: string;
  readonly account_id: string | null;
  readonly approved_scopes: string;
  readonly force_login: number;
  readonly identity_provider: string | null;
  readonly linked_grant_id: string | null;
  readonly created_at: number;
  readonly expires_at: number;
}

export function createTransactionStore(database: Database): TransactionStore {
  return {
    async openTransaction(transaction, network = null) {
      await database.write(insertTransaction(transaction, network), [
        'authorization_transactions',
        transaction.id,
      ]);
    },
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
      return readTransaction(
        await database.read<TransactionRow>(
          sql`SELECT id, browser_hash, client_id, redirect_uri, redirect_uri_sent, state, code_challenge, key_thumbprint, acr_values, scopes,
              resources, account_id, approved_scopes, force_login, identity_provider, linked_grant_id, created_at, expires_at
            FROM authorization_transactions WHERE id = ${id} AND expires_at > ${now}`,
        ),
      );
    },
    async setTransactionAccount(id, accountId) {
      await database.write(
        sql`UPDATE authorization_transactions SET account_id = ${accountId}, network = NULL WHERE id = ${id}`,
        ['authorization_transactions', id],
      );
    },
    async issueCode(code) {
      await database.write(insertCode(code), ['authorization_codes', code.hash]);
    },
    completeTransaction: (id, code) =>
      database.transact(() => complete(id, code), {
        query: () => completeInOneStatement(id, code),
        read: (ended) => ended.length > 0,
        row: ['authorization_transactions', id],
      }),
  };
}

function* complete(id: string, code: AuthorizationCodeRecord | null): Steps<boolean> {
  const ended = yield sql`DELETE FROM authorization_transactions WHERE id = ${id} RETURNING 1 AS one`;
  if (ended.length === 0) return false;
  if (code !== null) yield insertCode(code);
  return true;
}

/** Of two concurrent deletions of a row, one waits for the other and then finds no row. */
function completeInOneStatement(id: string, code: AuthorizationCodeRecord | null): Query {
  if (code === null) return sql`DELETE FROM authorization_transactions WHERE id = ${id} RETURNING 1 AS one`;
  return sql`WITH ended AS (
      DELETE FROM authorization_transactions WHERE id = ${id} RETURNING id
    ), issued AS (
      INSERT INTO authorization_codes (hash, grant_id, client_id, account_id, redirect_uri, code_challenge, scopes, resources,
        workspace, consent_digest, issued_at, expires_at, key_thumbprint, authentication)
      SELECT ${code.hash}, ${code.grantId}, ${code.clientId}, ${code.accountId}, ${code.redirectUri}, ${code.codeChallenge},
        ${JSON.stringify(code.scopes)}, ${JSON.stringify(code.resources)}, ${code.workspace}::text, ${code.consentDigest},
        ${code.issuedAt}::bigint, ${code.expiresAt}::bigint, ${code.keyThumbprint ?? null}::text, ${jsonOrNull(code.authentication)}::text
      FROM ended
    ) SELECT id FROM ended`;
}

function insertTransaction(transaction: AuthorizationTransactionRecord, network: string | null): Query {
  const { id, browserHash, clientId, redirectUri, encryptedState, codeChallenge, accountId, approvedScopes } =
    transaction;
  return sql`INSERT INTO authorization_transactions (id, browser_hash, client_id, redirect_uri, redirect_uri_sent, state, code_challenge,
      scopes, resources, account_id, approved_scopes, force_login, identity_provider, linked_grant_id, created_at, expires_at, network, key_thumbprint, acr_values)
    VALUES (${id}, ${browserHash}, ${clientId}, ${redirectUri}, ${Number(transaction.redirectUriSent)}, ${JSON.stringify(encryptedState)},
      ${codeChallenge}, ${JSON.stringify(transaction.scopes)}, ${JSON.stringify(transaction.resources)}, ${accountId},
      ${JSON.stringify(approvedScopes)}, ${Number(transaction.forceLogin)}, ${transaction.identityProvider}, ${transaction.linkedGrantId},
      ${transaction.createdAt}, ${transaction.expiresAt}, ${network},
      ${transaction.keyThumbprint ?? null}, ${transaction.acrValues?.join(' ') ?? null})`;
}

function readTransaction([row]: readonly TransactionRow[]): AuthorizationTransactionRecord | null {
  if (row === undefined) return null;
  return {
    id: row.id,
    browserHash: row.browser_hash,
    clientId: row.client_id,
    redirectUri: row.redirect_uri,
    redirectUriSent: row.redirect_uri_sent === 1,
    encryptedState: readJson(row.state),
    codeChallenge: row.code_challenge,
    ...(row.acr_values !== null && row.acr_values !== '' && { acrValues: row.acr_values.split(' ') }),
    ...(row.key_thumbprint !== null && { keyThumbprint: row.key_thumbprint }),
    scopes: readJson(row.scopes),
    resources: readJson(row.resources),
    accountId: row.account_id,
    approvedScopes: readJson(row.approved_scopes),
    forceLogin: row.force_login === 1,
    identityProvider: row.identity_provider,
    linkedGrantId: row.linked_grant_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
