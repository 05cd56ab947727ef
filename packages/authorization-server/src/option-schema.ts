/** Building blocks of the options schema, and reading a value by it so that every issue is reported at once. */
import { ConfigurationError } from '@portcullis/protocol';
import { findSimilarName, suggestName } from '@portcullis/protocol/option-names';
import * as z from 'zod';

/** What documentation, help texts and the JSON Schema say about an option. */
export interface OptionMeta {
  readonly description?: string;
  /** Completes "must be …" and names the type in the documentation: `an https URL`. */
  readonly kind?: string;
  /** Names the default where the value alone would not explain itself. */
  readonly defaultText?: string;
  /** A configuration file may name a file or an environment variable that holds it. */
  readonly isSecret?: true;
  /** A configuration file names the file that holds these bytes. */
  readonly isFile?: true;
}

export const optionMeta: z.core.$ZodRegistry<OptionMeta> = z.registry<OptionMeta>();

/** Builds a schema when it is first needed: most servers start with few of the options. */
export function lazy<T>(build: () => z.ZodType<T>): () => z.ZodType<T> {
  let built: z.ZodType<T> | undefined;
  return () => {
    built ??= build();
    return built;
  };
}

const MISSING = 'is required';

/** Completes "must be" for a value of the wrong type, and names a missing one. */
function must(kind: string): { error(issue: { readonly input?: unknown }): string } {
  return { error: ({ input }) => (input === undefined ? MISSING : `must be ${kind}`) };
}

type About<T> = { readonly default?: T; readonly defaultText?: string };

/** An option that may be left out. */
export function optional<T>(
  schema: z.ZodType<T>,
  description: string,
  about?: { readonly defaultText?: string },
): z.ZodType<T | undefined>;
export function optional<T>(
  schema: z.ZodType<T>,
  description: string,
  about: { readonly default: T; readonly defaultText?: string },
): z.ZodType<T>;
export function optional<T>(
  schema: z.ZodType<T>,
  description: string,
  about: About<T> = {},
): z.ZodType<T | undefined> {
  const { default: value, defaultText } = about;
  const wrapped = value === undefined ? schema.optional() : schema.default(value as never);
  return wrapped.register(optionMeta, { description, ...(defaultText !== undefined && { defaultText }) });
}

/** An option that has to be given. */
export function required<T>(schema: z.ZodType<T>, description: string): z.ZodType<T> {
  return schema.register(optionMeta, { ...optionMeta.get(schema), description });
}

/** A non-empty string. @param kind completes "must be": `an https URL` */
export function text(kind = 'a string'): z.ZodType<string> {
  return z
    .string(must(kind.startsWith('a string') ? kind : `a string: ${kind}`))
    .regex(/\S/, {
      error: kind === 'a string' ? 'must not be empty' : `must not be empty: ${kind}`,
      abort: true,
    })
    .register(optionMeta, { kind });
}

/** A string that a check accepts; the check returns what is wrong with any other. */
export function checkedText(kind: string, check: (value: string) => string | null): z.ZodType<string> {
  return text(kind)
    .superRefine((value, { addIssue }) => {
      const message = check(value);
      if (message !== null) addIssue({ code: 'custom', message });
    })
    .register(optionMeta, { kind });
}

/** @param minimum characters */
export function secret(minimum = 1): z.ZodType<string> {
  const message =
    minimum > 1
      ? `must have at least ${minimum} characters; \`openssl rand -hex 32\` generates one`
      : 'must not be empty';
  const kind = minimum > 1 ? `a secret of at least ${minimum} characters` : 'a secret';
  return z
    .string(must('a string, { "file": … } or { "variable": … }'))
    .min(minimum, message)
    .register(optionMeta, { kind, isSecret: true });
}

export function boolean(): z.ZodType<boolean> {
  return z.boolean(must('true or false'));
}

export function oneOf<const T extends string>(...values: readonly T[]): z.ZodType<T> {
  return z.enum(values, must(`one of ${values.join(', ')}`)) as unknown as z.ZodType<T>;
}

export function wholeNumber(minimum: number, maximum: number, kind = 'a whole number'): z.ZodType<number> {
  const range = `${kind} from ${minimum} to ${maximum}`;
  return number(minimum, maximum, range, kind === 'a whole number' ? range : kind);
}

export function positiveNumber(): z.ZodType<number> {
  return z
    .number(must('a number'))
    .positive('must be more than 0')
    .register(optionMeta, { kind: 'a number' });
}

/** Ten years. */
const MAXIMUM_SECONDS = 10 * 365 * 86_400;

/** @param alternative ends the message where another value is accepted: `, or null` */
export function seconds(
  minimum: number,
  maximum: number = MAXIMUM_SECONDS,
  alternative = '',
): z.ZodType<number> {
  const range = `a whole number of seconds from ${minimum} to ${duration(maximum)}, such as 600 for 10 minutes${alternative}`;
  return number(minimum, maximum, range, 'seconds');
}

function number(minimum: number, maximum: number, range: string, kind: string): z.ZodType<number> {
  const error = ({ input }: { readonly input?: unknown }) =>
    input === undefined
      ? MISSING
      : `must be ${range}${typeof input === 'string' && /^\d+$/.test(input) ? ': a number, not a string' : ''}`;
  return z.int({ error }).min(minimum, { error }).max(maximum, { error }).register(optionMeta, { kind });
}

const UNITS = [['day', 86_400], ['hour', 3600], ['minute', 60]] as const; // biome-ignore format: a table

/** `600 (10 minutes)` */
export function duration(value: number): string {
  const [unit, size] = UNITS.find(([, unitSize]) => value >= unitSize && value % unitSize === 0) ?? ['', 0];
  if (size === 0) return String(value);
  const count = value / size;
  return `${value} (${count} ${unit}${count === 1 ? '' : 's'})`;
}

export function list<T>(element: z.ZodType<T>, minimum = 0, maximum?: number): z.ZodType<readonly T[]> {
  const kind = `an array, each ${kindOf(element)}`;
  const any = z.array(element, must(kind));
  const some = minimum === 0 ? any : any.min(minimum, 'must not be empty');
  const schema = maximum === undefined ? some : some.max(maximum, `must have at most ${maximum} entries`);
  return schema.register(optionMeta, { kind });
}

/** An object whose keys the operator chooses. */
export function record<T>(value: z.ZodType<T>, kind: string): z.ZodType<Readonly<Record<string, T>>> {
  return z.record(z.string(), value, must(kind)).register(optionMeta, { kind });
}

/** An object with exactly these members; the compiler checks that none is missing. */
export function object<T extends object>(
  shape: { readonly [K in keyof T]-?: z.ZodType<T[K] | undefined> },
  kind?: string,
): z.ZodType<T> {
  const names = Object.keys(shape).join(', ');
  // `readIssues` turns each unknown key into an issue of its own and needs the known names for its suggestion.
  const { error: wrongType } = must(kind ?? `an object with ${names}`);
  const error = (issue: { readonly code?: string; readonly input?: unknown }) =>
    issue.code === 'unrecognized_keys' ? names : wrongType(issue);
  return (z.strictObject(shape, { error }) as unknown as z.ZodType<T>).register(optionMeta, {
    kind: kind ?? 'an object',
  });
}

/** Members that share a schema, for `object`. */
export function members<K extends string, T>(
  names: readonly K[],
  create: (name: K) => z.ZodType<T>,
): { readonly [N in K]: z.ZodType<T> } {
  return Object.fromEntries(names.map((name) => [name, create(name)])) as { [N in K]: z.ZodType<T> };
}

/** `true` and `false` are short for an object. */
export function booleanOr<T>(schema: z.ZodType<T>): z.ZodType<boolean | T> {
  return union('true, false or an object', z.boolean(), schema);
}

export function falseOr<T>(schema: z.ZodType<T>, kind = 'false or an object'): z.ZodType<false | T> {
  return union(kind, z.literal(false), schema);
}

export function union<A, B>(kind: string, one: z.ZodType<A>, other: z.ZodType<B>): z.ZodType<A | B> {
  return z.union([one, other], must(kind)).register(optionMeta, { kind });
}

/** A value that JSON cannot hold, or whose shape is checked elsewhere. */
export function custom<T>(kind: string, check: (value: unknown) => boolean): z.ZodType<T> {
  return z.custom<T>(check, must(kind)).register(optionMeta, { kind });
}

const KINDS: Readonly<Record<string, string>> = {
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
};

/** How messages and documentation name what a schema accepts. */
export function kindOf(schema: z.ZodType): string {
  const kind = optionMeta.get(schema)?.kind;
  if (kind !== undefined) return kind;
  const { def } = schema;
  if (def.type === 'enum')
    return Object.values((schema as z.ZodEnum).enum)
      .map((value) => `\`${value}\``)
      .join(', ');
  const { innerType } = def as unknown as { readonly innerType?: z.ZodType };
  return innerType === undefined
    ? (KINDS[def.type] ?? 'a string')
    : `${kindOf(innerType)}${def.type === 'nullable' ? ' or null' : ''}`;
}

type Path = readonly string[];

export interface OptionIssue {
  /** `['resources', '0', 'scopes']` */
  readonly path: Path;
  /** Either a predicate (`must be …`) or a sentence of its own (`unknown scope …`). */
  readonly message: string;
}

/** Collects the issues of options, and remembers what could not be read, so that no rule checks it. */
export interface OptionReport {
  readonly issues: readonly OptionIssue[];
  /** Paths that could not be read. */
  readonly unread: readonly Path[];
  add(path: readonly (string | number)[], message: string): void;
  /** Excludes a path from the rules. */
  markUnread(path: Path): void;
  /** Whether anything at, above or below a path could not be read. */
  isUnread(...path: readonly (string | number)[]): boolean;
}

export function createOptionReport(unread: readonly Path[] = []): OptionReport {
  const issues: OptionIssue[] = [];
  const marked: Path[] = [...unread];
  return {
    issues,
    unread: marked,
    add: (path, message) => void issues.push({ path: path.map(String), message }),
    markUnread: (path) => void marked.push(path),
    isUnread: (...path) =>
      marked.some((one) => path.every((name, index) => index >= one.length || one[index] === String(name))),
  };
}

/** `resources.0.name must not be empty`, `resources.0: unknown scope "x"` */
export function formatOptionIssue(name: string, message: string): string {
  return `${name}${/^(?:must|is|has|names|holds|cannot|needs|goes|does) /.test(message) ? '' : ':'} ${message}`;
}

/** @throws ConfigurationError with every issue of the report */
export function throwIssues({ issues }: OptionReport): void {
  if (issues.length === 0) return;
  throw new ConfigurationError(issues.map(({ path, message }) => formatOptionIssue(path.join('.'), message)));
}

/**
 * Reads a value by its schema and reports every issue.
 * @returns the value without what could not be read: rules check by `isUnread` before they rely on a required member
 */
export function readOption<T>(schema: z.ZodType<T>, value: unknown, path: Path, report: OptionReport): T {
  const result = schema.safeParse(value, { jitless: true });
  if (result.success) return result.data;
  const issues = result.error.issues.flatMap((issue) => readIssue(issue, []));
  const meant = issues.flatMap((issue) => issue.meant ?? []);
  let rest = value;
  for (const issue of issues) {
    const at = [...path, ...issue.path];
    // A member under a misspelled name is not missing, and a value that was not found has been reported already.
    const isKnown =
      report.isUnread(...at) ||
      (issue.message === MISSING && meant.some((one) => one.join() === issue.path.join()));
    if (!isKnown) report.add(at, issue.message);
    rest = without(rest, issue.path);
  }
  for (const one of [...issues.map((issue) => issue.path), ...meant]) report.markUnread([...path, ...one]);
  const kept = withoutHoles(rest);
  const again = schema.safeParse(kept, { jitless: true });
  return again.success ? again.data : (kept as T);
}

/** Lists of texts and numbers without what could not be read. Those of objects keep their holes, because issues name their indexes. */
function withoutHoles(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  if (!Array.isArray(value))
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutHoles(member)]));
  const isOfObjects = value.some((element) => typeof element === 'object' && element !== null);
  return isOfObjects ? value.map(withoutHoles) : value.filter((element) => element !== undefined);
}

interface FoundIssue extends OptionIssue {
  /** The member that a misspelled key probably means. */
  readonly meant?: readonly Path[];
}

function readIssue(issue: z.core.$ZodIssue, parent: Path): readonly FoundIssue[] {
  const path = [...parent, ...issue.path.map(String)];
  if (issue.code === 'unrecognized_keys') {
    const known = issue.message.split(', ');
    return issue.keys.map((key) => {
      const near = findSimilarName(key, known);
      return {
        path: [...path, key],
        message: `unknown key; ${suggestName(key, known)}`,
        ...(near !== null && { meant: [[...path, near]] }),
      };
    });
  }
  if (issue.code === 'invalid_union') {
    // The branch whose type fits, and not the value inside.
    const fitting = issue.errors.filter((errors) =>
      errors.every(
        ({ code, path: at }) => at.length > 0 || (code !== 'invalid_type' && code !== 'invalid_value'),
      ),
    );
    if (fitting.length === 1) return (fitting[0] ?? []).flatMap((error) => readIssue(error, path));
  }
  return [{ path, message: issue.message }];
}

/** The value without the member at a path. */
function without(value: unknown, [name, ...rest]: Path): unknown {
  if (name === undefined) return undefined;
  if (typeof value !== 'object' || value === null || !(name in value)) return value;
  const inner = without((value as Record<string, unknown>)[name], rest);
  if (Array.isArray(value)) return value.map((element, index) => (String(index) === name ? inner : element));
  const { [name]: _removed, ...others } = value as Record<string, unknown>;
  return inner === undefined ? others : { ...others, [name]: inner };
}
