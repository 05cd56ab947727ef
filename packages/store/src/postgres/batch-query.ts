/** Several statements in one round trip and one implicit transaction: nothing is committed unless all succeed. */
import type { Connection, FieldDef, Submittable } from 'pg';

/** A statement of a batch; with a name it is prepared once a connection. */
export interface Statement {
  readonly name: string | undefined;
  readonly text: string;
  readonly values: readonly (string | number | null | Uint8Array)[];
}

type Row = Readonly<Record<string, unknown>>;

/** The error of a statement: the transaction was rolled back. */
export interface BatchError extends Error {
  /** Index of the statement; the error of the connection has none. */
  readonly statement?: number;
}

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

export type GetTypeParser = (oid: number) => (text: string) => unknown;

/** The columns of statements by their names: the same on every connection. */
export type KnownColumns = Map<string, readonly Column[]>;

/** What the driver's connection offers to queries; its types leave this out. */
interface WireConnection {
  readonly parsedStatements: Record<string, string>;
  readonly stream: { readonly writable: boolean; write(bytes: Uint8Array): void };
  parse(this: Sink, message: { name: string | undefined; text: string }): void;
  bind(this: Sink, message: { statement: string | undefined; values: readonly unknown[] }): void;
  describe(this: Sink, message: { type: 'P'; name: string }): void;
  execute(this: Sink, message: { portal: string }): void;
  sync(this: Sink): void;
}

/** Collects messages, which are then written at once. */
interface Sink {
  _send(message: Uint8Array): void;
}

/** The driver calls the methods for each message of the server. @see PostgreSQL, Extended Query Protocol, Pipelining */
export class BatchQuery implements Submittable {
  /** The rows of each statement, once all are committed. @throws BatchError */
  readonly finished: Promise<readonly (readonly Row[])[]>;
  readonly #statements: readonly Statement[];
  readonly #columns: KnownColumns;
  readonly #parserOf: GetTypeParser;
  readonly #rows: Row[][];
  readonly #described: (readonly Column[] | undefined)[];
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

  /** The driver notes under these two what was parsed. */
  get name(): string | undefined {
    return this.#statements[this.#current]?.name;
  }

  get text(): string | undefined {
    return this.#statements[this.#current]?.text;
  }

  submit(connection: Connection): void {
    const wire = connection as unknown as WireConnection;
    const messages: Uint8Array[] = [];
    const sink: Sink = { _send: (message) => messages.push(message) };
    const parsed = new Set<string>();
    for (const [index, { name, text, values }] of this.#statements.entries()) {
      const isParsed = name !== undefined && (parsed.has(name) || wire.parsedStatements[name] !== undefined);
      if (!isParsed) wire.parse.call(sink, { name, text });
      if (name !== undefined) parsed.add(name);
      wire.bind.call(sink, { statement: name, values: values.map(toWire) });
      if (this.#described[index] === undefined) wire.describe.call(sink, { type: 'P', name: '' });
      wire.execute.call(sink, { portal: '' });
    }
    wire.sync.call(sink);
    if (wire.stream.writable) wire.stream.write(Buffer.concat(messages));
  }

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    const columns = fields.map(({ name, dataTypeID }) => ({ name, parse: this.#parserOf(dataTypeID) }));
    this.#described[this.#current] = columns;
    const { name } = this;
    if (name !== undefined) this.#columns.set(name, columns);
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const row: Record<string, unknown> = {};
    const columns = this.#described[this.#current] ?? [];
    for (let index = 0; index < columns.length; index += 1) {
      const text = fields[index] ?? null;
      const column = columns[index];
      if (column !== undefined) row[column.name] = text === null ? null : column.parse(text);
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
    // The server has committed: it says so only now.
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

/** Numbers as text, as the driver sends them. */
function toWire(value: Statement['values'][number]): string | Buffer | null {
  if (typeof value === 'number') return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value;
}
