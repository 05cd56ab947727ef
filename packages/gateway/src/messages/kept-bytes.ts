/** The bytes of a token that spans chunks. */

export class KeptBytes {
  readonly #limit: number;
  #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Copies the bytes, because the chunk may be used again. @throws SyntaxError beyond the limit */
  add(bytes: Uint8Array): void {
    this.#count(bytes.length);
    this.#chunks.push(Uint8Array.from(bytes));
  }

  /** The text of all bytes, of which the last are those from `from` to `end`. @throws SyntaxError beyond the limit */
  take(chunk: Buffer, from: number, end: number): string {
    this.#count(end - from);
    if (this.#chunks.length === 0) {
      this.#length = 0;
      return chunk.toString('utf8', from, end);
    }
    const text = Buffer.concat([...this.#chunks, chunk.subarray(from, end)]).toString();
    this.clear();
    return text;
  }

  clear(): void {
    if (this.#length === 0) return;
    this.#chunks = [];
    this.#length = 0;
  }

  #count(length: number): void {
    this.#length += length;
    if (this.#length > this.#limit) throw new SyntaxError(`a name in it is longer than ${this.#limit} bytes`);
  }
}
