/** Messages to PostgreSQL, encoded one after another into one buffer: the driver allocates one for each. */

/** A statement of a batch; with a name it is prepared once per connection. */
export interface Statement {
  readonly name: string | undefined;
  readonly text: string;
  readonly values: readonly (string | number | null | Uint8Array)[];
}

const PARSE = 0x50;
const BIND = 0x42;
const DESCRIBE = 0x44;
const EXECUTE = 0x45;
const SYNC = 0x53;

/** Bytes of a statement that make the buffer large enough for most batches. */
const TYPICAL = 400;
/** Bytes in UTF-8 of one unit of a string, at most. */
const WIDEST = 3;
const IN_TEXT = 0;
const IN_BINARY = 1;

/** @see PostgreSQL, Message Formats */
export class Messages {
  #bytes: Buffer;
  #end = 0;

  /** @param statements how many are expected */
  constructor(statements: number) {
    this.#bytes = Buffer.allocUnsafe(TYPICAL * statements);
  }

  parse({ name = '', text }: Statement): void {
    const start = this.#open(PARSE);
    this.#text(name);
    this.#text(text);
    this.#int16(0);
    this.#close(start);
  }

  /** Numbers are sent as text, bytes as they are; results are text. */
  bind({ name = '', values }: Statement): void {
    const start = this.#open(BIND);
    this.#text('');
    this.#text(name);
    this.#int16(values.length);
    for (const value of values) this.#int16(value instanceof Uint8Array ? IN_BINARY : IN_TEXT);
    this.#int16(values.length);
    for (const value of values) this.#value(value);
    this.#int16(0);
    this.#close(start);
  }

  describe(): void {
    const start = this.#open(DESCRIBE);
    this.#text('P');
    this.#close(start);
  }

  execute(): void {
    const start = this.#open(EXECUTE);
    this.#text('');
    this.#int32(0);
    this.#close(start);
  }

  sync(): void {
    this.#close(this.#open(SYNC));
  }

  /** All messages. */
  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#end);
  }

  #open(type: number): number {
    this.#reserve(5);
    this.#bytes[this.#end] = type;
    this.#end += 5;
    return this.#end - 4;
  }

  /** The length of a message includes itself, but not the type. */
  #close(start: number): void {
    this.#bytes.writeInt32BE(this.#end - start, start);
  }

  #value(value: Statement['values'][number]): void {
    if (value === null) {
      this.#int32(-1);
      return;
    }
    const length = this.#end;
    this.#int32(0);
    if (value instanceof Uint8Array) {
      this.#reserve(value.length);
      this.#bytes.set(value, this.#end);
      this.#end += value.length;
    } else this.#characters(typeof value === 'number' ? String(value) : value);
    this.#bytes.writeInt32BE(this.#end - length - 4, length);
  }

  /** Ends with a zero. */
  #text(text: string): void {
    if (text !== '') this.#characters(text);
    this.#reserve(1);
    this.#bytes[this.#end] = 0;
    this.#end += 1;
  }

  #characters(text: string): void {
    this.#reserve(WIDEST * text.length);
    this.#end += this.#bytes.write(text, this.#end, 'utf8');
  }

  #int16(value: number): void {
    this.#reserve(2);
    this.#end = this.#bytes.writeInt16BE(value, this.#end);
  }

  #int32(value: number): void {
    this.#reserve(4);
    this.#end = this.#bytes.writeInt32BE(value, this.#end);
  }

  #reserve(count: number): void {
    const needed = this.#end + count;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * needed);
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}
