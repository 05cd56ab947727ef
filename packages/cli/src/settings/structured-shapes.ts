/** Shapes that are made of others: lists, objects, and those of which a mere yes or no is another spelling. */
import { findSimilarName, suggestName } from '@portcullis/protocol/option-names';
import { Issue, Issues, readOn } from '../faults.ts';
import { plain, type Shape } from './shapes.ts';

/** `true` or `false`, or more exactly. */
export function yesNoOr<T>(shape: Shape<T>): Shape<boolean | T> {
  return {
    ...shape,
    ...fromJson,
    words: `true, false or ${shape.words}`,
    read(value, origin) {
      if (typeof value === 'boolean') return value;
      asObject(value, `true or false, or ${withMembers(shape)}`);
      return shape.read(value, origin);
    },
  };
}

/** `false`, or more exactly. */
export function falseOr<T>(shape: Shape<T>): Shape<false | T> {
  return {
    ...shape,
    ...fromJson,
    words: `false or ${shape.words}`,
    read(value, origin) {
      if (value === false) return false;
      asObject(value, `false, or ${withMembers(shape)}`);
      return shape.read(value, origin);
    },
  };
}

/** In a message, where there is another way to say it. */
function withMembers({ words, members = [] }: Shape<unknown>): string {
  return members.length === 0 ? plain(words) : `an object with ${members.map(({ name }) => name).join(', ')}`;
}

/** Structured values stand in variables as JSON. */
const fromJson: Required<Pick<Shape<unknown>, 'fromText'>> = {
  fromText(written) {
    try {
      return JSON.parse(written);
    } catch {
      // What the parser says may quote a secret.
      throw new Issue('is not well-formed JSON');
    }
  },
};

/** As an array; as a text with commas in between. */
export function listOf<T>(shape: Shape<T>, least = 0): Shape<readonly T[]> {
  const elements = list(shape, least);
  const fromText = (written: string): unknown =>
    written.trim().startsWith('[')
      ? fromJson.fromText(written)
      : written.split(',').map((part) => part.trim());
  return {
    ...elements,
    fromText,
    read(value, origin) {
      if (typeof value !== 'string') return elements.read(value, origin);
      // In a file, as if in a variable: what is wrong with its elements is told as well.
      const issues = [new Issue(`must be ${plain(elements.words)}`)];
      const read = readOn(issues, () => elements.read(fromText(value), origin));
      throw new Issues(issues, read);
    },
  };
}

/** An array of objects. */
export function listOfObjects<T>(shape: Shape<T>): Shape<readonly T[]> {
  return { ...list(shape, 0), ...fromJson };
}

function list<T>(shape: Shape<T>, least: number): Shape<readonly T[]> {
  const words = `an array, each ${shape.words}`;
  return {
    words,
    blank: [],
    ...(shape.members && { members: shape.members }),
    read(value, origin) {
      if (!Array.isArray(value)) throw new Issue(`must be ${plain(words)}`);
      if (value.length < least) throw new Issue(`must not be empty: ${plain(words)}`);
      const parts = value.map((element, index) => ({
        name: String(index),
        read: () => shape.read(element, origin),
        blank: shape.blank,
      }));
      return together(parts, (read) => read.map(([, element]) => element));
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
    blank: {},
    ...fromJson,
    read(value, origin) {
      const parts = Object.entries(asObject(value, words)).map(([name, member]) => ({
        name,
        read: () => shape.read(member, origin),
      }));
      return together(parts, Object.fromEntries<T>);
    },
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
  const required = known.filter(([, { otherwise }]) => otherwise === MUST);
  return {
    words,
    blank: Object.fromEntries(required.map(([name, { shape }]) => [name, shape.blank])) as T,
    ...fromJson,
    members: known.map(([name, { what, shape, otherwise }]) => ({
      name,
      what,
      words: shape.words,
      otherwise,
      members: shape.members ?? [],
    })),
    read(value, origin) {
      const given = asObject(value, `an object with ${names.join(', ')}`);
      const unknown = Object.keys(given).filter((name) => !names.includes(name));
      const misspelt = unknown.map((name) => findSimilarName(name, names));
      const parts = [
        ...known.flatMap(([name, { what, shape, otherwise }]): readonly Part<unknown>[] => {
          const blank = otherwise === MUST ? shape.blank : undefined;
          if (Object.hasOwn(given, name)) {
            return [{ name, read: () => shape.read(given[name], origin), blank }];
          }
          if (otherwise !== MUST) return [];
          if (misspelt.includes(name)) return [{ name, read: () => shape.blank }];
          return [{ name, read: () => refuse(`is missing: ${plain(what)} (${plain(shape.words)})`), blank }];
        }),
        ...unknown.map((name) => ({ name, read: () => refuseMember(name, names) })),
      ];
      return together<unknown, T>(parts, (read) => Object.fromEntries(read) as T);
    },
  };
}

/** A JSON object, judged elsewhere. */
export const document: Shape<Readonly<Record<string, unknown>>> = {
  words: 'an object',
  blank: {},
  ...fromJson,
  read: (value) => asObject(value, 'an object'),
};

function asObject(value: unknown, words: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Issue(`must be ${plain(words)}`);
  }
  return value as Readonly<Record<string, unknown>>;
}

function refuse(sentence: string): never {
  throw new Issue(sentence);
}

function refuseMember(name: string, known: readonly string[]): never {
  throw new Issue(`is no setting: ${suggestName(name, known)}`, [], findSimilarName(name, known));
}

/** One part of a value. */
interface Part<T> {
  readonly name: string;
  /** @throws Fault or Faults */
  read(): T;
  /** Stands for it while it is at fault; left out: nothing does. */
  readonly blank?: T | undefined;
}

/**
 * Reads all parts before it says what is wrong with any.
 * @throws Faults with what was made of the rest
 */
function together<T, Whole>(
  parts: readonly Part<T>[],
  make: (read: readonly (readonly [string, T])[]) => Whole,
): Whole {
  const issues: Issue[] = [];
  const read = parts.flatMap(({ name, read: reader, blank }) => {
    const before = issues.length;
    const found = readOn(issues, reader, [name]);
    const taken = issues.length > before && found === undefined ? blank : found;
    return taken === undefined ? [] : [[name, taken] as const];
  });
  const whole = make(read);
  if (issues.length > 0) throw new Issues(issues, whole);
  return whole;
}
