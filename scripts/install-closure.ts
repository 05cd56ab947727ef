/** What an installed package brings along: its dependencies, resolved as Node does. */
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface InstalledManifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export function manifestOf(folder: string): InstalledManifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/**
 * The folders of a package and its dependencies.
 * @param optional with optional dependencies, as far as they are installed
 */
export function installClosure(
  folder: string,
  optional: boolean,
  found: Set<string> = new Set(),
): Set<string> {
  if (found.has(folder)) return found;
  found.add(folder);
  const { dependencies = {}, optionalDependencies = {} } = manifestOf(folder);
  // npm lists optional dependencies among the dependencies too.
  const names = [...Object.keys(dependencies), ...(optional ? Object.keys(optionalDependencies) : [])];
  for (const name of new Set(names)) {
    const next = locate(name, folder);
    if (next !== null) installClosure(next, optional, found);
  }
  return found;
}

function locate(name: string, from: string): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (statSync(join(candidate, 'package.json'), { throwIfNoEntry: false }) !== undefined)
      return realpathSync(candidate);
    if (folder === dirname(folder)) return null;
  }
}

/** All files below a folder, without packages nested in it. */
export function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}
