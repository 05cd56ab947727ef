/** Credentials in one file of the person's own: mode 0600, sealed where a key is given, shared safely by any number of processes. */
import { randomUUID } from 'node:crypto';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Pending } from '../authorization/pending.ts';
import type { CredentialRecord, CredentialStore, Release } from '../store/credential-store.ts';
import { createLockQueue } from '../store/lock-queue.ts';
import { preparePrivateFile, unusable } from './private-file.ts';
import { createSeal, isSealed } from './seal.ts';

/** How a file is sealed. */
export interface FileStoreOptions {
  /** 32 bytes: everything that is kept is sealed with them (AES-256-GCM). Without it the file's mode alone protects it. */
  readonly key?: Uint8Array;
  /** Where that key is kept, for `place` to say. */
  readonly keyPlace?: string;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
}

/** A file store has to be closed when it is not needed any more. */
export interface FileStore extends CredentialStore {
  /** All records, of all servers and accounts. */
  all(): Promise<readonly CredentialRecord[]>;
  /** Whether anything in it is sealed. */
  holdsSealed(): boolean;
  close(): void;
}

/** A holder renews its lease in time; one that died loses it after this. Milliseconds. */
const LEASE = 15_000;
const RENEWAL = 4_000;
const POLL = 40;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS records (
    server TEXT NOT NULL, account TEXT NOT NULL, issuer TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (server, account, issuer)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS flows (state TEXT PRIMARY KEY, body TEXT NOT NULL, expires_at INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires_at INTEGER NOT NULL) STRICT;
`;

/**
 * Opens the store, making file and folder where there are none.
 * @throws ClientError `store_unusable` when the file is a symbolic link, is somebody else's, or cannot be read.
 */
export function openFileStore(path: string, options: FileStoreOptions = {}): FileStore {
  const clock = options.clock ?? Date.now;
  const seal = createSeal(options.key ?? null);
  preparePrivateFile(path);
  const database = openDatabase(path);
  const statements = new Map<string, StatementSync>();
  const queue = createLockQueue();
  const held = new Map<string, NodeJS.Timeout>();

  return {
    place: `the file ${path}${describeSeal(options)}`,
    async find({ server, issuer, account }) {
      const row = statement('SELECT * FROM records WHERE server = ? AND account = ? AND issuer = ?').get(
        ...[server, account, issuer],
      );
      return row === undefined ? null : readRecord(row);
    },
    async list(server, account) {
      return statement('SELECT * FROM records WHERE server = ? AND account = ?')
        .all(server, account)
        .map(readRecord);
    },
    async all() {
      return statement('SELECT * FROM records ORDER BY server, account, issuer').all().map(readRecord);
    },
    holdsSealed: () =>
      statement('SELECT body FROM records UNION ALL SELECT body FROM flows')
        .all()
        .some(({ body }) => isSealed(String(body))),
    async save(record) {
      const { server, issuer, account } = record.key;
      const body = seal.close(JSON.stringify(record), recordLabel(server, account, issuer));
      statement('INSERT OR REPLACE INTO records (server, account, issuer, body) VALUES (?, ?, ?, ?)').run(
        ...[server, account, issuer, body],
      );
    },
    async remove({ server, issuer, account }) {
      statement('DELETE FROM records WHERE server = ? AND account = ? AND issuer = ?').run(
        server,
        account,
        issuer,
      );
    },
    async savePending(pending) {
      statement('DELETE FROM flows WHERE expires_at < ?').run(clock());
      statement('INSERT INTO flows (state, body, expires_at) VALUES (?, ?, ?)').run(
        ...[pending.state, seal.close(JSON.stringify(pending), pending.state), Math.floor(pending.expiresAt)],
      );
    },
    async takePending(state) {
      const row = statement('DELETE FROM flows WHERE state = ? RETURNING body').get(state);
      return row === undefined ? null : (JSON.parse(seal.open(String(row['body']), state)) as Pending);
    },
    lock,
    close() {
      for (const holder of [...held.keys()]) giveUpLease(holder);
      database.close();
    },
  };

  /** Those of this process wait in a queue, so that only its first asks the others. */
  async function lock(name: string): Promise<Release> {
    const release = await queue(name);
    const holder = randomUUID();
    while (!takeLease(name, holder)) await new Promise((resolve) => setTimeout(resolve, POLL));
    held.set(holder, setInterval(() => renewLease(name, holder), RENEWAL).unref());
    return async () => {
      giveUpLease(holder);
      await release();
    };
  }

  function giveUpLease(holder: string): void {
    if (!held.has(holder)) return;
    clearInterval(held.get(holder));
    held.delete(holder);
    statement('DELETE FROM leases WHERE holder = ?').run(holder);
  }

  /** One renewal that fails does no harm: the next one comes before the lease ends. */
  function renewLease(name: string, holder: string): void {
    try {
      takeLease(name, holder);
    } catch {
      return;
    }
  }

  /** Takes a lease that is free, over, or one's own; one statement, so that only one process can. */
  function takeLease(name: string, holder: string): boolean {
    const now = Math.floor(clock());
    const { changes } = statement(
      `INSERT INTO leases (name, holder, expires_at) VALUES (:name, :holder, :until)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
       WHERE leases.holder = excluded.holder OR leases.expires_at <= :now`,
    ).run({ name, holder, until: now + LEASE, now });
    return changes === 1;
  }

  function readRecord(row: Readonly<Record<string, unknown>>): CredentialRecord {
    const label = recordLabel(String(row['server']), String(row['account']), String(row['issuer']));
    return JSON.parse(seal.open(String(row['body']), label)) as CredentialRecord;
  }

  function statement(sql: string): StatementSync {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const prepared = database.prepare(sql);
    statements.set(sql, prepared);
    return prepared;
  }
}

function describeSeal({ key, keyPlace }: FileStoreOptions): string {
  if (key === undefined) return '';
  return keyPlace === undefined ? ', sealed' : `, sealed with ${keyPlace}`;
}

/** What a record is sealed to, so that it cannot be put in another's place. */
function recordLabel(server: string, account: string, issuer: string): string {
  return JSON.stringify([server, account, issuer]);
}

function openDatabase(path: string): DatabaseSync {
  try {
    const database = new DatabaseSync(path, { timeout: 5_000 });
    database.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;');
    database.exec(SCHEMA);
    return database;
  } catch (cause) {
    throw unusable(path, 'it cannot be read as a credential store', cause);
  }
}
