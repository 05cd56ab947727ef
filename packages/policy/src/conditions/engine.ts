/** The CEL engine with types of one level, and with functions that read texts and times as their names say. */
import { Environment } from '@marcbachmann/cel-js';
import { VARIABLES } from './variables.ts';

type Options = ConstructorParameters<typeof Environment>[0];
type Handler = (value: unknown, ...others: readonly unknown[]) => unknown;

/** An overload of a function. */
interface Overload {
  readonly handler: Handler;
  readonly receiverType: { readonly name: string } | null;
  readonly argTypes: readonly { readonly name: string }[];
}

/** The part of the engine that names types of values, and finds functions. */
interface Evaluator {
  debugType: (value: unknown) => unknown;
  /** By default, the type of a list or an object is that of its first element, at each level, and is never forgotten. */
  debugTypeDeep: (value: unknown) => unknown;
  readonly registry: {
    functionCandidates(
      isMethod: boolean,
      name: string,
      operands: number,
    ): { readonly declarations: Overload[] };
  };
}

export function createEngine(options: Options): Environment {
  const environment = Object.entries(VARIABLES).reduce(
    (found, [name, schema]) => found.registerVariable({ name, schema }),
    new Environment(options),
  );
  environment.registerFunction('adapt(ast): bool', () => ({
    typeCheck: (checker: { getType(name: string): unknown }) => checker.getType('bool'),
    evaluate(evaluator: Evaluator) {
      flattenTypes(evaluator);
      for (const replacement of REPLACEMENTS) replace(evaluator, replacement);
      return true;
    },
  }));
  environment.evaluate('adapt(true)');
  return environment;
}

/** Types of values have one level, so that arguments cannot fill the memory with the types of their nesting. */
function flattenTypes(evaluator: Evaluator): void {
  const { debugType, debugTypeDeep } = evaluator;
  if (typeof debugTypeDeep !== 'function') throw new TypeError('the CEL engine names types otherwise');
  evaluator.debugType = (value) => {
    // Objects are compared by their inherited members, too, of which this one is an object.
    if (value === Object.prototype) throw new TypeError('an object has a member __proto__');
    return debugType.call(evaluator, value);
  };
  evaluator.debugTypeDeep = evaluator.debugType;
}

interface Replacement {
  readonly isMethod: boolean;
  readonly name: string;
  /** Types of the receiver and the arguments. */
  readonly types: readonly string[];
  /** @param original the handler of the overload with this many operands */
  create(original: (operands: number) => Handler): Handler;
}

const TIMESTAMP = 'google.protobuf.Timestamp';

const REPLACEMENTS: readonly Replacement[] = [
  // Servers read `0b11` and an empty text as other numbers, or as none.
  ofNumber('int', /^-?\d+$/),
  ofNumber('uint', /^\d+$/),
  ofNumber('double', /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/),
  // The engine folds all of Unicode: the Kelvin sign becomes the letter k.
  ofLetters('lowerAscii', /[A-Z]+/g, (text) => text.toLowerCase()),
  ofLetters('upperAscii', /[a-z]+/g, (text) => text.toUpperCase()),
  // The engine calculates in the time zone of the computer.
  { isMethod: true, name: 'getDayOfYear', types: [TIMESTAMP], create: () => dayOfYear },
  ...['getFullYear', 'getMonth', 'getDate', 'getDayOfMonth', 'getDayOfWeek', 'getDayOfYear'].map(inZone),
  ...['getHours', 'getMinutes', 'getSeconds'].map(inZone),
];

function ofNumber(name: string, form: RegExp): Replacement {
  const create: Replacement['create'] = (original) => {
    const parse = original(1);
    return (text) => {
      if (!form.test(String(text))) throw new TypeError(`${name}() type error: the text is no number`);
      return parse(text);
    };
  };
  return { isMethod: false, name, types: ['string'], create };
}

function ofLetters(name: string, letters: RegExp, fold: (text: string) => string): Replacement {
  return {
    isMethod: true,
    name,
    types: ['string'],
    create: () => (text) => String(text).replace(letters, fold),
  };
}

function inZone(name: string): Replacement {
  const create: Replacement['create'] = (original) => {
    const ofUtc = original(1);
    return (time, zone) => ofUtc(shift(time as Date, String(zone)));
  };
  return { isMethod: true, name, types: [TIMESTAMP, 'string'], create };
}

/** By their zones, which conditions write. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** The time whose parts in UTC are those of a time in a zone. */
function shift(time: Date, timeZone: string): Date {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    });
  formats.set(timeZone, format);
  const parts = Object.fromEntries(
    format.formatToParts(time).map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second));
}

/** From 0. */
function dayOfYear(time: unknown): bigint {
  const date = time as Date;
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  return BigInt((Date.UTC(year, month, day) - Date.UTC(year, 0, 1)) / 86_400_000);
}

function replace({ registry }: Evaluator, { isMethod, name, types, create }: Replacement): void {
  const find = (operands: readonly string[]) => {
    const [receiver, ...others] = operands;
    const { declarations } = registry.functionCandidates(
      isMethod,
      name,
      isMethod ? others.length : operands.length,
    );
    const index = declarations.findIndex(({ receiverType, argTypes }) =>
      isMethod
        ? receiverType?.name === receiver && String(argTypes.map((one) => one.name)) === String(others)
        : String(argTypes.map((one) => one.name)) === String(operands),
    );
    const found = declarations[index];
    if (found === undefined) throw new TypeError(`the CEL engine has no ${name}(${types})`);
    return { declarations, index, found };
  };
  const { declarations, index, found } = find(types);
  const handler = create((operands) => find(types.slice(0, operands)).found.handler);
  declarations[index] = Object.create(found, { handler: { value: handler } });
}
