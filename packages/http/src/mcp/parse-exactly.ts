/** Parses JSON without loss: a double has fewer digits than a number may have, and no sign of zero in JSON. */

/** The text of a number: `JSON.stringify` writes it as it is. */
interface NumberText {
  readonly rawJSON: string;
}

const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): NumberText;
  isRawJSON(value: unknown): value is NumberText;
};

/** Every number that `JSON.stringify` writes in another way, and every number of 1e16 or more. */
const MAY_CHANGE =
  /(?<=^|[[:,\s])(?:-0(?![.\d])|-?[\d.]{16}|-?0\.0{6}|-?\d+[eE]|-?\d+\.\d*(?:0(?!\d)|[eE]))[\d.eE+-]*/g;

/** A multiple of it stands for a number of the list in the text that `JSON.parse` reads, which has no others that large. */
const PLACEHOLDER = 1e30;

/**
 * `JSON.stringify` writes each number of the result as it was written. Without a reviver, which is called for every value of the text
 * when one number may change, and fails for values that are deeply nested.
 * @throws SyntaxError
 */
export function parseExactly(text: string): unknown {
  if (text.search(MAY_CHANGE) === -1) return JSON.parse(text);
  const numbers: (number | NumberText)[] = [];
  const replaced = replaceNumbers(text, (source) => {
    const double = Number(source);
    return `${numbers.push(String(double) === source ? double : rawJSON(source))}e30`;
  });
  return withNumbers(JSON.parse(replaced), numbers);
}

/** Replaces the numbers that may change, outside strings. */
function replaceNumbers(text: string, replace: (number: string) => string): string {
  let replaced = '';
  let copied = 0;
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const end = quote === -1 ? text.length : quote;
    const before = text.slice(at, end);
    const after = before.replace(MAY_CHANGE, replace);
    if (after !== before) {
      replaced += text.slice(copied, at) + after;
      copied = end;
    }
    at = endOfString(text, end);
  }
  return replaced + text.slice(copied);
}

/** Behind the closing quote; the end of the text without one. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return end + 1;
  }
  return text.length;
}

const QUOTE = 0x22;
/** `[` and `]` differ from `{` and `}` in this bit. */
const BRACE_BIT = 0x20;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** Whether arrays and objects are nested in more levels: `JSON.stringify` fails for thousands. */
export function nestsDeeper(text: string, levels: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    const brace = code | BRACE_BIT;
    if (brace === OPENING_BRACE) depth += 1;
    else if (brace === CLOSING_BRACE) depth -= 1;
    if (depth > levels) return true;
    at = code === QUOTE ? endOfString(text, at) : at + 1;
  }
  return false;
}

/** Puts the numbers of the list where their placeholders are. */
function withNumbers(parsed: unknown, numbers: readonly (number | NumberText)[]): unknown {
  const root = [parsed];
  const open: (unknown[] | Record<string, unknown>)[] = [root];
  const numberFor = (value: unknown) => {
    if (typeof value === 'object' && value !== null) open.push(value as Record<string, unknown>);
    return typeof value === 'number' && value >= PLACEHOLDER
      ? numbers[Math.round(value / PLACEHOLDER) - 1]
      : undefined;
  };
  for (let values = open.pop(); values !== undefined; values = open.pop())
    if (Array.isArray(values)) {
      for (let index = 0; index < values.length; index += 1) {
        const number = numberFor(values[index]);
        if (number !== undefined) values[index] = number;
      }
    } else {
      for (const name of Object.keys(values)) {
        const number = numberFor(values[name]);
        // An assignment would set the prototype of the object.
        if (number !== undefined && name === '__proto__')
          Object.defineProperty(values, name, { value: number });
        else if (number !== undefined) values[name] = number;
      }
    }
  return root[0];
}

/** Whether a parsed value is a number that is not a double. */
export function isNumberText(value: unknown): value is NumberText {
  return isRawJSON(value);
}

/** A parsed value; a number as a double. */
export function toDouble(value: unknown): unknown {
  return isNumberText(value) ? Number(value.rawJSON) : value;
}
