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
