/** Bytes that wait for more of them, in one buffer that grows: however small the chunks are, each byte is copied a few times only. */
export class BufferedBytes {
  #space: Buffer = NONE;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** They do not change, and remain valid after `drop`. */
  get bytes(): Buffer {
    return this.#length === this.#space.length ? this.#space : this.#space.subarray(0, this.#length);
  }

  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (this.#length === 0) this.#space = chunk;
    else {
      if (length > this.#space.length) this.#grow(length);
      chunk.copy(this.#space, this.#length);
    }
    this.#length = length;
  }

  /** Keeps those from an index on. */
  drop(index: number): void {
    this.#space = index >= this.#length ? NONE : Buffer.from(this.bytes.subarray(index));
    this.#length = this.#space.length;
  }

  #grow(length: number): void {
    const space = Buffer.allocUnsafe(Math.max(length, 2 * this.#space.length));
    this.bytes.copy(space);
    this.#space = space;
  }
}

/** One for all: thousands of streams hold none. */
const NONE: Buffer = Buffer.alloc(0);

/** The bytes of a token that spans chunks. */
export class TokenBytes {
  readonly #limit: number;
  readonly #buffered = new BufferedBytes();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Copies the bytes, because the chunk may be used again. @throws SyntaxError beyond the limit */
  add(bytes: Uint8Array): void {
    this.#check(bytes.length);
    this.#buffered.add(Buffer.from(bytes));
  }

  /** The text of all bytes, of which the last are those from `from` to `end`. @throws SyntaxError beyond the limit */
  take(chunk: Buffer, from: number, end: number): string {
    this.#check(end - from);
    if (this.#buffered.length === 0) return chunk.toString('utf8', from, end);
    this.#buffered.add(chunk.subarray(from, end));
    const text = this.#buffered.bytes.toString();
    this.clear();
    return text;
  }

  clear(): void {
    if (this.#buffered.length > 0) this.#buffered.drop(this.#buffered.length);
  }

  #check(length: number): void {
    if (this.#buffered.length + length > this.#limit)
      throw new SyntaxError(`a name in it is longer than ${this.#limit} bytes`);
  }
}
