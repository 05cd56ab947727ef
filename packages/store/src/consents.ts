/** What people have allowed their clients, read from the grants that stand. */
import type { GrantStore, RememberedConsent } from '@portcullis/authorization-server/store';
import type { Database } from './database.ts';
import { readList } from './json.ts';
import { sql } from './sql.ts';

interface ConsentRow {
  readonly scopes: string;
  readonly resources: string;
  readonly workspace: string | null;
  readonly used_at: number;
}

export type ConsentStore = Pick<GrantStore, 'findNewestRememberedConsent' | 'listRememberedConsents'>;

export function createConsentStore(database: Database): ConsentStore {
  return {
    async findNewestRememberedConsent(accountId, clientId, terms, now) {
      const [row] = await database.read<ConsentRow>(
        sql`SELECT scopes, resources, workspace, last_used_at AS used_at FROM grants
          WHERE account_id = ${accountId} AND client_id = ${clientId} AND revoked_at IS NULL AND terms = ${terms}
            AND expires_at > ${now}
          ORDER BY created_at DESC LIMIT 1`,
      );
      return row === undefined ? null : readConsent(row);
    },
    async listRememberedConsents(accountId, clientId, terms, now) {
      const rows = await database.read<ConsentRow>(
        sql`SELECT scopes, resources, workspace, MAX(last_used_at) AS used_at FROM grants
          WHERE account_id = ${accountId} AND revoked_at IS NULL AND client_id = ${clientId} AND terms = ${terms}
            AND expires_at > ${now}
          GROUP BY scopes, resources, workspace ORDER BY used_at DESC`,
      );
      return rows.map(readConsent);
    },
  };
}

function readConsent(row: ConsentRow): RememberedConsent {
  return {
    scopes: readList(row.scopes),
    resources: readList(row.resources),
    workspace: row.workspace,
    lastUsedAt: row.used_at,
  };
}
