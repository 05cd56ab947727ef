/** Notes in SQLite. Every note belongs to one owner, and no other user can see or delete it. */
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

interface Note {
  readonly id: number;
  readonly text: string;
}

export interface Notes {
  /** Oldest first. */
  list(owner: string): readonly Note[];
  add(owner: string, text: string): Note;
  /** Returns whether the owner had this note. */
  delete(owner: string, id: number): boolean;
  close(): void;
}

/** @param location a file, or `:memory:` */
export function openNotes(location: string): Notes {
  // Readable by this user only.
  if (location !== ':memory:') closeSync(openSync(location, 'a', 0o600));
  const database = new DatabaseSync(location);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA busy_timeout = 2000;
    CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, text TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS notes_by_owner ON notes (owner);
  `);
  const list = database.prepare('SELECT id, text FROM notes WHERE owner = ? ORDER BY id');
  const add = database.prepare('INSERT INTO notes (owner, text) VALUES (?, ?)');
  const remove = database.prepare('DELETE FROM notes WHERE owner = ? AND id = ?');
  return {
    list: (owner) => list.all(owner).map((row) => ({ id: Number(row['id']), text: String(row['text']) })),
    add: (owner, text) => ({ id: Number(add.run(owner, text).lastInsertRowid), text }),
    delete: (owner, id) => remove.run(owner, id).changes === 1,
    close: () => database.close(),
  };
}
