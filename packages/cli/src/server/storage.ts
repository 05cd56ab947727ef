/** Opens the store of the authorization server and the data folder of the application. */
import { dirname, resolve } from 'node:path';
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { inspectSchema, openStore, type SchemaState } from '@portcullis/store';
import { reasonOf, SettingsError } from '../errors.ts';
import type { Settings } from '../settings/schema.ts';
import { type NameOf, titleOf } from '../settings/schema.ts';
import { createFolder } from './folders.ts';

/** The application's folder if the store is not a file. */
const DEFAULT_FOLDER = 'data';

export interface Storage {
  readonly store: AuthorizationStore;
  /** An existing folder: that of the SQLite file, or `data` with PostgreSQL; `null` for an in-memory store. */
  readonly dataFolder: string | null;
  /** For the startup banner; without a password. */
  readonly place: string;
}

/**
 * Opens the store and creates missing folders.
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
    if (dataFolder !== null) await createFolder(dataFolder);
    return { store: await openStore(path), dataFolder, place };
  } catch (cause) {
    throw new SettingsError([`${nameOf('database')} is ${place}, which cannot be used: ${reasonOf(cause)}`], {
      cause,
    });
  }
}

/** Locates the database. @returns `place`: for display, without a password */
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
 * Inspects the schema of a database without creating or changing one.
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
 * Opens a store for a command, while servers may use it. Only `up` and `portcullis migrate` apply migrations: a command would
 * do it unasked, under running servers of the previous version.
 * @param otherwise `make`: creates a missing database, for commands that work before the first start
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
      `${titleOf('database')} is ${place}, where there is no database: name the one that the server uses`,
    ]);
  }
  if (pending.length > 0 && !isMissing) {
    const lack = pending.length === 1 ? 'one migration' : `${pending.length} migrations`;
    throw new SettingsError([
      `${titleOf('database')} is ${place}, which lacks ${lack} of this version: portcullis migrate --check lists the pending migrations; portcullis migrate or the next server start applies them`,
    ]);
  }
  return (await openStorage(settings, folder)).store;
}

/** An in-memory database is not visible to other processes. */
const NOTHING: Pick<SchemaState, 'pending'> = { pending: [{ number: 1, name: '' }] };

function withoutPassword(location: string): string {
  const url = new URL(location);
  url.password = '';
  url.search = '';
  return url.href;
}
