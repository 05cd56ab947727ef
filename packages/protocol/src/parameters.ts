/** Form and query parameters as OAuth reads them: an empty one is absent, a repeated one is an error when it is read. */
import { OAuthError } from './errors.ts';

/** Decoded parameters. Unknown ones do no harm: nobody reads them. */
export interface Parameters {
  /** The value of a parameter that may be sent once; `undefined` when absent or empty. Throws `invalid_request` when repeated. */
  one(name: string): string | undefined;
  /** As `one`, and throws `invalid_request` when it is absent. */
  required(name: string): string;
  /** The values of a parameter that may repeat, such as `resource`. */
  all(name: string): readonly string[];
}

/** Names and their values in turn, as they were sent: there are few, so that walking over them is cheaper than any index. */
type Pairs = readonly string[];

/**
 * Reads `application/x-www-form-urlencoded` text.
 * Parameters sent without a value MUST be treated as if they were omitted; parameters MUST NOT be included more than once.
 * @see OAuth 2.1 draft 13 §3.1 and §3.2
 */
export function readParameters(encoded: string | URLSearchParams): Parameters {
  const pairs = typeof encoded === 'string' ? readPairs(encoded) : [...encoded].flat();
  const one = (name: string) => readOne(pairs, name);
  return {
    one,
    required(name) {
      const value = one(name);
      if (value === undefined) throw new OAuthError('invalid_request', `The parameter ${name} is missing.`);
      return value;
    },
    all: (name) => readAll(pairs, name),
  };
}

/** In a third of the time that `URLSearchParams` takes, which reads what is unusual. */
function readPairs(encoded: string): Pairs {
  if (!encoded.isWellFormed()) return readUnusual(encoded);
  const pairs: string[] = [];
  for (let begin = 0; begin < encoded.length; ) {
    const end = indexOrEnd(encoded, '&', begin);
    const part = encoded.slice(begin, end);
    const equals = indexOrEnd(part, '=', 0);
    const name = decode(part.slice(0, equals));
    const value = decode(part.slice(equals + 1));
    if (name === null || value === null) return readUnusual(encoded);
    if (part !== '') pairs.push(name, value);
    begin = end + 1;
  }
  return pairs;
}

function indexOrEnd(text: string, character: string, from: number): number {
  const index = text.indexOf(character, from);
  return index === -1 ? text.length : index;
}

/** At the beginning `URLSearchParams` would take a question mark for the one that ends a path. */
function readUnusual(encoded: string): Pairs {
  return [...new URLSearchParams(`&${encoded}`)].flat();
}

/** `null` when it is not form-encoded UTF-8 throughout. */
function decode(text: string): string | null {
  if (!text.includes('%')) return text.includes('+') ? text.replaceAll('+', ' ') : text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

function readOne(pairs: Pairs, name: string): string | undefined {
  let found: string | undefined;
  for (let index = 0; index < pairs.length; index += 2) {
    if (pairs[index] !== name) continue;
    if (found !== undefined) throw new OAuthError('invalid_request', `Send the parameter ${name} only once.`);
    found = pairs[index + 1];
  }
  return found === '' ? undefined : found;
}

function readAll(pairs: Pairs, name: string): readonly string[] {
  const values: string[] = [];
  for (let index = 0; index < pairs.length; index += 2) {
    const value = pairs[index + 1];
    if (pairs[index] === name && value !== undefined && value !== '') values.push(value);
  }
  return values;
}
