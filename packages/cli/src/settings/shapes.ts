/** Shapes of settings: how a value as somebody wrote it becomes the one that the program works with, and what may be written. */
import { Fault } from '../faults.ts';

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
    if (typeof value !== 'string' || value.trim() === '')
      throw new Fault(value === '' ? 'must not be empty' : 'must be a text');
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
