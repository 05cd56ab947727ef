/** Where things are kept: the store of the authorization server, and the folder that the application may use. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { AuthorizationStore } from '@portcullis/authorization-server/ports';
import { openStore } from '@portcullis/store';
import { reasonOf, SettingsError } from './faults.ts';
import { makeFolder } from './folders.ts';
import type { Settings } from './settings/settings.ts';
import { type NameOf, titleOf } from './settings/table.ts';

/** The application's folder where the store is no file. */
const DEFAULT_FOLDER = 'data';

export interface Storage {
  readonly store: AuthorizationStore;
  /** Exists. The folder of the SQLite file; `data` beside PostgreSQL; `null` when all is in memory. */
  readonly dataFolder: string | null;
  /** For the start output; without a password. */
  readonly place: string;
}

/**
 * Opens the store, in folders that are made when they are missing.
 * @throws SettingsError naming the setting
 */
export async function openStorage(
  { database }: Settings,
  folder: string,
  nameOf: NameOf = titleOf,
): Promise<Storage> {
  const { path, place, isServer, isFile } = locate({ database }, folder);
  const dataFolder = isFile ? dirname(path) : isServer ? resolve(folder, DEFAULT_FOLDER) : null;
  try {
    if (dataFolder !== null) await makeFolder(dataFolder);
    return { store: await openStore(path), dataFolder, place };
  } catch (cause) {
    throw new SettingsError([`${nameOf('database')} is ${place}, which cannot be used: ${reasonOf(cause)}`], {
      cause,
    });
  }
}

/** Where the database of these settings is. @returns `place`: for people, without a password */
export function locate(
  { database }: Pick<Settings, 'database'>,
  folder: string,
): { readonly path: string; readonly place: string; readonly isServer: boolean; readonly isFile: boolean } {
  const isServer = /^postgres(?:ql)?:/i.test(database);
  const isFile = !isServer && database !== ':memory:';
  return {
    path: isFile ? resolve(folder, database) : database,
    place: isServer ? withoutPassword(database) : database,
    isServer,
    isFile,
  };
}

/**
 * Opens a store that must be there already: for commands that work on what is there.
 * @throws SettingsError naming the setting
 */
export async function openExistingStore(settings: Settings, folder: string): Promise<AuthorizationStore> {
  const { database } = settings;
  const isFile = !/^postgres(?:ql)?:/i.test(database);
  if (database === ':memory:' || (isFile && !existsSync(resolve(folder, database)))) {
    throw new SettingsError([
      `${titleOf('database')} is ${database}, where no database is: name the one that the server uses`,
    ]);
  }
  return (await openStorage(settings, folder)).store;
}

function withoutPassword(location: string): string {
  const url = new URL(location);
  url.password = '';
  url.search = '';
  return url.href;
}
