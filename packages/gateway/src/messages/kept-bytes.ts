/** The bytes of a token that spans chunks. */
import { HeldBytes } from './held-bytes.ts';

export class KeptBytes {
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
