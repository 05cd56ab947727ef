/** The shape of secrets, which may stand elsewhere than beside the other settings. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Issue, reasonOf } from '../faults.ts';
import { file, type Origin, type Shape, text } from './shapes.ts';
import { object } from './structured-shapes.ts';

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
    blank: '',
    words: `a text${least > 1 ? ` of at least ${least} characters` : ''}, { "file": … } or { "variable": … }`,
    read(value, origin) {
      const found = typeof value === 'string' ? value : findSecret(place.read(value, origin), origin);
      if (found.length >= least) return found;
      throw new Issue(
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
    throw new Issue('must be a text, { "file": … } or { "variable": … }');
  }
  if (name !== undefined) return readBytes(name, origin).toString('utf8').trim();
  const written = origin.environment[variable ?? ''] ?? '';
  if (written !== '') return written;
  throw new Issue(`names the variable ${variable}, which is not set`);
}

/** The content of a file. @throws Fault */
export function readBytes(name: string, { folder }: Origin): Buffer {
  try {
    return readFileSync(resolve(folder, name));
  } catch (error) {
    throw new Issue(`names ${name}, which cannot be read: ${reasonOf(error)}`);
  }
}
