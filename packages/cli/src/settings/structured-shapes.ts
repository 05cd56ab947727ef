/** Shapes that are made of others: lists, objects, and those of which a mere yes or no is another spelling. */
import { Fault, Faults, faultsOf } from '../faults.ts';
import { advise } from './nearest.ts';
import type { Shape } from './shapes.ts';

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
