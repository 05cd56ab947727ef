/** Credentials in one file of the person's own: mode 0600, sealed where a key is given, shared safely by any number of processes. */
import type { PendingAuthorization } from '../authorization/pending.ts';
import {
  type CredentialKey,
  type CredentialRecord,
  type CredentialStore,
  holderOf,
} from '../storage/credential-store.ts';
import { createCredentialCipher, isEncrypted } from './credential-cipher.ts';
import { openCredentialDatabase } from './credential-database.ts';
import { createLockLeases } from './lock-leases.ts';

/** How a file is sealed. */
export interface FileStoreOptions {
  /** 32 bytes: everything that is kept is sealed with them (AES-256-GCM). Without it the file's mode alone protects it. */
  readonly key?: Uint8Array;
  /** Where that key is kept, for `place` to say. */
  readonly keyLocation?: string;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
}

/** A file store has to be closed when it is not needed any more. */
export interface FileStore extends CredentialStore {
  /** All records, of all servers and accounts. */
  all(): Promise<readonly CredentialRecord[]>;
  /** Whether anything in it is sealed. */
  hasEncrypted(): boolean;
  close(): void;
}

/**
 * Opens the store, making file and folder where there are none.
 * @throws ClientError `store_unusable` when the file is a symbolic link, is somebody else's, or cannot be read.
 */
export function openFileStore(path: string, options: FileStoreOptions = {}): FileStore {
  const clock = options.clock ?? Date.now;
  const seal = createCredentialCipher(options.key ?? null);
  const database = openCredentialDatabase(path);
  const { statement } = database;
  const leases = createLockLeases(database, clock);

  return {
    location: `the file ${path}${describeSeal(options)}`,
    async find(key) {
      const place = placeOf(key);
      const row = statement(
        `SELECT * FROM (${ALL}) WHERE server = ? AND account = ? AND issuer = ? AND holder = ?`,
      ).get(...place);
      return row === undefined ? null : readRecord(row);
    },
    async list(server, account) {
      return statement(`SELECT * FROM (${ALL}) WHERE server = ? AND account = ?`)
        .all(server, account)
        .map(readRecord);
    },
    async all() {
      return statement(`SELECT * FROM (${ALL}) ORDER BY server, account, issuer, holder`)
        .all()
        .map(readRecord);
    },
    hasEncrypted: () =>
      statement(`SELECT body FROM (${ALL}) UNION ALL SELECT body FROM flows`)
        .all()
        .some(({ body }) => isEncrypted(String(body))),
    async save(record) {
      const place = placeOf(record.key);
      const [server, account, issuer, holder] = place;
      const body = seal.encrypt(JSON.stringify(record), recordLabel(place));
      if (holder === '')
        statement('INSERT OR REPLACE INTO records (server, account, issuer, body) VALUES (?, ?, ?, ?)').run(
          ...[server, account, issuer, body],
        );
      else
        statement('INSERT OR REPLACE INTO program_records VALUES (?, ?, ?, ?, ?)').run(
          ...[server, account, issuer, holder, body],
        );
    },
    async remove(key) {
      const [server, account, issuer, holder] = placeOf(key);
      if (holder === '')
        statement('DELETE FROM records WHERE server = ? AND account = ? AND issuer = ?').run(
          ...[server, account, issuer],
        );
      else
        statement(
          'DELETE FROM program_records WHERE server = ? AND account = ? AND issuer = ? AND holder = ?',
        ).run(...[server, account, issuer, holder]);
    },
    async savePending(pending) {
      statement('DELETE FROM flows WHERE expires_at < ?').run(clock());
      statement('INSERT INTO flows (state, body, expires_at) VALUES (?, ?, ?)').run(
        ...[
          pending.state,
          seal.encrypt(JSON.stringify(pending), pending.state),
          Math.floor(pending.expiresAt),
        ],
      );
    },
    async takePending(state) {
      const row = statement('DELETE FROM flows WHERE state = ? RETURNING body').get(state);
      return row === undefined
        ? null
        : (JSON.parse(seal.decrypt(String(row['body']), state)) as PendingAuthorization);
    },
    lock: leases.lock,
    close() {
      leases.giveUpAll();
      database.close();
    },
  };

  function readRecord(row: Readonly<Record<string, unknown>>): CredentialRecord {
    const { server, account, issuer, holder, body } = row;
    const label = recordLabel([String(server), String(account), String(issuer), String(holder)]);
    return JSON.parse(seal.decrypt(String(body), label)) as CredentialRecord;
  }
}

/** Where a record stands: server, account, issuer, and the program that acts; empty: the person does. */
type Place = readonly [server: string, account: string, issuer: string, holder: string];

function placeOf(key: CredentialKey): Place {
  const holder = holderOf(key);
  return [key.server, key.account, key.issuer, holder.length === 0 ? '' : JSON.stringify(holder)];
}

/** Both tables as one. */
const ALL = `SELECT server, account, issuer, '' AS holder, body FROM records
  UNION ALL SELECT server, account, issuer, holder, body FROM program_records`;

function describeSeal({ key, keyLocation: keyPlace }: FileStoreOptions): string {
  if (key === undefined) return '';
  return keyPlace === undefined ? ', sealed' : `, sealed with ${keyPlace}`;
}

/** What a record is sealed to, so that it cannot be put in another's place. */
function recordLabel([server, account, issuer, holder]: Place): string {
  return JSON.stringify([server, account, issuer, ...(holder === '' ? [] : [holder])]);
}
