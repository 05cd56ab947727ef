/** What options are declared with, beside zod itself: fields that several slices share, and the definition of one option. */
import * as z from 'zod';

/** What messages, documentation, help texts and the JSON Schema say about a value, besides its description. */
interface OptionMeta {
  /** Names the type in the documentation: `an https URL`. */
  readonly kind?: string;
  /** Completes "must be" where the kind alone is not enough: `a whole number from 1 to 60`. */
  readonly expected?: string;
  /** Names the default where the value alone would not explain itself. */
  readonly defaultText?: string;
  /** A configuration file may name a file or an environment variable that holds it. */
  readonly isSecret?: true;
  /** A configuration file names the file that holds these bytes. */
  readonly isFile?: true;
}

/** What is said of schemas besides their descriptions. */
export const optionMeta: z.core.$ZodRegistry<OptionMeta> = z.registry<OptionMeta>();

/** Builds a schema when it is first needed: most servers start with few of the options. */
export function lazy<S>(build: () => S): () => S {
  let built: S | undefined;
  return () => {
    built ??= build();
    return built;
  };
}

/** Sections of docs/configuration.md, in their order. */
export const optionSections = [
  'Protected servers', 'Network', 'Storage and encryption', 'First account', 'Sign-in', 'Clients', 'Tokens', 'Pages', 'Operation',
  'Protocol',
] as const; // biome-ignore format: a list

/** A section of docs/configuration.md. */
type OptionSection = (typeof optionSections)[number];

/** What is said of an option at the top level, beside its schema. */
interface OptionAbout<T> {
  /** For documentation and help texts; without one, only code can set the option. */
  readonly description?: string;
  /** Names the default where the value alone would not explain itself. */
  readonly defaultText?: string;
  /** What else operators should know. */
  readonly note?: string;
  /** The section of docs/configuration.md. */
  readonly section?: OptionSection;
  /** Stands for the value in the help text; without one there is no flag, because no command line could hold the value. */
  readonly placeholder?: string;
  /** The value is never shown, and the help text advises against the flag. */
  readonly isSecret?: true;
  /** Taken when the option is left out, without building the schema. */
  readonly default?: T;
  readonly isRequired?: true;
}

/** One option: its schema, and what is said of it. */
export type OptionDefinition<
  S extends z.ZodType = z.ZodType,
  A extends OptionAbout<unknown> = OptionAbout<unknown>,
> = { readonly schema: () => S } & A;

/** Declares one option: its schema, and its description and default. */
export function option<S extends z.ZodType, const A extends OptionAbout<z.output<S>>>(
  build: () => S,
  about: A,
): OptionDefinition<S, A> {
  return { schema: lazy(build), ...about };
}

type Definitions = Readonly<Record<string, OptionDefinition>>;

type SchemaOf<D> = D extends { readonly schema: () => infer S extends z.ZodType } ? S : never;
type RequiredIn<T> = { [K in keyof T]: T[K] extends { isRequired: true } ? K : never }[keyof T];

/** Options as a caller passes them. */
export type GivenOptions<T extends Definitions> = {
  readonly [K in RequiredIn<T>]: z.input<SchemaOf<T[K]>>;
} & { readonly [K in Exclude<keyof T, RequiredIn<T>>]?: z.input<SchemaOf<T[K]>> | undefined };

/** Options with their defaults. */
export type ParsedOf<T extends Definitions> = {
  readonly [K in keyof T]:
    | z.output<SchemaOf<T[K]>>
    | (T[K] extends { isRequired: true } | { default: unknown } ? never : undefined);
};

/** What callers may write for a schema that is built when needed. */
export type InputOf<S extends () => z.ZodType> = Readonly<z.input<ReturnType<S>>>;
/** What is read from a schema that is built when needed, with defaults. */
export type OutputOf<S extends () => z.ZodType> = Readonly<z.output<ReturnType<S>>>;

/** An optional member. @param defaultText what happens without it, where it is more than nothing */
export function optional<S extends z.ZodType>(
  schema: S,
  description: string,
  defaultText?: string,
): z.ZodOptional<S> {
  const member = schema.optional().describe(description);
  if (defaultText !== undefined) (optionMeta as z.core.$ZodRegistry<OptionMeta>).add(member, { defaultText });
  return member;
}

/** A non-empty string. @param kind completes "must be": `an https URL` */
export function text(kind = 'a string'): z.ZodString {
  return z.string().regex(/\S/, { abort: true }).register(optionMeta, { kind });
}

/** A string that a check accepts; the check returns what is wrong with any other. */
export function checkedText(kind: string, check: (value: string) => string | null): z.ZodString {
  return text(kind).superRefine((value, { addIssue }) => {
    const message = check(value);
    if (message !== null) addIssue({ code: 'custom', message });
  });
}

/** @param minimum characters */
export function secret(minimum = 1): z.ZodString {
  const kind = minimum > 1 ? `a secret of at least ${minimum} characters` : 'a secret';
  return z.string().min(minimum).register(optionMeta, { kind, isSecret: true });
}

/** A whole number. @param kind what is counted: `a whole number of milliseconds` */
export function wholeNumber(minimum: number, maximum: number, kind = 'a whole number'): z.ZodInt {
  const expected = `${kind} from ${minimum} to ${maximum}`;
  return number(minimum, maximum, expected, kind === 'a whole number' ? expected : kind);
}

/** A number above 0. */
export function positiveNumber(): z.ZodNumber {
  return z.number().positive().register(optionMeta, { kind: 'a number' });
}

/** Ten years. */
const MAXIMUM_SECONDS = 10 * 365 * 86_400;

/** The kind of durations: their defaults are shown in minutes, hours or days as well. */
const SECONDS = 'seconds';

/** @param alternative ends the message where another value is accepted: `, or null` */
export function seconds(minimum: number, maximum: number = MAXIMUM_SECONDS, alternative = ''): z.ZodInt {
  const range = `a whole number of seconds from ${minimum} to ${duration(maximum)}`;
  return number(minimum, maximum, `${range}, such as 600 for 10 minutes${alternative}`, SECONDS);
}

/** The kind of sizes: their defaults are shown in KiB or MiB as well. */
const BYTES = 'a whole number of bytes';

/** A size; its default is shown in MiB as well. */
export function bytes(minimum: number, maximum: number): z.ZodInt {
  return wholeNumber(minimum, maximum, BYTES);
}

function number(minimum: number, maximum: number, expected: string, kind: string): z.ZodInt {
  return z.int().min(minimum).max(maximum).register(optionMeta, { kind, expected });
}

const UNITS = [['day', 86_400], ['hour', 3600], ['minute', 60]] as const; // biome-ignore format: a table

/** `600 (10 minutes)` */
export function duration(value: number): string {
  const [unit, size] = UNITS.find(([, unitSize]) => value >= unitSize && value % unitSize === 0) ?? ['', 0];
  if (size === 0) return String(value);
  const count = value / size;
  return `${value} (${count} ${unit}${count === 1 ? '' : 's'})`;
}

const MIB = 1024 * 1024;

/** A default as text: `600 (10 minutes)`, `4194304 (4 MiB)`, `true`. */
export function formatDefault(value: unknown, kind: string): string {
  if (typeof value === 'number' && kind.startsWith(SECONDS)) return duration(value);
  if (typeof value === 'number' && kind === BYTES && value % MIB === 0)
    return `${value} (${value / MIB} MiB)`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Callers may pass a readonly array. */
export function list<S extends z.ZodType>(element: S, minimum = 0, maximum = Infinity): ListOf<S> {
  const any = z.array(element);
  const some = minimum === 0 ? any : any.min(minimum);
  // Readonly for the compiler alone: `.readonly()` would freeze what a caller passed, and fails on bytes in place of an array.
  return maximum === Infinity ? some : some.max(maximum);
}

type ListOf<S extends z.ZodType> = z.ZodType<readonly z.output<S>[], readonly z.input<S>[]>;

/** An object whose keys the operator chooses. */
export function record<S extends z.ZodType>(value: S, kind: string): RecordOf<S> {
  return z.record(z.string(), value).register(optionMeta, { kind });
}

type StringRecord<S extends z.ZodType> = z.ZodRecord<z.ZodString, S>;
type RecordOf<S extends z.ZodType> = z.ZodType<
  Readonly<z.output<StringRecord<S>>>,
  Readonly<z.input<StringRecord<S>>>
>;

/** Members that share a schema, for `z.strictObject`. */
export function members<K extends string, S extends z.ZodType>(
  names: readonly K[],
  create: (name: K) => S,
): { readonly [N in K]: S } {
  return Object.fromEntries(names.map((name) => [name, create(name)])) as { [N in K]: S };
}

/** A function, which only code can pass. */
export function callback<T>(): z.ZodCustom<T, T> {
  return z.custom<T>((value) => typeof value === 'function').register(optionMeta, { kind: 'a function' });
}

const KINDS: Readonly<Record<string, string>> = {
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
};

/** What of a schema leads to others. */
interface Inner {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly values?: readonly unknown[];
}

/** How messages and documentation name what a schema accepts. */
export function kindOf(schema: z.ZodType): string {
  const kind = optionMeta.get(schema)?.kind;
  if (kind !== undefined) return kind;
  const { type, innerType, element, options, values } = schema.def as unknown as Inner;
  if (type === 'enum')
    return Object.values((schema as z.ZodEnum).enum)
      .map((value) => `\`${value}\``)
      .join(', ');
  if (type === 'literal') return (values ?? []).map(String).join(', ');
  if (element !== undefined) return `an array, each ${kindOf(element)}`;
  if (options !== undefined)
    return options
      .map(kindOf)
      .join(', ')
      .replaceAll(' or ', ', ')
      .replace(/, ([^,]*)$/, ' or $1');
  return innerType === undefined
    ? (KINDS[type] ?? 'a string')
    : `${kindOf(innerType)}${type === 'nullable' ? ' or null' : ''}`;
}
