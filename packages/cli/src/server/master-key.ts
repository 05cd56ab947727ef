/** The sealing key: given, read from a file, or made once and kept in a file that only its owner can read. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, open, readFile, stat, unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { reasonOf, SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { masterKey, type NameOf, type Settings, titleOf } from '../settings/schema.ts';
import { makeFolder } from './folders.ts';

const DEFAULT_FILE = 'data/portcullis.key';
const READABLE_BY_OTHERS = 0o004;
const WRITABLE_BY_OTHERS = 0o022;

/** A key and where it is from. */
export interface FoundKey {
  readonly bytes: Uint8Array;
  /** For the start output. */
  readonly place: string;
  /** What the operator should mend, though the program can go on. */
  readonly warning: string | null;
}

/**
 * The key of these settings. A store in memory that has no key named gets one that lives as long as it does; a missing file is
 * made, unless something is sealed already: then the file was lost, and another key would open nothing.
 * @throws SettingsError naming the setting
 */
export async function findMasterKey(
  settings: Settings,
  { folder, command }: Pick<ProcessContext, 'folder' | 'command'>,
  store: Pick<AuthorizationStore, 'listSigningKeys'>,
  nameOf: NameOf = titleOf,
): Promise<FoundKey> {
  if (settings.key !== null) return { bytes: settings.key, place: 'given', warning: null };
  if (settings.keyFile === null && settings.database === ':memory:') {
    return { bytes: randomBytes(32), place: 'in memory', warning: null };
  }
  return readKeyFile(settings.keyFile ?? DEFAULT_FILE, folder, {
    title: nameOf('keyFile'),
    otherwise: async (path) => {
      if ((await store.listSigningKeys()).length > 0) throw new SettingsError([lost(command)]);
      return make(path);
    },
  });
}

function lost(command: string): string {
  return `is missing, though the keys in the database are sealed under it: put it back from your backup, or name the file that has it. If it is lost for good, ${command} keys discard gives up what was sealed under it`;
}

/**
 * The key of these settings, which must exist: for commands that work on what is there.
 * @param otherwise `or none`: a file that is missing is no fault
 * @throws SettingsError naming the setting
 */
export async function findExistingKey(settings: Settings, folder: string): Promise<Uint8Array>;
export async function findExistingKey(
  settings: Settings,
  folder: string,
  otherwise: 'or none',
  nameOf?: NameOf,
): Promise<Uint8Array | null>;
export async function findExistingKey(
  settings: Settings,
  folder: string,
  otherwise?: 'or none',
  nameOf: NameOf = titleOf,
): Promise<Uint8Array | null> {
  if (settings.key !== null) return settings.key;
  const file = settings.keyFile ?? DEFAULT_FILE;
  if (otherwise === 'or none' && !existsSync(resolve(folder, file))) return null;
  return (await readKeyFile(file, folder, { title: nameOf('keyFile') })).bytes;
}

/**
 * The keys that were replaced.
 * @throws SettingsError naming the setting
 */
export async function findPreviousKeys(
  { previousKey, previousKeyFile }: Settings,
  folder: string,
  nameOf: NameOf = titleOf,
): Promise<readonly Uint8Array[]> {
  if (previousKey !== null) return [previousKey];
  if (previousKeyFile === null) return [];
  return [(await readKeyFile(previousKeyFile, folder, { title: nameOf('previousKeyFile') })).bytes];
}

/**
 * The key in a file, which is made when it is missing.
 * @param title of the setting that names it
 * @throws SettingsError naming the setting
 */
export function findOrMakeKey(file: string, folder: string, title: string): Promise<FoundKey> {
  return readKeyFile(file, folder, { title, otherwise: make });
}

interface Reading {
  /** Of the setting. */
  readonly title: string;
  /** What becomes of a file that is missing; it is a fault when left out. */
  readonly otherwise?: (path: string) => Promise<string>;
}

async function readKeyFile(file: string, folder: string, { title, otherwise }: Reading): Promise<FoundKey> {
  const path = resolve(folder, file);
  try {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (otherwise !== undefined && isCode(error, 'ENOENT')) return otherwise(path);
      throw error;
    });
    return {
      bytes: parseKey(text),
      place: file,
      warning: await judgeMode(path, file, title),
    };
  } catch (error) {
    const reason = error instanceof SettingsError ? error.message : `cannot be used: ${reasonOf(error)}`;
    throw new SettingsError([`${title} is ${file}, which ${reason}`], { cause: error });
  }
}

function parseKey(text: string): Uint8Array {
  const { success, data, error } = masterKey().safeParse(text);
  if (success) return data;
  throw new SettingsError([error.issues[0]?.message ?? 'is not a key']);
}

/** Writes a new key beside the file and links it into place: whoever comes second reads the key of the first. */
async function make(path: string): Promise<string> {
  await makeFolder(dirname(path));
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${randomBytes(32).toString('base64url')}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(draft, path);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  } finally {
    await unlink(draft);
  }
  return readFile(path, 'utf8');
}

/** Reading by others is only warned of, since container platforms mount secrets so. Windows has no such modes. */
async function judgeMode(path: string, place: string, title: string): Promise<string | null> {
  if (process.platform === 'win32') return null;
  const { mode } = await stat(path);
  if ((mode & WRITABLE_BY_OTHERS) !== 0) throw new SettingsError(['others can write: chmod 600 it']);
  if ((mode & READABLE_BY_OTHERS) === 0) return null;
  return `${title} is ${place}, which every user of this computer can read: chmod 600 it`;
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
