/** The configuration file: JSON, or a module that exports `config`. */
import { readFile, stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { isSea } from 'node:sea';
import { pathToFileURL } from 'node:url';
import { readStrictJson } from '@portcullis/protocol';
import { reasonOf, SettingsError } from '../errors.ts';
import type { GivenSettings } from './schema.ts';

/** A secret, or the file or environment variable that contains it. */
type SecretReference = string | { readonly file: string } | { readonly variable: string };

/** Members that hold a secret, or several in a list or a record. */
type SecretMember =
  | 'bootstrapPassword' | 'certificate' | 'clientSecret' | 'environment' | 'headers' | 'initialAccessTokens' | 'key' | 'metricsToken'
  | 'password' | 'previousKey' | 'privateKey' | 'secret' | 'value'; // biome-ignore format: a list of names

type Referenced<T> = T extends string ? SecretReference : { readonly [K in keyof T]: Referenced<T[K]> };

/** Options as the file holds them: each secret, or where it is. */
type Written<T> = T extends (...values: never) => unknown
  ? T
  : { readonly [K in keyof T]: K extends SecretMember ? Referenced<T[K]> : Written<T[K]> };

/** The contents of a configuration file. */
export type FileConfiguration = Written<Omit<GivenSettings, 'brand'>> & {
  readonly $schema?: string;
  /** The logo is a file, or its bytes. */
  readonly brand?: Omit<NonNullable<GivenSettings['brand']>, 'logo'> & {
    readonly logo?: string | Uint8Array;
  };
};

/** A configuration file as read, empty if there is none. */
export interface ConfigFile {
  /** As the operator named it. */
  readonly name: string;
  readonly content: Readonly<Record<string, unknown>>;
}

const MODULES = ['.ts', '.mts', '.js', '.mjs'];

/**
 * Reads the object in a configuration file; its members are validated elsewhere.
 * @param folder base of a relative path
 * @param title of the setting that names the file
 * @throws SettingsError
 */
export async function readConfigFile(name: string, folder: string, title: string): Promise<ConfigFile> {
  const path = resolve(folder, name);
  try {
    const content = MODULES.includes(extname(path)) ? await loadConfig(path) : await readJson(path);
    if (typeof content !== 'object' || content === null || Array.isArray(content)) {
      throw new SettingsError(['must hold an object']);
    }
    return { name, content: content as Readonly<Record<string, unknown>> };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new SettingsError([`${title} is ${name}, which ${error.message}`], { cause: error });
  }
}

async function readJson(path: string): Promise<unknown> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new SettingsError([`cannot be read: ${reasonOf(cause)}`]);
  });
  // Without the byte order mark that some editors write.
  const text = new TextDecoder().decode(bytes);
  if (text.trim() === '') throw new SettingsError(['is empty']);
  checkRepeatedNames(text);
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message may quote a secret: only the position is shown, if known.
    const [position = ''] = /\(line \d+ column \d+\)/.exec(String(error)) ?? [];
    throw new SettingsError([`is not well-formed JSON ${position}`.trim()]);
  }
}

/** Rejects duplicate settings: `JSON.parse` would silently use the last. */
function checkRepeatedNames(text: string): void {
  try {
    readStrictJson(text, { depth: 1000, members: 1_000_000, values: 1_000_000 });
  } catch (error) {
    if (error instanceof SyntaxError && error.message.includes('repeats'))
      throw new SettingsError([
        `has the name ${JSON.stringify(error.cause)} twice in an object: only the last would count`,
      ]);
  }
}

/** Modules are cached by URL: a changed module needs a new URL. */
async function currentUrl(path: string): Promise<string> {
  const url = pathToFileURL(path);
  const changedAt = await stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
  if (loadedAt.has(path) && loadedAt.get(path) !== changedAt)
    url.searchParams.set('changed', String(changedAt));
  else loadedAt.set(path, changedAt);
  return url.href;
}

/** Modification times of the modules at their first load. */
const loadedAt = new Map<string, number>();

async function loadConfig(path: string): Promise<unknown> {
  if (isSea()) throw new SettingsError(['the single executable loads JSON files only']);
  const module: Readonly<Record<string, unknown>> = await import(await currentUrl(path)).catch((cause) => {
    throw new SettingsError([`cannot be loaded: ${reasonOf(cause)}`]);
  });
  if (module['config'] === undefined) throw new SettingsError(['must export config']);
  return module['config'];
}
