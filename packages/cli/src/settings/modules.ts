/** Modules that settings name: loaded, and what they export taken out. */

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FindWorkspaces } from '@portcullis/authorization-server';
import { reasonOf, SettingsError } from '../faults.ts';
import type { Settings } from './settings.ts';
import type { NameOf } from './table.ts';

/**
 * What a module exports under a name; `undefined` when it does not.
 * @param title of the setting that names the module
 * @param folder what a relative path starts from
 * @throws SettingsError naming the setting
 */
export async function loadExport(
  title: string,
  file: string,
  folder: string,
  name: string,
): Promise<unknown> {
  const module: Readonly<Record<string, unknown>> = await import(
    pathToFileURL(resolve(folder, file)).href
  ).catch((cause) => {
    throw new SettingsError([`${title} is ${file}, which cannot be loaded: ${reasonOf(cause)}`], {
      cause,
    });
  });
  return module[name];
}

/** @throws SettingsError naming the setting */
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
