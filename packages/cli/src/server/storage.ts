/** Where things are kept: the store of the authorization server, and the folder that the application may use. */
import { dirname, resolve } from 'node:path';
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { inspectSchema, openStore, type SchemaState } from '@portcullis/store';
import { reasonOf, SettingsError } from '../errors.ts';
import type { Settings } from '../settings/schema.ts';
import { type NameOf, titleOf } from '../settings/schema.ts';
import { makeFolder } from './folders.ts';

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
function locate(
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
 * Looks at the schema of a database, without making or changing one.
 * @throws SettingsError naming the setting
 */
export async function inspectStorage(settings: Settings, folder: string): Promise<SchemaState> {
  const { path, place } = locate(settings, folder);
  try {
    return await inspectSchema(path);
  } catch (cause) {
    throw new SettingsError(
      [`${titleOf('database')} is ${place}, which cannot be used: ${reasonOf(cause)}`],
      { cause },
    );
  }
}

/**
 * Opens a store beside servers that may run on it, for a command. Only a server that starts and `portcullis migrate` bring a database
 * up to date: a command that did would do it unasked, under servers of the version before.
 * @param otherwise `make`: where nothing is yet, a database is made, for what is done before the first start
 * @throws SettingsError naming the setting
 */
export async function openBesideServers(
  settings: Settings,
  folder: string,
  otherwise: 'make' | 'refuse',
): Promise<AuthorizationStore> {
  const { place } = locate(settings, folder);
  const { pending } = settings.database === ':memory:' ? NOTHING : await inspectStorage(settings, folder);
  const isMissing = pending[0]?.number === 1;
  if (isMissing && otherwise === 'refuse') {
    throw new SettingsError([
      `${titleOf('database')} is ${place}, where no database is: name the one that the server uses`,
    ]);
  }
  if (pending.length > 0 && !isMissing) {
    const lack = pending.length === 1 ? 'one step' : `${pending.length} steps`;
    throw new SettingsError([
      `${titleOf('database')} is ${place}, which lacks ${lack} of this version: portcullis migrate --check shows what, portcullis migrate or the next start of the server does it`,
    ]);
  }
  return (await openStorage(settings, folder)).store;
}

/** Another process sees nothing of a database in memory. */
const NOTHING: Pick<SchemaState, 'pending'> = { pending: [{ number: 1, name: '' }] };

function withoutPassword(location: string): string {
  const url = new URL(location);
  url.password = '';
  url.search = '';
  return url.href;
}
