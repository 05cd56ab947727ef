/** The arguments of a call as conditions read them: only JSON that every parser reads in the same way. */
import { readStrictJson, toNfkc } from '@portcullis/protocol';

/** The arguments of a call, parsed when a condition reads them. */
export interface CallArguments {
  /** @throws SyntaxError for arguments that parsers read differently, or that are not an object */
  read(): ReadArguments;
}

/** Parsed arguments. */
export interface ReadArguments {
  /** Integers that a double does not represent exactly are of type bigint. */
  readonly value: Readonly<Record<string, unknown>>;
  /** The names of all members, folded as by parsers that ignore case → as written. */
  readonly names: ReadonlyMap<string, ReadonlySet<string>>;
}

const LIMITS = { depth: 64, members: 10_000, values: 100_000 };

/** @param text the JSON of the arguments as sent to the server; `null`: the call has none */
export function createCallArguments(text: () => string | null): CallArguments {
  let known: ReadArguments | null = null;
  return {
    read() {
      known ??= readArguments(text() ?? '{}');
      return known;
    },
  };
}

/** For operations without arguments. */
export const NO_ARGUMENTS: CallArguments = createCallArguments(() => null);

function readArguments(text: string): ReadArguments {
  const strict = readStrictJson(text, LIMITS);
  const value = LONG_NUMBER.test(text) ? readExactly(text) : strict;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new SyntaxError('the arguments are no object');
  const names = new Map<string, Set<string>>();
  collectNames(value, names);
  return { value: value as ReadArguments['value'], names };
}

/** Shorter numbers are exact; an exponent makes any number large, or too small to be represented. */
const LONG_NUMBER = /\d[\d.]{15}|\d[eE]/;

const INT64_MAX = 2n ** 63n - 1n;

/** A server with other number types might read another value than the condition. */
function readExactly(text: string): unknown {
  const revive = (_name: string, value: unknown, { source }: { readonly source?: string }): unknown => {
    if (typeof value !== 'number') return value;
    if (Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER) {
      if (digitsOf(source ?? '') === digitsOf(String(value))) return value;
      throw new SyntaxError('the arguments have a number with too many digits to compare exactly');
    }
    const integer = /^-?\d{1,19}$/.test(source ?? '') ? BigInt(source ?? '') : null;
    if (integer === null || integer > INT64_MAX || integer < -INT64_MAX)
      throw new SyntaxError('the arguments have a number that is too large to compare exactly');
    return integer;
  };
  return (JSON.parse as (text: string, revive: unknown) => unknown)(text, revive);
}

/** A number in one form: sign, digits without zeros around them, and exponent. */
function digitsOf(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  const scale = Number(exponent) - fraction.length + digits.length - end;
  return end === 0 ? '0' : `${sign}${digits.slice(0, end)}e${scale}`;
}

/** Nesting is limited. @throws SyntaxError */
function collectNames(value: unknown, names: Map<string, Set<string>>): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const one of value) collectNames(one, names);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    // A server may drop it or take it for the prototype, and the engine compares it with the prototypes of other objects.
    if (name === '__proto__') throw new SyntaxError('the arguments have a member __proto__');
    const folded = foldName(name);
    const written = names.get(folded);
    if (written === undefined) names.set(folded, new Set([name]));
    else written.add(name);
    collectNames(member, names);
  }
}

/** A name as parsers that ignore case compare it. */
export function foldName(name: string): string {
  return toNfkc(name).toUpperCase().toLowerCase();
}
