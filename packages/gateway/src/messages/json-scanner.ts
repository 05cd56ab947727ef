/** Validates JSON while it arrives, byte by byte, and keeps the parts of it that a shape asks for; never the whole document. */

import { isUtf8 } from 'node:buffer';
import { MAX_NAME } from '../limits.ts';
import { TokenBytes } from './buffered-bytes.ts';
import { createLeaf, type JsonNode, JsonProjection, type JsonShape } from './json-projection.ts';
import {
  COLON,
  COMMA_OR_END,
  DONE,
  ESCAPABLE,
  ESCAPE,
  FRACTION,
  HEX,
  INTEGER,
  isDigit,
  isHexDigit,
  isSpace,
  LITERAL,
  LITERALS,
  MINUS,
  NAME,
  NAME_OR_END,
  nextOfNumber,
  POWER,
  STRING,
  VALUE,
  VALUE_OR_END,
  ZERO,
} from './json-tokens.ts';

export interface ScanLimits {
  /** Nesting of objects and arrays. */
  readonly depth: number;
  /** Bytes of a string or number whose text is wanted. */
  readonly text: number;
  /** Elements of an array whose elements are wanted. */
  readonly elements: number;
}

/** @throws SyntaxError from `push` and `end`: the document is malformed, exceeds a limit, or repeats a wanted member */
export class JsonScanner {
  readonly #limits: ScanLimits;
  /** Decodes from the first chunk on that is not UTF-8 by itself: it may divide a character. `null`: all were. */
  #utf8: InstanceType<typeof TextDecoder> | null = null;
  /** Whether each open container is an object. */
  readonly #kinds: boolean[] = [];
  readonly #projection: JsonProjection;
  #state = VALUE;
  /** Offset of the chunk. */
  #base = 0;
  #values = 0;
  #start = 0;
  #isName = false;
  #isRetained = false;
  #hasEscape = false;
  readonly #retained: TokenBytes;
  #hexLeft = 0;
  #literal: readonly number[] = [];
  #shapeOfToken: JsonShape | null = null;

  constructor(shape: JsonShape, limits: ScanLimits) {
    this.#projection = new JsonProjection(shape, limits.elements);
    this.#limits = limits;
    this.#retained = new TokenBytes(limits.text);
  }

  push(bytes: Uint8Array): void {
    const chunk = bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#checkUtf8(chunk);
    const { length } = chunk;
    let at = 0;
    while (at < length) at = this.#state < STRING ? this.#between(chunk, at) : this.#inside(chunk, at);
    if (this.#isRetained) this.#retained.add(chunk.subarray(Math.max(0, this.#start - this.#base)));
    this.#base += length;
  }

  /** The length of the document so far. */
  get length(): number {
    return this.#base;
  }

  /** Values so far: objects, arrays and what is in them. */
  get values(): number {
    return this.#values;
  }

  /** Grows whenever more is known of what the shape asks for. */
  get changes(): number {
    return this.#projection.changes;
  }

  /** What has been found so far of what the shape asks for; `null`: nothing. */
  get found(): JsonNode | null {
    return this.#projection.root;
  }

  /** Whether the document is complete: only white space may follow. */
  get isDone(): boolean {
    return this.#state === DONE;
  }

  /** The document so far, while the scanner is inside a value that the shape does not ask for; `null` elsewhere. */
  peek(): JsonNode | null {
    const isText = this.#state === STRING || this.#state === ESCAPE || this.#state === HEX;
    const isBeside = isText && !this.#isName && this.#shapeOfToken === null;
    return isBeside || this.#projection.isBeside(this.#kinds.length) ? this.#projection.root : null;
  }

  end(): JsonNode | null {
    this.#checkUtf8(null);
    if (this.#state >= MINUS) this.#endNumber(NOTHING, 0);
    if (this.#state !== DONE) throw new SyntaxError('it ends early');
    return this.#projection.root;
  }

  /** @param chunk `null` at the end */
  #checkUtf8(chunk: Buffer | null): void {
    if (this.#utf8 === null && (chunk === null || isUtf8(chunk))) return;
    this.#utf8 ??= new TextDecoder('utf-8', { fatal: true });
    try {
      this.#utf8.decode(chunk ?? NOTHING, { stream: chunk !== null });
    } catch {
      throw new SyntaxError('it is not UTF-8');
    }
  }

  /** Handles white space and the byte after it. @returns the index behind it */
  #between(chunk: Buffer, from: number): number {
    let at = from;
    while (isSpace(chunk[at])) at += 1;
    const byte = chunk[at];
    if (byte === undefined) return at;
    switch (this.#state) {
      case COLON:
        this.#expect(byte === 0x3a, at);
        this.#state = VALUE;
        break;
      case COMMA_OR_END:
        this.#separate(byte, at);
        break;
      case NAME:
      case NAME_OR_END:
        if (byte === 0x7d && this.#state === NAME_OR_END) this.#close(at);
        else this.#startName(byte, at);
        break;
      case VALUE_OR_END:
        if (byte === 0x5d) this.#close(at);
        else this.#startValue(byte, at);
        break;
      default:
        this.#expect(this.#state === VALUE, at);
        this.#startValue(byte, at);
    }
    return at + 1;
  }

  #separate(byte: number, at: number): void {
    const isObject = this.#kinds.at(-1) === true;
    if (byte === 0x2c) {
      this.#state = isObject ? NAME : VALUE;
      return;
    }
    this.#expect(byte === (isObject ? 0x7d : 0x5d), at);
    this.#close(at);
  }

  #startName(byte: number, at: number): void {
    this.#expect(byte === 0x22, at);
    this.#startToken(STRING, at, this.#projection.startName(this.#kinds.length));
    this.#isName = true;
  }

  #startValue(byte: number, at: number): void {
    this.#values += 1;
    const shape = this.#projection.wanted(this.#kinds.length);
    if (byte === 0x7b || byte === 0x5b) {
      this.#open(byte === 0x7b ? 'object' : 'array', shape, at);
      return;
    }
    this.#shapeOfToken = shape;
    this.#isName = false;
    this.#startToken(this.#stateOfValue(byte, at), at, shape?.text === true);
  }

  #stateOfValue(byte: number, at: number): number {
    if (byte === 0x22) return STRING;
    if (byte === 0x2d) return MINUS;
    if (byte === 0x30) return ZERO;
    if (isDigit(byte)) return INTEGER;
    const literal = LITERALS[byte];
    if (literal === undefined) throw this.#unexpected(at);
    this.#literal = literal;
    return LITERAL;
  }

  #startToken(state: number, at: number, isRetained: boolean): void {
    this.#state = state;
    this.#start = this.#base + at;
    this.#isRetained = isRetained;
    this.#hasEscape = false;
    this.#retained.clear();
  }

  #open(type: 'object' | 'array', shape: JsonShape | null, at: number): void {
    if (this.#kinds.length >= this.#limits.depth)
      throw new SyntaxError(`it nests more than ${this.#limits.depth} levels deep`);
    if (shape !== null) this.#projection.open(type, shape, this.#base + at);
    this.#kinds.push(type === 'object');
    this.#state = type === 'object' ? NAME_OR_END : VALUE_OR_END;
  }

  #close(at: number): void {
    this.#projection.close(this.#kinds.length, this.#base + at + 1);
    this.#kinds.pop();
    this.#state = this.#kinds.length === 0 ? DONE : COMMA_OR_END;
  }

  /** @returns the index of the first byte that was not handled */
  #inside(chunk: Buffer, at: number): number {
    switch (this.#state) {
      case STRING:
        return this.#inString(chunk, at);
      case ESCAPE:
        return this.#inEscape(chunk, at);
      case HEX:
        this.#expect(isHexDigit(chunk[at] ?? 0), at);
        this.#hexLeft -= 1;
        if (this.#hexLeft === 0) this.#state = STRING;
        return at + 1;
      case LITERAL:
        return this.#inLiteral(chunk, at);
      default:
        return this.#inNumber(chunk, at);
    }
  }

  #inString(chunk: Buffer, from: number): number {
    const { length } = chunk;
    let at = from;
    while (at < length) {
      const byte = chunk[at] ?? 0;
      if (byte === 0x22) {
        this.#endString(chunk, at + 1);
        return at + 1;
      }
      if (byte === 0x5c) {
        this.#hasEscape = true;
        this.#state = ESCAPE;
        return at + 1;
      }
      if (byte < 0x20) throw this.#unexpected(at);
      at += 1;
    }
    return at;
  }

  #inEscape(chunk: Buffer, at: number): number {
    const byte = chunk[at] ?? 0;
    this.#expect(ESCAPABLE.has(byte), at);
    this.#state = byte === 0x75 ? HEX : STRING;
    this.#hexLeft = 4;
    return at + 1;
  }

  #endString(chunk: Buffer, end: number): void {
    const text = this.#isRetained ? this.#takeText(chunk, end) : null;
    if (!this.#isName) {
      this.#endValue('string', end, text === null ? '' : this.#decode(text));
      return;
    }
    if (text !== null && text.length <= MAX_NAME) this.#projection.endName(this.#decode(text), text);
    this.#state = COLON;
  }

  #inLiteral(chunk: Buffer, from: number): number {
    let at = from;
    const { length } = this.#literal;
    for (let index = this.#base + at - this.#start; index < length && at < chunk.length; index += 1) {
      this.#expect(chunk[at] === this.#literal[index], at);
      at += 1;
    }
    if (this.#base + at - this.#start === length) this.#endScalar(chunk, at);
    return at;
  }

  #inNumber(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length) {
      const state = nextOfNumber(this.#state, chunk[at] ?? 0);
      if (state === -1) {
        this.#endNumber(chunk, at);
        return at;
      }
      this.#state = state;
      at += 1;
    }
    return at;
  }

  #endNumber(chunk: Buffer, end: number): void {
    const state = this.#state;
    this.#expect(state === ZERO || state === INTEGER || state === FRACTION || state === POWER, end);
    this.#endScalar(chunk, end);
  }

  #endScalar(chunk: Buffer, end: number): void {
    this.#endValue('scalar', end, this.#isRetained ? this.#takeText(chunk, end) : '');
  }

  #endValue(type: 'string' | 'scalar', end: number, text: string): void {
    if (this.#shapeOfToken !== null)
      this.#projection.attach(createLeaf(type, this.#start, this.#base + end, text));
    this.#state = this.#kinds.length === 0 ? DONE : COMMA_OR_END;
  }

  #decode(written: string): string {
    return this.#hasEscape ? (JSON.parse(written) as string) : written.slice(1, -1);
  }

  #takeText(chunk: Buffer, end: number): string {
    this.#isRetained = false;
    return this.#retained.take(chunk, Math.max(0, this.#start - this.#base), end);
  }

  #expect(isMet: boolean, at: number): void {
    if (!isMet) throw this.#unexpected(at);
  }

  #unexpected(at: number): SyntaxError {
    return new SyntaxError(`byte ${this.#base + at} is unexpected`);
  }
}

const NOTHING = Buffer.alloc(0);
