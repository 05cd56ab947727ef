/** Credentials in one file of the person's own: mode 0600, sealed where a key is given, shared safely by any number of processes. */
import type { Pending } from '../authorization/pending.ts';
import type { CredentialRecord, CredentialStore } from '../store/credential-store.ts';
import { openCredentialDatabase } from './credential-database.ts';
import { createLeases } from './leases.ts';
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

/**
 * Opens the store, making file and folder where there are none.
 * @throws ClientError `store_unusable` when the file is a symbolic link, is somebody else's, or cannot be read.
 */
export function openFileStore(path: string, options: FileStoreOptions = {}): FileStore {
  const clock = options.clock ?? Date.now;
  const seal = createSeal(options.key ?? null);
  const database = openCredentialDatabase(path);
  const { statement } = database;
  const leases = createLeases(database, clock);

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
    lock: leases.lock,
    close() {
      leases.giveUpAll();
      database.close();
    },
  };

  function readRecord(row: Readonly<Record<string, unknown>>): CredentialRecord {
    const label = recordLabel(String(row['server']), String(row['account']), String(row['issuer']));
    return JSON.parse(seal.open(String(row['body']), label)) as CredentialRecord;
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
