/** Loads the modules that settings name. */
import { resolve } from 'node:path';
import { isSea } from 'node:sea';
import { pathToFileURL } from 'node:url';
import type { FindWorkspaces } from '@portcullis/authorization-server';
import { reasonOf, SettingsError } from '../errors.ts';
import type { NameOf, Settings } from './schema.ts';

/**
 * Loads a named export of a module; `undefined` if missing.
 * @param title of the setting that names the module
 * @param folder base of a relative path
 * @throws SettingsError
 */
export async function loadExport(
  title: string,
  file: string,
  folder: string,
  name: string,
): Promise<unknown> {
  if (isSea())
    throw new SettingsError([
      `${title} is ${file}, and the single executable loads no modules: use npx @portcullis/cli, or a JSON file`,
    ]);
  const { href } = pathToFileURL(resolve(folder, file));
  const module: Readonly<Record<string, unknown>> = await import(href).catch((cause) => {
    throw new SettingsError([`${title} is ${file}, which cannot be loaded: ${reasonOf(cause)}`], { cause });
  });
  return module[name];
}

/** @throws SettingsError */
export async function loadWorkspaces(
  { workspaces }: Settings,
  folder: string,
  nameOf: NameOf,
): Promise<FindWorkspaces | null> {
  if (typeof workspaces !== 'string') return workspaces;
  const found = await loadExport(nameOf('workspaces'), workspaces, folder, 'findWorkspaces');
  if (typeof found === 'function') return found as FindWorkspaces;
  throw new SettingsError([`${nameOf('workspaces')} is ${workspaces}, which must export findWorkspaces`]);
}
