/** Opens the store of the authorization server and the data folder of the application. */
import { dirname, resolve } from 'node:path';
import type { FullStore } from '@portcullis/store';
import { inspectSchema, openStore, type PoolStatistics, type SchemaState } from '@portcullis/store';
import { reasonOf, SettingsError } from '../errors.ts';
import type { Settings } from '../settings/schema.ts';
import { type NameOf, titleOf } from '../settings/schema.ts';
import { createOwnFolder, realPath } from './folders.ts';

/** The application's folder if the store is not a file. */
const DEFAULT_FOLDER = 'data';

export interface Storage {
  readonly store: FullStore;
  /** The folder of the SQLite file, or `data` with PostgreSQL, which need not exist; `null` for an in-memory store. */
  readonly dataFolder: string | null;
  /** For the startup banner; without a password. */
  readonly location: string;
}

/**
 * Opens the store, in a folder that others cannot write to.
 * @throws SettingsError naming the setting
 */
export async function openStorage(
  settings: Settings,
  folder: string,
  nameOf: NameOf = titleOf,
  poolStatistics?: PoolStatistics,
): Promise<Storage> {
  const { databaseTimeout: busyTimeout, databasePoolSize: poolSize } = settings;
  const { path, location, isServer, isFile } = locate(settings, folder);
  const dataFolder = isFile ? dirname(path) : isServer ? resolve(folder, DEFAULT_FOLDER) : null;
  try {
    if (isFile) await createOwnFolder(dirname(path));
    const store = await openStore(path, { busyTimeout, poolSize, ...(poolStatistics && { poolStatistics }) });
    return { store, dataFolder, location };
  } catch (cause) {
    throw unusable(nameOf, location, cause);
  }
}

function unusable(nameOf: NameOf, location: string, cause: unknown): SettingsError {
  const reason = reasonOf(cause);
  // Of PostgreSQL, and of its client.
  const advice = /empty password|password must be a string|no password supplied/.test(reason) ? PASSWORD : '';
  const issue = `${nameOf('database')} is ${location}, which cannot be used: ${reason}${advice}`;
  return new SettingsError([issue], { cause });
}

const PASSWORD = ': set PGPASSWORD, or put the password into the URL';

/** Locates the database. @returns `location`: for display, without a password */
function locate({ database }: Pick<Settings, 'database'>, folder: string) {
  const isServer = /^postgres(?:ql)?:/i.test(database);
  const isFile = !isServer && database !== ':memory:';
  return {
    path: isFile ? resolve(folder, database) : database,
    location: isServer ? withoutPassword(database) : database,
    isServer,
    isFile,
  };
}

/** Identifies a database on this computer: an absolute path, `:memory:`, or a `postgres:` URL without a password. */
export function locationOf({ database }: Pick<Settings, 'database'>, folder: string): string {
  const { path, location, isFile } = locate({ database }, folder);
  return isFile ? realPath(path) : location;
}

/**
 * Inspects the schema of a database without creating or changing one.
 * @throws SettingsError naming the setting
 */
export async function inspectStorage(settings: Settings, folder: string): Promise<SchemaState> {
  if (settings.database === ':memory:')
    throw new SettingsError([`${titleOf('database')} is :memory:, which no other process can see`]);
  const { path, location } = locate(settings, folder);
  try {
    return await inspectSchema(path);
  } catch (cause) {
    throw unusable(titleOf, location, cause);
  }
}

/**
 * Opens a store for a command, possibly while servers use it. Only `up` and `portcullis migrate` create a database and apply
 * migrations: a command would do it in the wrong folder, or under running servers of the previous version.
 * @throws SettingsError naming the setting
 */
export async function openBesideServers(settings: Settings, folder: string): Promise<FullStore> {
  const { location } = locate(settings, folder);
  const { pending } = await inspectStorage(settings, folder);
  if (pending[0]?.number === 1) {
    throw new SettingsError([
      `${titleOf('database')} is ${location}, where there is no database: start the server first, or name the database that it uses`,
    ]);
  }
  if (pending.length > 0) {
    const lack = pending.length === 1 ? 'one migration' : `${pending.length} migrations`;
    throw new SettingsError([
      `${titleOf('database')} is ${location}, which lacks ${lack} of this version: portcullis migrate --check lists the pending migrations; portcullis migrate or the next server start applies them`,
    ]);
  }
  return (await openStorage(settings, folder)).store;
}

function withoutPassword(location: string): string {
  const url = new URL(location);
  url.password = '';
  for (const name of ['password', 'sslpassword']) url.searchParams.delete(name);
  return url.href;
}
