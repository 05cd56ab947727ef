/** The configuration file: JSON, or a module that exports `config`. */
import { readFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { reasonOf, SettingsError } from '../faults.ts';
import { variableOf } from './settings.ts';

const MODULES = ['.ts', '.mts', '.js', '.mjs'];

/**
 * Reads the object in it; what its members are worth is judged elsewhere.
 * @param folder what a relative path starts from
 * @throws SettingsError naming the setting
 */
export async function readConfigFile(
  file: string,
  folder: string,
): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(folder, file);
  const content = MODULES.includes(extname(path)) ? await loadModule(path, file) : await readJson(path, file);
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw fault(file, 'must hold an object');
  }
  return content as Readonly<Record<string, unknown>>;
}

async function readJson(path: string, file: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw fault(file, `cannot be read: ${reasonOf(cause)}`);
  });
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message may quote the text, which may be a secret: only the place is told, where it is known.
    const [place = ''] = /\(line \d+ column \d+\)/.exec(String(error)) ?? [];
    throw fault(file, `is not well-formed JSON ${place}`.trim());
  }
}

async function loadModule(path: string, file: string): Promise<unknown> {
  const module: Readonly<Record<string, unknown>> = await import(pathToFileURL(path).href).catch((cause) => {
    throw fault(file, `cannot be loaded: ${reasonOf(cause)}`, cause);
  });
  if (module['config'] === undefined) throw fault(file, 'must export config');
  return module['config'];
}

function fault(file: string, what: string, cause?: unknown): SettingsError {
  return new SettingsError([`${variableOf('config')} names ${file}, which ${what}`], { cause });
}
