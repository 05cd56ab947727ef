/** The values that a condition read, for the audit log: short, and without secrets. */

import type { ReadValues } from '../condition.ts';
import type { AccessRequest } from '../request.ts';
import type { Path } from './syntax-tree.ts';
import { readVariables } from './variables.ts';

/** Characters of a text. */
const MAX_TEXT = 100;
const MAX_VALUES = 20;

/** Names of members whose values are left out, and of all below them. */
const SECRET =
  /secret|passw|passphrase|token|credential|authorization|cookie|private|(?:api|access|signing)[-_]?key|^pin$|^otp$/i;

/** @param readArguments may throw */
export function readValues(
  paths: readonly Path[],
  request: AccessRequest,
  readArguments: () => Readonly<Record<string, unknown>>,
): ReadValues {
  const variables = readVariables(request, attempt(readArguments) ?? {});
  const values = paths
    .slice(0, MAX_VALUES)
    .map((path) => [path.join('.'), describe(path, valueAt(variables, path))] as const);
  return Object.fromEntries(values);
}

function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

export function valueAt(variables: object, path: Path): unknown {
  return path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Readonly<Record<string, unknown>>)[name]
        : undefined,
    variables,
  );
}

/** What arguments are, in words: `call.arguments.amount is a text`. @param paths of arguments */
export function argumentTypes(
  paths: readonly Path[],
  given: Readonly<Record<string, unknown>>,
): readonly string[] {
  const types = paths.map((path) => {
    const value = valueAt({ call: { arguments: given } }, path);
    const type = Array.isArray(value) ? 'a list' : value === null ? 'null' : TYPES[typeof value];
    return `${path.join('.')} is ${type ?? 'an object'}`;
  });
  return [...new Set(types)].slice(0, MAX_VALUES);
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  bigint: 'a number',
  boolean: 'a boolean',
  undefined: 'missing',
};

function describe(path: Path, value: unknown): string | number | boolean | null {
  if (value === undefined) return '[missing]';
  if (path.slice(1).some((name) => SECRET.test(name))) return '[redacted]';
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'string') return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value;
  if (value instanceof Date) return value.toISOString();
  return Array.isArray(value) ? `[${value.length} elements]` : `[${Object.keys(value).length} members]`;
}
