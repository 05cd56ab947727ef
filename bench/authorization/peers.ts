/** Packages of the peers that tests/interop/peers installs, in its versions. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPackages } from '../../tests/support/install.ts';

const folder = fileURLToPath(new URL('../../tests/interop/peers', import.meta.url));

/** Imports a file of an installed package, which has no types here. */
export async function importPeer<T>(file: string): Promise<T> {
  return (await import(join(await modules(), file))) as T;
}

/** Their `node_modules`. @throws Error if they cannot be installed */
async function modules(): Promise<string> {
  const { modules: path, missing } = await installPackages(folder);
  if (missing !== undefined) throw new Error(missing);
  return path;
}
