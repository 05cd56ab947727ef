/** Bytes that wait for more of them, in one buffer that grows: however small the chunks are, each byte is copied a few times only. */
export class HeldBytes {
  #space: Buffer = NONE;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** They do not change, and remain valid after `drop`. */
  get bytes(): Buffer {
    return this.#space.subarray(0, this.#length);
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
  readonly #held = new HeldBytes();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Copies the bytes, because the chunk may be used again. @throws SyntaxError beyond the limit */
  add(bytes: Uint8Array): void {
    this.#check(bytes.length);
    this.#held.add(Buffer.from(bytes));
  }

  /** The text of all bytes, of which the last are those from `from` to `end`. @throws SyntaxError beyond the limit */
  take(chunk: Buffer, from: number, end: number): string {
    this.#check(end - from);
    if (this.#held.length === 0) return chunk.toString('utf8', from, end);
    this.#held.add(chunk.subarray(from, end));
    const text = this.#held.bytes.toString();
    this.clear();
    return text;
  }

  clear(): void {
    if (this.#held.length > 0) this.#held.drop(this.#held.length);
  }

  #check(length: number): void {
    if (this.#held.length + length > this.#limit)
      throw new SyntaxError(`a name in it is longer than ${this.#limit} bytes`);
  }
}
