/** Users with an account and a session each, inserted into the database, because hashing passwords would take too long. */
import { hash, randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';

/** Enough that no user collects an unrealistic number of grants. */
const USERS = 1000;

/** The fetch metadata headers of a navigation by the user. */
const NAVIGATION = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

const HASH_OF_NOTHING = '$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

/** A client, and browsers with one signed-in user each. */
export interface Users {
  readonly clientId: string;
  /** Headers that the browser sends with each request. */
  readonly browsers: readonly Readonly<Record<string, string>>[];
  /** The requested scopes. */
  readonly scope?: string;
}

export interface User {
  readonly accountId: string;
  readonly sessionHash: string;
  readonly browser: Readonly<Record<string, string>>;
}

/** @param publicUrl the server's public URL, which determines its cookie names */
export function inventUsers(publicUrl: string, count: number = USERS): readonly User[] {
  const name = `portcullis-${new URL(publicUrl).port}`;
  return Array.from({ length: count }, () => {
    const session = randomBytes(32).toString('base64url');
    const cookie = `${name}-session=${session}; ${name}-browser=${randomBytes(32).toString('base64url')}`;
    return {
      accountId: newAccountId(),
      sessionHash: hash('sha256', session, 'base64url'),
      browser: { ...NAVIGATION, cookie },
    };
  });
}

export function newAccountId(): string {
  return `user_${randomBytes(16).toString('base64url')}`;
}

/** The values of a row of `accounts`: identifier, e-mail address and its key, hash, time. */
export function accountRow(id: string): [string, string, string, string, number] {
  const email = `${Buffer.from(id).toString('hex')}@example.com`;
  return [id, email, email, HASH_OF_NOTHING, Math.floor(Date.now() / 1000)];
}

/** The statements for PostgreSQL; see `forSqlite` for SQLite. */
export const INSERT_ACCOUNT =
  'INSERT INTO accounts (id, email, email_key, password_hash, created_at) VALUES ($1, $2, $3, $4, $5)';
export const INSERT_SESSION =
  'INSERT INTO sessions (hash, account_id, created_at, expires_at) VALUES ($1, $2, $3, $4)';

export function forSqlite(statement: string): string {
  return statement.replaceAll('$', '?');
}

/** The values of a row of `sessions`. */
export function sessionRow({ sessionHash, accountId }: User): [string, string, number, number] {
  const now = Math.floor(Date.now() / 1000);
  return [sessionHash, accountId, now, now + 86_400];
}

/** Inserts users into a SQLite file, which a server may have open. @returns their browsers */
export function seedUsers(file: string, publicUrl: string, count: number = USERS): Users['browsers'] {
  const users = inventUsers(publicUrl, count);
  const database = new DatabaseSync(file, { timeout: 10_000 });
  const account = database.prepare(forSqlite(INSERT_ACCOUNT));
  const session = database.prepare(forSqlite(INSERT_SESSION));
  database.exec('BEGIN IMMEDIATE');
  for (const user of users) {
    account.run(...accountRow(user.accountId));
    session.run(...sessionRow(user));
  }
  database.exec('COMMIT');
  database.close();
  return users.map(({ browser }) => browser);
}
