/** A credential store in one file of the user: mode 0600, encrypted where a key is given, shared safely by any number of processes. */
import { randomInt } from 'node:crypto';
import { actorOfKey, type CredentialStore, isRecordLock, mayReplace } from '../storage/credential-store.ts';
import type { CredentialKey, CredentialRecord, PendingAuthorization } from '../storage/credentials.ts';
import { createCredentialCipher, isEncrypted } from './credential-cipher.ts';
import { openCredentialDatabase } from './credential-database.ts';
import { createLockLeases } from './lock-leases.ts';

/** How a file is encrypted. */
export interface FileStoreOptions {
  /** 32 bytes: everything stored is encrypted with them (AES-256-GCM). Without it only the file mode protects the content. */
  readonly key?: Uint8Array;
  /** Where that key is stored, as text for `location`. */
  readonly keyLocation?: string;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
}

/** A file store has to be closed after use. */
export interface FileStore extends CredentialStore {
  /** All records, of all servers and accounts. */
  all(): Promise<readonly CredentialRecord[]>;
  /** Whether the store contains anything encrypted. */
  hasEncrypted(): boolean;
  /** Identifies the file wherever it is moved; created on first use. */
  id(): string;
  /** Resolves once this process changes no record. Close after it: a refresh under way could not save its tokens. */
  settled(): Promise<void>;
  close(): void;
}

/**
 * Opens the store; creates file and folder where they do not exist.
 * @throws ClientError `store_unusable` when the file is a symbolic link, belongs to another user, or cannot be read, and when
 * other users can write to its folder.
 */
export function openFileStore(path: string, options: FileStoreOptions = {}): FileStore {
  const clock = options.clock ?? Date.now;
  const cipher = createCredentialCipher(options.key ?? null);
  const database = openCredentialDatabase(path);
  const { statement, transaction } = database;
  const leases = createLockLeases(database, clock);
  /** The changes of records in this process. */
  const changes = new Set<Promise<void>>();

  return {
    location: `the file ${path}${describeEncryption(options)}`,
    version: () => Number(statement('PRAGMA data_version').get()?.['data_version']),
    find: async (key) => find(columnsOf(key)),
    async list(server, account) {
      return statement('SELECT * FROM records WHERE server = ? AND account = coalesce(?, account)')
        .all(server, account ?? null)
        .map(readRecord);
    },
    async all() {
      return statement('SELECT * FROM records ORDER BY server, account, issuer, actor').all().map(readRecord);
    },
    hasEncrypted: () =>
      statement('SELECT body FROM records UNION ALL SELECT body FROM pending_authorizations')
        .all()
        .some(({ body }) => isEncrypted(String(body))),
    id() {
      const read = () => Number(statement('PRAGMA application_id').get()?.['application_id']);
      if (read() === 0) statement(`PRAGMA application_id = ${randomInt(1, 2 ** 31)}`).run();
      return String(read());
    },
    async save(record, replaced) {
      const columns = columnsOf(record.key);
      const body = cipher.encrypt(JSON.stringify(record), recordLabel(columns));
      return transaction(() => {
        // A record that cannot be read can be replaced.
        if (replaced !== undefined && !mayReplace(find(columns), replaced)) return false;
        statement(
          'INSERT OR REPLACE INTO records (server, account, issuer, actor, body) VALUES (?, ?, ?, ?, ?)',
        ).run(...columns, body);
        return true;
      });
    },
    async remove(key) {
      statement('DELETE FROM records WHERE server = ? AND account = ? AND issuer = ? AND actor = ?').run(
        ...columnsOf(key),
      );
    },
    async savePending(pending) {
      const body = cipher.encrypt(JSON.stringify(pending), pending.state);
      statement('DELETE FROM pending_authorizations WHERE expires_at < ?').run(clock());
      statement('INSERT INTO pending_authorizations (state, body, expires_at) VALUES (?, ?, ?)').run(
        pending.state,
        body,
        Math.floor(pending.expiresAt),
      );
    },
    async takePending(state) {
      const row = statement('DELETE FROM pending_authorizations WHERE state = ? RETURNING body').get(state);
      if (row === undefined) return null;
      return JSON.parse(cipher.decrypt(String(row['body']), state)) as PendingAuthorization;
    },
    async lock(name) {
      const unlock = await leases.lock(name);
      if (!isRecordLock(name)) return unlock;
      const { promise, resolve } = Promise.withResolvers<void>();
      changes.add(promise);
      return async () => {
        await unlock();
        changes.delete(promise);
        resolve();
      };
    },
    async settled() {
      while (changes.size > 0) await Promise.all(changes);
    },
    close() {
      leases.releaseAll();
      database.close();
    },
  };

  function find(columns: RecordColumns): CredentialRecord | null {
    const row = statement(
      'SELECT * FROM records WHERE server = ? AND account = ? AND issuer = ? AND actor = ?',
    ).get(...columns);
    return row === undefined ? null : readRecord(row);
  }

  function readRecord(row: Readonly<Record<string, unknown>>): CredentialRecord {
    const { server, account, issuer, actor, body } = row;
    const label = recordLabel([String(server), String(account), String(issuer), String(actor)]);
    return JSON.parse(cipher.decrypt(String(body), label)) as CredentialRecord;
  }
}

/** Primary key of a record; the actor is empty for a user. */
type RecordColumns = readonly [server: string, account: string, issuer: string, actor: string];

function columnsOf(key: CredentialKey): RecordColumns {
  const actor = actorOfKey(key);
  return [key.server, key.account, key.issuer, actor.length === 0 ? '' : JSON.stringify(actor)];
}

function describeEncryption({ key, keyLocation }: FileStoreOptions): string {
  if (key === undefined) return '';
  return keyLocation === undefined ? ', encrypted' : `, encrypted with ${keyLocation}`;
}

/** Additional authenticated data of a record, so that it cannot be moved to another key. */
function recordLabel(columns: RecordColumns): string {
  return JSON.stringify(columns);
}
