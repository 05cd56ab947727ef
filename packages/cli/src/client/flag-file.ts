/** Files that flags name. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { reasonOf, SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';

/** @param file its path, or `-` for standard input @throws SettingsError naming the flag */
export async function readFlagFile(
  flag: string,
  file: string,
  { folder, streams }: ProcessContext,
): Promise<string> {
  try {
    return file === '-' ? await text(streams.input) : await readFile(resolve(folder, file), 'utf8');
  } catch (cause) {
    throw new SettingsError([`${flag} cannot be read: ${reasonOf(cause)}`], { cause });
  }
}
