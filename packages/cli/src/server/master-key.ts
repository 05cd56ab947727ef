/** Finds the master key (KEK): from the settings or a file, or created once in a file that only its owner can read. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, link, open, readFile, stat, unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { codeOf, reasonOf, SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { masterKey, type NameOf, type Settings, titleOf } from '../settings/schema.ts';
import { createFolder } from './folders.ts';

const DEFAULT_FILE = 'data/portcullis.key';
const READABLE_BY_OTHERS = 0o004;
const WRITABLE_BY_OTHERS = 0o022;

/** A master key and its origin. */
export interface FoundKey {
  readonly bytes: Uint8Array;
  /** For the startup banner. */
  readonly location: string;
  /** A problem that the operator should fix, though the key can be used. */
  readonly warning: string | null;
}

/**
 * Finds the master key. An in-memory store without a key setting gets a temporary one. A missing file is created unless
 * something is already encrypted: then the file was lost, and a new key would decrypt nothing.
 * @throws SettingsError naming the setting
 */
export async function findMasterKey(
  settings: Settings,
  { folder, command }: Pick<ProcessContext, 'folder' | 'command'>,
  store: Pick<AuthorizationStore, 'listSigningKeys'>,
  nameOf: NameOf = titleOf,
): Promise<FoundKey> {
  if (settings.key === null && settings.keyFile === null && settings.database === ':memory:')
    return createTemporaryKey();
  return findExistingKey(settings, folder, nameOf, async (path) => {
    if ((await store.listSigningKeys()).length > 0) throw new SettingsError([missingKeyIssue(command)]);
    return createKeyFile(path);
  });
}

/** A key that is stored nowhere. */
export function createTemporaryKey(): FoundKey {
  return { bytes: randomBytes(32), location: 'in memory', warning: null };
}

function missingKeyIssue(command: string): string {
  return `is missing, though the keys in the database are encrypted under it: restore it from your backup, or name the file that contains it. If it is lost for good, ${command} keys discard removes what was encrypted under it`;
}

/**
 * Finds the master key, which must exist: for commands that work on existing data.
 * @param otherwise handles a missing file; it is an error by default
 * @throws SettingsError naming the setting
 */
export async function findExistingKey(
  { key, keyFile }: Settings,
  folder: string,
  nameOf: NameOf = titleOf,
  otherwise?: (path: string) => Promise<string>,
): Promise<FoundKey> {
  if (key !== null) return { bytes: key, location: 'given', warning: null };
  return readKeyFile(keyFile ?? DEFAULT_FILE, folder, nameOf('keyFile'), otherwise);
}

/** The same; `null` if the file is missing. */
export async function findKeyIfAny(
  settings: Settings,
  folder: string,
  nameOf: NameOf = titleOf,
): Promise<FoundKey | null> {
  const path = keyFileOf(settings, folder);
  return path !== null && !existsSync(path) ? null : findExistingKey(settings, folder, nameOf);
}

/** The absolute path of the file with the master key; `null` if the settings contain the key. */
export function keyFileOf(
  { key, keyFile }: Pick<Settings, 'key' | 'keyFile'>,
  folder: string,
): string | null {
  return key === null ? resolve(folder, keyFile ?? DEFAULT_FILE) : null;
}

/**
 * Finds the previous master keys.
 * @throws SettingsError naming the setting
 */
export async function findPreviousKeys(
  { previousKey, previousKeyFile }: Settings,
  folder: string,
  nameOf: NameOf = titleOf,
): Promise<readonly FoundKey[]> {
  if (previousKey !== null) return [{ bytes: previousKey, location: 'given', warning: null }];
  if (previousKeyFile === null) return [];
  return [await readKeyFile(previousKeyFile, folder, nameOf('previousKeyFile'))];
}

/**
 * Reads the key in a file, which is created if it is missing.
 * @param title name of the setting
 * @throws SettingsError naming the setting
 */
export function findOrCreateKey(file: string, folder: string, title: string): Promise<FoundKey> {
  return readKeyFile(file, folder, title, createKeyFile);
}

/** @param title name of the setting @param otherwise handles a missing file; it is an error by default */
async function readKeyFile(
  file: string,
  folder: string,
  title: string,
  otherwise?: (path: string) => Promise<string>,
): Promise<FoundKey> {
  const path = resolve(folder, file);
  try {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (otherwise !== undefined && codeOf(error) === 'ENOENT') return otherwise(path);
      throw error;
    });
    return { bytes: parseKey(text), location: file, warning: await checkMode(path, file, title) };
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

/** Writes a new key beside the file and links it atomically: of two concurrent starts, the second reads the first one's key. */
async function createKeyFile(path: string): Promise<string> {
  await createFolder(dirname(path));
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
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await unlink(draft);
  }
  return readFile(path, 'utf8');
}

/**
 * Rejects a file that other users can write. If they can read it, removes their access, or only warns where that is impossible:
 * container platforms mount secrets that way. Windows has no such modes.
 */
async function checkMode(path: string, location: string, title: string): Promise<string | null> {
  if (process.platform === 'win32') return null;
  const { mode } = await stat(path);
  if ((mode & WRITABLE_BY_OTHERS) !== 0) throw new SettingsError(['others can write: chmod 600 it']);
  if ((mode & READABLE_BY_OTHERS) === 0) return null;
  const isRestricted = await chmod(path, 0o600).then(
    () => true,
    () => false,
  );
  return isRestricted
    ? `${title} is ${location}, which every user of this computer could read. This access was removed; if the file may have been copied, replace the key (docs/operating.md)`
    : `${title} is ${location}, which every user of this computer can read: chmod 600 it`;
}
