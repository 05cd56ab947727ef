/** Parses JSON without loss: a double has fewer digits than a number may have, and no sign of zero in JSON. */

/** The text of a number: `JSON.stringify` writes it as it is. */
interface NumberText {
  readonly rawJSON: string;
}

const { parse, rawJSON, isRawJSON } = JSON as unknown as {
  parse(text: string, revive: (name: string, value: unknown, context: Source) => unknown): unknown;
  rawJSON(text: string): NumberText;
  isRawJSON(value: unknown): value is NumberText;
};

interface Source {
  /** Of a value that is neither an object nor an array. */
  readonly source?: string;
}

/** Is in each number that `JSON.stringify` writes in another way; also in strings. A match takes twenty times as long to parse. */
const MAY_CHANGE = /(?:^|[[:,\s])(?:-0(?![.\d])|-?[\d.]{16}|-?0\.0{6}|-?\d+[eE]|-?\d+\.\d*(?:0(?!\d)|[eE]))/;

/** `JSON.stringify` writes each number of the result as it was written. @throws SyntaxError */
export function parseExactly(text: string): unknown {
  return MAY_CHANGE.test(text) ? parse(text, retainDigits) : JSON.parse(text);
}

function retainDigits(_name: string, value: unknown, { source }: Source): unknown {
  const isChanged = typeof value === 'number' && source !== undefined && String(value) !== source;
  return isChanged ? rawJSON(source) : value;
}

/** Whether a parsed value is a number that is not a double. */
export function isNumberText(value: unknown): value is NumberText {
  return isRawJSON(value);
}

/** A parsed value; a number as a double. */
export function toDouble(value: unknown): unknown {
  return isNumberText(value) ? Number(value.rawJSON) : value;
}
