/** Shapes of settings: how a value as somebody wrote it becomes the one that the program works with, and what may be written. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Fault, Faults, faultsOf, reasonOf } from '../faults.ts';
import { advise } from './nearest.ts';

/** Where values may lead that name something else. */
export interface Origin {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder that relative paths start from. */
  readonly folder: string;
}

export interface Shape<T> {
  /** What may be written, for the documentation: `a whole number from 0 to 65535`. */
  readonly words: string;
  /** Of an object: what the documentation says of each member. */
  readonly members?: readonly DescribedMember[];
  /** What a flag or a variable means, which are texts, where that differs from the text. @throws Fault */
  fromText?(text: string): unknown;
  /** @throws Fault or Faults */
  read(value: unknown, origin: Origin): T;
}

export interface DescribedMember {
  readonly name: string;
  readonly what: string;
  readonly words: string;
  readonly otherwise: string;
  readonly members: readonly DescribedMember[];
}

export const text: Shape<string> = {
  words: 'a text',
  read(value) {
    if (typeof value !== 'string' || value.trim() === '') throw new Fault('must be a text');
    return value;
  },
};

export function textIn(words: string): Shape<string> {
  return { ...text, words };
}

/** The name of a file, relative to the folder that the program was started in. */
export const file: Shape<string> = textIn('a file');

export function wholeNumber(least: number, most: number, words?: string): Shape<number> {
  return {
    words: words ?? `a whole number from ${least} to ${most}`,
    read(value) {
      const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
      if (typeof number !== 'number' || !Number.isInteger(number) || number < least || number > most) {
        throw new Fault(`must be a whole number from ${least} to ${most}`);
      }
      return number;
    },
  };
}

export const yesOrNo: Shape<boolean> = {
  words: 'true or false',
  fromText: (written) => (written === 'true' ? true : written === 'false' ? false : written),
  read(value) {
    if (typeof value !== 'boolean') throw new Fault('must be true or false');
    return value;
  },
};

export function oneOf<const T extends string>(...choices: readonly T[]): Shape<T> {
  return {
    words: choices.map((choice) => `\`${choice}\``).join(', '),
    read(value) {
      const found = choices.find((choice) => choice === value);
      if (found === undefined) throw new Fault(`must be one of ${choices.join(', ')}`);
      return found;
    },
  };
}

/** A text that is judged by `fault`, which answers what is wrong with it. */
export function judgedText(words: string, fault: (value: string) => string | null): Shape<string> {
  return {
    words,
    read(value, origin) {
      const read = text.read(value, origin);
      const wrong = fault(read);
      if (wrong !== null) throw new Fault(wrong);
      return read;
    },
  };
}

/** `null` where that says something. */
export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return {
    ...shape,
    words: `${shape.words}, or null`,
    read: (value, origin) => (value === null ? null : shape.read(value, origin)),
  };
}

/** `true` or `false`, or more exactly. */
export function yesNoOr<T>(shape: Shape<T>): Shape<boolean | T> {
  return {
    ...shape,
    ...fromJson,
    words: `true, false or ${shape.words}`,
    read: (value, origin) => (typeof value === 'boolean' ? value : shape.read(value, origin)),
  };
}

/** `false`, or more exactly. */
export function falseOr<T>(shape: Shape<T>): Shape<false | T> {
  return {
    ...shape,
    ...fromJson,
    words: `false or ${shape.words}`,
    read: (value, origin) => (value === false ? false : shape.read(value, origin)),
  };
}

/** Structured values stand in variables as JSON. */
const fromJson: Required<Pick<Shape<unknown>, 'fromText'>> = {
  fromText(written) {
    try {
      return JSON.parse(written);
    } catch {
      // What the parser says may quote a secret.
      throw new Fault('is not well-formed JSON');
    }
  },
};

/** As an array; as a text with commas in between. */
export function listOf<T>(shape: Shape<T>, least = 0): Shape<readonly T[]> {
  return {
    ...list(shape, least),
    fromText: (written) =>
      written.trim().startsWith('[')
        ? fromJson.fromText(written)
        : written.split(',').map((part) => part.trim()),
  };
}

/** An array of objects. */
export function listOfObjects<T>(shape: Shape<T>): Shape<readonly T[]> {
  return { ...list(shape, 0), ...fromJson };
}

function list<T>(shape: Shape<T>, least: number): Shape<readonly T[]> {
  return {
    words: `an array, each ${shape.words}`,
    ...(shape.members && { members: shape.members }),
    read(value, origin) {
      if (!Array.isArray(value)) throw new Fault('must be an array');
      if (value.length < least) throw new Fault('must not be empty');
      return together(value.map((element, index) => [String(index), () => shape.read(element, origin)])).map(
        ([, element]) => element,
      );
    },
  };
}

/** An object whose members are named by whoever writes it. */
export function mapOf<T>(
  shape: Shape<T>,
  words = `an object, each member ${shape.words}`,
): Shape<Readonly<Record<string, T>>> {
  return {
    words,
    ...fromJson,
    read: (value, origin) =>
      Object.fromEntries(
        together(
          Object.entries(asObject(value)).map(([name, member]) => [name, () => shape.read(member, origin)]),
        ),
      ),
  };
}

/** What is said of a member that may not be left out, in the place of its default. */
export const MUST = 'must be said';

/** One member of an object. */
interface MemberOf<T> {
  /** Says what it decides. */
  readonly what: string;
  readonly shape: Shape<T>;
  /** How the documentation names what is taken when it is left out; `MUST`: it may not be. */
  readonly otherwise: string;
}

export type MembersOf<T extends object> = {
  readonly [K in keyof T]-?: MemberOf<NonNullable<T[K]> | (null extends T[K] ? null : never)>;
};

/** An object with these members and none else. Those that are left out stay away. */
export function object<T extends object>(members: MembersOf<T>, words = 'an object'): Shape<T> {
  const known: readonly (readonly [string, MemberOf<unknown>])[] = Object.entries(members);
  const names = known.map(([name]) => name);
  return {
    words,
    ...fromJson,
    members: known.map(([name, { what, shape, otherwise }]) => ({
      name,
      what,
      words: shape.words,
      otherwise,
      members: shape.members ?? [],
    })),
    read(value, origin) {
      const given = asObject(value);
      const read = together<unknown>([
        ...known.flatMap(([name, { shape, otherwise }]): readonly Part<unknown>[] => {
          if (Object.hasOwn(given, name)) return [[name, () => shape.read(given[name], origin)]];
          return otherwise === MUST ? [[name, () => refuse('must be said')]] : [];
        }),
        ...Object.keys(given)
          .filter((name) => !names.includes(name))
          .map((name): Part<never> => [null, () => refuseMember(name, names)]),
      ]);
      return Object.fromEntries(read) as T;
    },
  };
}

/** A JSON object, judged elsewhere. */
export const document: Shape<Readonly<Record<string, unknown>>> = {
  words: 'an object',
  ...fromJson,
  read: asObject,
};

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Fault('must be an object');
  }
  return value as Readonly<Record<string, unknown>>;
}

function refuse(sentence: string): never {
  throw new Fault(sentence);
}

function refuseMember(name: string, known: readonly string[]): never {
  throw new Fault(`has no member ${JSON.stringify(name)}: ${advise(name, known)}`);
}

/** Its place, `null` when it is about the whole, and how it is read. */
type Part<T> = readonly [name: string | null, read: () => T];

/** Reads all parts before it says what is wrong with any. */
function together<T>(parts: readonly Part<T>[]): readonly (readonly [string, T])[] {
  const faults: Fault[] = [];
  const read = parts.flatMap(([name, reader]) => {
    try {
      return [[name ?? '', reader()] as const];
    } catch (error) {
      const place = name === null ? [] : [name];
      faults.push(...faultsOf(error).map(({ message, path }) => new Fault(message, [...place, ...path])));
      return [];
    }
  });
  if (faults.length > 0) throw new Faults(faults);
  return read;
}

/**
 * A secret: the text itself, or `{ "file": … }` or `{ "variable": … }` naming where it stands. It is never shown.
 * @param least characters
 */
export function secret(least: number): Shape<string> {
  const place = object<{ file?: string; variable?: string }>({
    file: { what: 'a file with it', shape: file, otherwise: 'none' },
    variable: { what: 'an environment variable with it', shape: text, otherwise: 'none' },
  });
  return {
    words: `a text${least > 1 ? ` of at least ${least} characters` : ''}, { "file": … } or { "variable": … }`,
    read(value, origin) {
      const found = typeof value === 'string' ? value : findSecret(place.read(value, origin), origin);
      if (found.length >= least) return found;
      throw new Fault(
        least > 1
          ? `must have at least ${least} characters: openssl rand -hex 32 makes one`
          : 'must not be empty',
      );
    },
  };
}

function findSecret(place: { file?: string; variable?: string }, origin: Origin): string {
  const { file: name, variable } = place;
  if ((name === undefined) === (variable === undefined)) {
    throw new Fault('must be a text, { "file": … } or { "variable": … }');
  }
  if (name !== undefined) return readBytes(name, origin).toString('utf8').trim();
  const written = origin.environment[variable ?? ''] ?? '';
  if (written !== '') return written;
  throw new Fault(`names the variable ${variable}, which is not set`);
}

/** The content of a file. @throws Fault */
export function readBytes(name: string, { folder }: Origin): Buffer {
  try {
    return readFileSync(resolve(folder, name));
  } catch (error) {
    throw new Fault(`names ${name}, which cannot be read: ${reasonOf(error)}`);
  }
}
