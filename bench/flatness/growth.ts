/** What users and servers collect, one thing at a time: few and many of it. */
import type { DatabaseSync } from 'node:sqlite';

/** How many there are of each thing. */
export interface Size {
  /** Live grants of each user and the client that is measured. */
  readonly grants: number;
  /** Clients of each user, with a grant each. */
  readonly appsOfUser: number;
  readonly sessions: number;
  readonly passkeys: number;
  /** Connected accounts of each user. */
  readonly connectedAccounts: number;
  /** Clients in the configuration. */
  readonly configuredClients: number;
  readonly servers: number;
  /** Scopes of each server, all of them requested. */
  readonly scopes: number;
}

export const SMALL: Size = {
  grants: 1,
  appsOfUser: 1,
  sessions: 1,
  passkeys: 0,
  connectedAccounts: 0,
  configuredClients: 2,
  servers: 1,
  scopes: 1,
};

/** What is compared with `SMALL`. */
export const dimensions: Readonly<Record<string, Partial<Size>>> = {
  'nothing: the same again': {},
  '20 grants of the client': { grants: 20 },
  // Codes that are measured add to them, up to the bound of 200.
  '150 grants of the client': { grants: 150 },
  '200 apps of the user': { appsOfUser: 200 },
  '200 sessions of the user': { sessions: 200 },
  '200 passkeys of the user': { passkeys: 200 },
  '200 connected accounts of the user': { connectedAccounts: 200 },
  '1,000 configured clients': { configuredClients: 1000 },
  '200 servers': { servers: 200 },
  '30 scopes': { scopes: 30 },
};

/** Copies what each user has, in whatever columns it is stored, as if collected over months. */
export function addHistory(database: DatabaseSync, size: Size): void {
  const copy = (table: string, count: number, changed: Readonly<Record<string, string>>) => {
    if (count < 1) return;
    const columns = database.prepare('SELECT name FROM pragma_table_info(?)').all(table);
    const names = columns.map(({ name }) => String(name));
    const values = names.map((name) => changed[name] ?? name);
    database.exec(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
      INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')} FROM ${table} CROSS JOIN numbers`);
  };
  const older = { created_at: 'created_at - n * 43200' };
  const newGrant = {
    ...older,
    id: 'substr(id, 1, 15) || lower(hex(randomblob(8))) || n',
    last_used_at: 'last_used_at - n * 3600',
    refresh_token_hash: 'refresh_token_hash || n',
  };
  copy('sessions', size.sessions - 1, { ...older, hash: "hash || '-' || n" });
  insertPerUser(database, size.passkeys, PASSKEY);
  insertPerUser(database, size.connectedAccounts, CONNECTED_ACCOUNT);
  copy('grants', size.grants - 1, newGrant);
  if (size.grants === 1) copy('grants', size.appsOfUser - 1, { ...newGrant, client_id: "'app-' || n" });
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

const PASSKEY = `INSERT INTO passkeys (id, account_id, public_key, counter, transports, name, created_at)
  SELECT lower(hex(randomblob(16))), id, 'a public key', 0, '["internal"]', 'Phone ' || n, created_at`;
const CONNECTED_ACCOUNT = `INSERT INTO connected_accounts (grant_id, backend, connection, account_id, data_key_id, scopes, is_refreshable,
    checked_at, version, created_at, revocation_attempts)
  SELECT id || n, 'backend', 'default', id, 'a key', '[]', 1, created_at, 1, created_at, 0`;

function insertPerUser(database: DatabaseSync, count: number, insert: string): void {
  if (count < 1) return;
  database.exec(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    ${insert} FROM accounts CROSS JOIN numbers`);
}
