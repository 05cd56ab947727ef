/** Several statements in one round trip and one implicit transaction: nothing is committed unless all succeed. */
import type { Connection, FieldDef, Submittable } from 'pg';
import { Messages, type Statement } from './messages.ts';

type Row = Readonly<Record<string, unknown>>;

/** The error of a statement: the transaction was rolled back. */
export interface BatchError extends Error {
  /** Index of the statement; the error of the connection has none. */
  readonly statement?: number;
}

/** The columns of a statement. */
interface Columns {
  readonly names: readonly string[];
  readonly parsers: readonly ((text: string) => unknown)[];
  /** All columns: copying it is faster than building each row column by column. */
  readonly blank: Row;
}

export type GetTypeParser = (oid: number) => (text: string) => unknown;

/** The columns of statements by their names: the same on every connection. */
export type KnownColumns = Map<string, Columns>;

/** Members of the driver's connection that its types omit. */
interface DriverConnection {
  readonly parsedStatements: Record<string, string>;
  readonly stream: { readonly writable: boolean; write(bytes: Uint8Array): void };
}

/** The driver calls the methods for each message of the server. @see PostgreSQL, Extended Query Protocol, Pipelining */
export class BatchQuery implements Submittable {
  /** The rows of each statement, once all are committed. @throws BatchError */
  readonly finished: Promise<readonly (readonly Row[])[]>;
  readonly #statements: readonly Statement[];
  readonly #columns: KnownColumns;
  readonly #parserOf: GetTypeParser;
  readonly #rows: Row[][];
  readonly #described: (Columns | undefined)[];
  readonly #outcome = Promise.withResolvers<readonly (readonly Row[])[]>();
  /** The statement to which the next message belongs. */
  #current = 0;

  constructor(statements: readonly Statement[], columns: KnownColumns, parserOf: GetTypeParser) {
    this.#statements = statements;
    this.#columns = columns;
    this.#parserOf = parserOf;
    this.#rows = statements.map(() => []);
    this.#described = statements.map(({ name }) => (name === undefined ? undefined : columns.get(name)));
    this.finished = this.#outcome.promise;
  }

  /** The driver records parsed statements under `name` and `text`. */
  get name(): string | undefined {
    return this.#statements[this.#current]?.name;
  }

  get text(): string | undefined {
    return this.#statements[this.#current]?.text;
  }

  submit(connection: Connection): void {
    const driver = connection as unknown as DriverConnection;
    const messages = new Messages(this.#statements.length);
    const parsed = new Set<string>();
    for (const [index, statement] of this.#statements.entries()) {
      const { name } = statement;
      const isParsed =
        name !== undefined && (parsed.has(name) || driver.parsedStatements[name] !== undefined);
      if (!isParsed) messages.parse(statement);
      if (name !== undefined) parsed.add(name);
      messages.bind(statement);
      if (this.#described[index] === undefined) messages.describe();
      messages.execute();
    }
    messages.sync();
    if (driver.stream.writable) driver.stream.write(messages.bytes());
  }

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    const columns: Columns = {
      names: fields.map(({ name }) => name),
      parsers: fields.map(({ dataTypeID }) => this.#parserOf(dataTypeID)),
      blank: Object.fromEntries(fields.map(({ name }) => [name, null])),
    };
    this.#described[this.#current] = columns;
    const { name } = this;
    if (name !== undefined) this.#columns.set(name, columns);
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const columns = this.#described[this.#current];
    if (columns === undefined) return;
    const { names, parsers, blank } = columns;
    const row: Record<string, unknown> = { ...blank };
    for (const [index, text] of fields.entries()) {
      if (text !== null) row[names[index] as string] = parsers[index]?.(text);
    }
    this.#rows[this.#current]?.push(row);
  }

  handleCommandComplete(): void {
    this.#current += 1;
  }

  handleEmptyQuery(): void {
    this.#current += 1;
  }

  handleReadyForQuery(): void {
    // The server confirms the commit only now.
    this.#outcome.resolve(this.#rows);
  }

  handleError(error: Error & { readonly code?: string }): void {
    const isOfStatement = /^[0-9A-Z]{5}$/.test(error.code ?? '') && this.#current < this.#statements.length;
    this.#outcome.reject(isOfStatement ? Object.assign(error, { statement: this.#current }) : error);
  }

  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
}
