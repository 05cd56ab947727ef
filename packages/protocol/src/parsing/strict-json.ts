/** Parses untrusted JSON in one pass: bounded, and without member names that parsers disagree about. */

/** Limits of a document. Parsing ends where one is exceeded. */
export interface JsonLimits {
  /** The maximum nesting of objects and arrays. */
  readonly depth: number;
  /** The maximum number of members of all objects together. */
  readonly members: number;
  /** The maximum number of values, elements of arrays included. */
  readonly values: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const LITERAL = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const CONTROL_CHARACTER = /[^ -\uffff]/;
/** An escaped letter, digit or underscore: no encoder writes one. */
const DISGUISE = /\\u00(?:3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])/i;

/**
 * Parses JSON in linear time.
 * @throws SyntaxError if the text is malformed, exceeds a limit, repeats a member of an object, or escapes a letter, a
 * digit or an underscore in a name. Parsers disagree which of two equal members counts. V8 may take an escaped name for
 * one that an earlier document made it expect: then the member is missing under its name, for that reader only.
 * @see RFC 8259 §4
 */
export function readStrictJson(text: string, limits: JsonLimits): unknown {
  return new JsonReader(text, limits).readDocument();
}

class JsonReader {
  readonly #text: string;
  readonly #limits: JsonLimits;
  #at = 0;
  #members = 0;
  #values = 0;

  constructor(text: string, limits: JsonLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  readDocument(): unknown {
    this.#skipSpace();
    const value = this.#readValue(0);
    if (this.#at < this.#text.length) throw this.#malformed();
    return value;
  }

  /** Reads a value and the white space behind it. */
  #readValue(depth: number): unknown {
    this.#values += 1;
    if (this.#values > this.#limits.values) throw new SyntaxError('JSON has too many values');
    const value = this.#readBareValue(depth);
    this.#skipSpace();
    return value;
  }

  #readBareValue(depth: number): unknown {
    switch (this.#text.charCodeAt(this.#at)) {
      case QUOTE:
        return this.#readString();
      case OPEN_BRACE:
        return this.#readObject(this.#nest(depth));
      case OPEN_BRACKET:
        return this.#readArray(this.#nest(depth));
      default:
        return this.#readLiteral();
    }
  }

  #nest(depth: number): number {
    if (depth >= this.#limits.depth)
      throw new SyntaxError(`JSON nests more than ${this.#limits.depth} levels deep`);
    this.#at += 1;
    this.#skipSpace();
    return depth + 1;
  }

  #readObject(depth: number): unknown {
    const members = new Map<string, unknown>();
    if (this.#skip(CLOSE_BRACE)) return {};
    do {
      this.#skipSpace();
      const name = this.#readName();
      if (members.has(name)) throw new SyntaxError('JSON repeats a member of an object');
      members.set(name, this.#readValue(depth));
    } while (this.#skip(COMMA));
    if (!this.#skip(CLOSE_BRACE)) throw this.#malformed();
    // Unlike an assignment, this makes an ordinary member of `__proto__`.
    return Object.fromEntries(members);
  }

  /** Reads the name of a member, its colon, and the white space around it. */
  #readName(): string {
    this.#members += 1;
    if (this.#members > this.#limits.members) throw new SyntaxError('JSON has too many members');
    const start = this.#at;
    if (this.#text.charCodeAt(start) !== QUOTE) throw this.#malformed();
    const name = this.#readString();
    if (this.#at - start > name.length + 2 && DISGUISE.test(this.#text.slice(start, this.#at)))
      throw new SyntaxError('JSON names a member with an escape that it does not need');
    this.#skipSpace();
    if (!this.#skip(COLON)) throw this.#malformed();
    this.#skipSpace();
    return name;
  }

  #readArray(depth: number): unknown {
    const elements: unknown[] = [];
    if (this.#skip(CLOSE_BRACKET)) return elements;
    do {
      this.#skipSpace();
      elements.push(this.#readValue(depth));
    } while (this.#skip(COMMA));
    if (!this.#skip(CLOSE_BRACKET)) throw this.#malformed();
    return elements;
  }

  #readString(): string {
    const start = this.#at;
    const end = endOfString(this.#text, start);
    if (end === -1) throw this.#malformed();
    this.#at = end + 1;
    const content = this.#text.slice(start + 1, end);
    if (content.includes('\\')) return JSON.parse(this.#text.slice(start, end + 1)) as string;
    if (CONTROL_CHARACTER.test(content)) throw this.#malformed();
    return content;
  }

  #readLiteral(): unknown {
    LITERAL.lastIndex = this.#at;
    const [literal] = LITERAL.exec(this.#text) ?? [];
    if (literal === undefined) throw this.#malformed();
    this.#at += literal.length;
    if (literal === 'null') return null;
    return literal === 'true' || (literal === 'false' ? false : Number(literal));
  }

  #skip(code: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== code) return false;
    this.#at += 1;
    return true;
  }

  #skipSpace(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }

  #malformed(): SyntaxError {
    return new SyntaxError(`JSON is malformed at character ${this.#at}`);
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** The index of the quote that ends the string beginning at `start`; -1 if there is none. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** Whether an odd number of backslashes precedes a character. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}
