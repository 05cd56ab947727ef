/** Reading options by their schema: one map from zod's issues to our messages, and a report of every issue at once. */
import { ConfigurationError, findSimilarName, suggestName } from '@portcullis/protocol';
import type * as z from 'zod';
import { kindOf, optionMeta } from './fields.ts';

const MISSING = 'is required';

/** Words an issue by what is said of its schema. Messages that a schema's own check wrote do not come here. */
function wordIssue(issue: z.core.$ZodRawIssue): string {
  const { code, input } = issue;
  const schema = (issue['schema'] ?? issue.inst) as z.ZodType;
  const { type, shape } = schema.def as unknown as { readonly type: string; readonly shape?: object };
  // `readIssue` turns each unknown key into an issue of its own and needs the known names for its suggestion.
  if (code === 'unrecognized_keys') return Object.keys(shape ?? {}).join(', ');
  if (input === undefined) return MISSING;
  const { kind, expected = kind, isSecret } = optionMeta.get(schema) ?? {};
  if (type === 'string' && code !== 'invalid_type') {
    if (code === 'too_small' && issue['minimum'] !== 1)
      return `must have at least ${issue['minimum']} characters; \`openssl rand -hex 32\` generates one`;
    return isSecret || kind === undefined || kind === 'a string'
      ? 'must not be empty'
      : `must not be empty: ${kind}`;
  }
  if (type === 'string' && isSecret) return 'must be a string, { "file": … } or { "variable": … }';
  if (type === 'string' && kind !== undefined && !kind.startsWith('a string'))
    return `must be a string: ${kind}`;
  if (type === 'number') {
    if (code === 'too_small' && expected === 'a number') return `must be more than ${issue['minimum']}`;
    const isWritten = typeof input === 'string' && /^\d+$/.test(input) && expected !== 'a number';
    return `must be ${expected}${isWritten ? ': a number, not a string' : ''}`;
  }
  if (type === 'array' && code === 'too_small') return 'must not be empty';
  if (type === 'array' && code === 'too_big') return `must have at most ${issue['maximum']} entries`;
  if (type === 'enum') return `must be one of ${kindOf(schema).replaceAll('`', '')}`;
  if (expected === undefined && shape !== undefined)
    return `must be an object with ${Object.keys(shape).join(', ')}`;
  return `must be ${expected ?? kindOf(schema)}`;
}

type Path = readonly string[];

/** What is wrong with the value at a path. */
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

/** An empty report. @param unread paths that rules must not check */
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

const READING = { jitless: true, error: wordIssue };

/**
 * Reads a value by its schema and reports every issue.
 * @returns the value without what could not be read: rules check by `isUnread` before they rely on a required member
 */
export function readOption<S extends z.ZodType>(
  schema: S,
  value: unknown,
  path: Path,
  report: OptionReport,
): z.output<S> {
  const result = schema.safeParse(value, READING);
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
  const readable = withoutHoles(rest);
  const again = schema.safeParse(readable, READING);
  return again.success ? again.data : (readable as z.output<S>);
}

/** What an object without members stands for: its defaults. */
export function readDefaults<S extends z.ZodType>(schema: S): z.output<S> {
  return schema.parse({}, READING);
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
    const matching = issue.errors.filter((errors) =>
      errors.every(
        ({ code, path: at }) => at.length > 0 || (code !== 'invalid_type' && code !== 'invalid_value'),
      ),
    );
    if (matching.length === 1) return (matching[0] ?? []).flatMap((error) => readIssue(error, path));
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
