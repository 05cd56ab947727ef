/** A second account, written into the database while the server is stopped. */
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';

/** It has the password of the account `like`. Returns its identifier. */
export function addAccount(database: string, email: string, like: string): string {
  const id = `user_${randomUUID()}`;
  const connection = new DatabaseSync(database);
  const { changes } = connection
    .prepare(
      `INSERT INTO accounts (id, email, email_key, password_hash, created_at)
       SELECT ?, ?, ?, password_hash, created_at FROM accounts WHERE email_key = ?`,
    )
    .run(id, email, email, like);
  connection.close();
  if (changes !== 1) throw new Error(`there is no account ${like}`);
  return id;
}
