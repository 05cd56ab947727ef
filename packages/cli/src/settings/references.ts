/** Resolves references in settings: secrets in files or variables, and files such as a logo. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type OptionReport, optionMeta } from '@portcullis/authorization-server/options';
import type * as z from 'zod';
import { reasonOf } from '../errors.ts';

/** Sources of references. */
export interface Origin {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Base of relative paths. */
  readonly folder: string;
  /** Whether a dangling reference is an issue; true by default. */
  readonly isNeeded?: boolean;
}

/** Members of a schema that contain nested schemas. */
interface Definition {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly out?: z.ZodType;
  readonly element?: z.ZodType;
  readonly valueType?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly shape?: Readonly<Record<string, z.ZodType>>;
}

/** The schema without wrappers such as `optional`. */
export function unwrap(schema: z.ZodType): z.ZodType {
  const { type, innerType, in: input, out } = definitionOf(schema);
  const inner =
    innerType ??
    (type === 'pipe' && input !== undefined
      ? definitionOf(input).type === 'transform'
        ? out
        : input
      : undefined);
  return inner === undefined ? schema : unwrap(inner);
}

export function definitionOf(schema: z.ZodType): Definition {
  return schema.def as unknown as Definition;
}

/** The value with every reference resolved. A dangling reference is reported, if it is needed, and marked as unread. */
export function resolveReferences(
  schema: z.ZodType,
  value: unknown,
  origin: Origin,
  path: readonly string[],
  report: OptionReport,
): unknown {
  const inner = unwrap(schema);
  const { isSecret, isFile } = { ...optionMeta.get(inner), ...optionMeta.get(schema) };
  try {
    if (isSecret && typeof value === 'object' && value !== null) return findSecret(value, origin);
    if (isFile && typeof value === 'string') return readBytes(value, origin);
  } catch (error) {
    if (origin.isNeeded !== false) report.add(path, (error as Error).message);
    report.markUnread(path);
    return value;
  }
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  const { element, valueType, options, shape } = definitionOf(inner);
  const within = (name: string, part: unknown, of: z.ZodType | undefined) =>
    of === undefined ? part : resolveReferences(of, part, origin, [...path, name], report);
  if (Array.isArray(value)) return value.map((part, index) => within(String(index), part, element));
  const object = options?.map(unwrap).find((option) => definitionOf(option).shape !== undefined);
  if (object !== undefined) return resolveReferences(object, value, origin, path, report);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, within(name, part, shape?.[name] ?? valueType)]),
  );
}

function findSecret(location: object, origin: Origin): string {
  const entries = Object.entries(location);
  const [[kind, name] = ['', '']] = entries;
  if (entries.length !== 1 || !['file', 'variable'].includes(kind) || typeof name !== 'string') {
    throw new Error('must be a string, { "file": … } or { "variable": … }');
  }
  if (kind === 'file') return readBytes(name, origin).toString('utf8').trim();
  const written = origin.environment[name] ?? '';
  if (written === '') throw new Error(`names the variable ${name}, which is not set`);
  return written;
}

function readBytes(name: string, { folder }: Origin): Buffer {
  try {
    return readFileSync(resolve(folder, name));
  } catch (error) {
    throw new Error(`names ${name}, which cannot be read: ${reasonOf(error)}`);
  }
}
