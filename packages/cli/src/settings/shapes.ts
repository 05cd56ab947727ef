/** Shapes of settings: how a value as somebody wrote it becomes the one that the program works with, and what may be written. */
import { Issue, Issues, readOn } from '../faults.ts';
import { inWords } from './times.ts';

/** Where values may lead that name something else. */
export interface Origin {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder that relative paths start from. */
  readonly folder: string;
}

export interface Shape<T> {
  /** What may be written, for the documentation: `a whole number from 0 to 65535`. */
  readonly words: string;
  /** Stands for a value that is at fault while what is beside it is judged. Nothing ever works with it. */
  readonly blank: T;
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

export const text: Shape<string> = textIn('a text');

export function textIn(words: string): Shape<string> {
  const said = words === 'a text' ? '' : `: ${plain(words)}`;
  return {
    words,
    blank: '',
    read(value) {
      if (typeof value !== 'string') throw new Issue(`must be a text${said}`);
      if (value.trim() === '') throw new Issue(`must not be empty${said}`);
      return value;
    },
  };
}

/** Words of the documentation in a message. */
export function plain(words: string): string {
  return words.replaceAll('`', '');
}

/** The name of a file, relative to the folder that the program was started in. */
export const file: Shape<string> = textIn('a file');

/** How a message names whole numbers of a unit. */
const RANGES = {
  seconds: (least: number, most: number) =>
    `a whole number of seconds from ${least} to ${inWords(most)}, such as 600 for 10 minutes`,
  milliseconds: (least: number, most: number) =>
    `a whole number of milliseconds from ${least} to ${most}, such as 5000 for 5 seconds`,
  none: (least: number, most: number) => `a whole number from ${least} to ${most}`,
};

export function wholeNumber(least: number, most: number, unit: keyof typeof RANGES = 'none'): Shape<number> {
  const range = RANGES[unit](least, most);
  return {
    words: unit === 'none' ? range : unit,
    blank: least,
    fromText: (written) => (/^\d{1,15}$/.test(written) ? Number(written) : written),
    read(value) {
      if (typeof value === 'string' && /^\d+$/.test(value)) {
        throw new Issue(`must be ${range}: a number, not a text`);
      }
      if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
        throw new Issue(`must be ${range}`);
      }
      return value;
    },
  };
}

export const yesOrNo: Shape<boolean> = {
  words: 'true or false',
  blank: false,
  fromText: (written) => (written === 'true' ? true : written === 'false' ? false : written),
  read(value) {
    if (typeof value !== 'boolean') throw new Issue('must be true or false');
    return value;
  },
};

export function oneOf<const T extends string>(...choices: readonly [T, ...T[]]): Shape<T> {
  return {
    blank: choices[0],
    words: choices.map((choice) => `\`${choice}\``).join(', '),
    read(value) {
      const found = choices.find((choice) => choice === value);
      if (found === undefined) throw new Issue(`must be one of ${choices.join(', ')}`);
      return found;
    },
  };
}

/** A text that is judged by `fault`, which answers what is wrong with it. */
export function judgedText(words: string, issue: (value: string) => string | null): Shape<string> {
  const written = textIn(words);
  return {
    ...written,
    read(value, origin) {
      const read = written.read(value, origin);
      const wrong = issue(read);
      if (wrong !== null) throw new Issue(wrong);
      return read;
    },
  };
}

/** `null` where that says something. */
export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return {
    ...shape,
    words: `${shape.words}, or null`,
    read(value, origin) {
      if (value === null) return null;
      const issues: Issue[] = [];
      const read = readOn(issues, () => shape.read(value, origin));
      if (issues.length === 0) return read as T;
      throw new Issues(
        issues.map(({ message, path, meant }) => new Issue(`${message}, or null`, path, meant)),
        read,
      );
    },
  };
}
