/** Modules that settings name: loaded, and what they export taken out. */

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FindWorkspaces, Pages } from '@portcullis/authorization-server';
import { advise } from '@portcullis/protocol/known-names';
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

/** Every page that there is: the compiler minds that none is missing. */
const PAGES: Readonly<Record<keyof Pages, true>> = {
  front: true,
  'sign-in': true,
  'sign-out': true,
  consent: true,
  notice: true,
  setup: true,
  ready: true,
  connections: true,
  end: true,
  account: true,
  'account-link': true,
  code: true,
  'set-up-codes': true,
  password: true,
  'add-passkey': true,
  'remove-account': true,
  'renew-codes': true,
  'recovery-codes': true,
};

/** @throws SettingsError naming the setting */
export async function loadPages({ pages }: Settings, folder: string, nameOf: NameOf): Promise<Pages | null> {
  const title = nameOf('pages');
  if (pages === null) return null;
  const found = typeof pages === 'string' ? await loadExport(title, pages, folder, 'pages') : pages;
  const from = typeof pages === 'string' ? ` is ${pages}, which` : '';
  if (typeof found !== 'object' || found === null) {
    throw new SettingsError([`${title}${from} must export pages: an object of functions`]);
  }
  const issues = Object.entries(found).flatMap(([name, page]) => {
    if (!Object.hasOwn(PAGES, name))
      return [`has no page ${JSON.stringify(name)} to replace: ${advise(name, Object.keys(PAGES))}`];
    return typeof page === 'function' ? [] : [`must have a function as the page ${name}`];
  });
  if (issues.length > 0) throw new SettingsError(issues.map((issue) => `${title}${from} ${issue}`));
  return found as Pages;
}
