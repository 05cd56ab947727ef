/** The configuration file: JSON, or a module that exports `config`. */
import { readFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Issue, reasonOf, SettingsError } from '../faults.ts';

const MODULES = ['.ts', '.mts', '.js', '.mjs'];

/**
 * Reads the object in it; what its members are worth is judged elsewhere.
 * @param folder what a relative path starts from
 * @param title of the setting that names it
 * @throws SettingsError naming the setting
 */
export async function readConfigFile(
  file: string,
  folder: string,
  title: string,
): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(folder, file);
  try {
    const content = MODULES.includes(extname(path)) ? await loadModule(path) : await readJson(path);
    if (typeof content !== 'object' || content === null || Array.isArray(content)) {
      throw new Issue('must hold an object');
    }
    return content as Readonly<Record<string, unknown>>;
  } catch (error) {
    if (!(error instanceof Issue)) throw error;
    throw new SettingsError([`${title} is ${file}, which ${error.message}`], { cause: error });
  }
}

async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Issue(`cannot be read: ${reasonOf(cause)}`);
  });
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message may quote the text, which may be a secret: only the place is told, where it is known.
    const [place = ''] = /\(line \d+ column \d+\)/.exec(String(error)) ?? [];
    throw new Issue(`is not well-formed JSON ${place}`.trim());
  }
}

async function loadModule(path: string): Promise<unknown> {
  const module: Readonly<Record<string, unknown>> = await import(pathToFileURL(path).href).catch((cause) => {
    throw new Issue(`cannot be loaded: ${reasonOf(cause)}`);
  });
  if (module['config'] === undefined) throw new Issue('must export config');
  return module['config'];
}
