/** The packages that are published. */
import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface PublishedPackage {
  readonly name: string;
  readonly version: string;
  /** Relative to the root of the clone. */
  readonly folder: string;
  readonly dependencies: readonly string[];
  /** Command → its file. */
  readonly bin: Readonly<Record<string, string>>;
}

/** Where `npm run build` leaves what npm would publish. */
export const PACKS = 'node_modules/.cache/packs';

export function packOf(root: string, { name, version }: PublishedPackage): string {
  return `${root}/${PACKS}/${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
}

/** All of them, each after its dependencies. */
export function publishedPackages(root: string): readonly PublishedPackage[] {
  const found = globSync('packages/*/package.json', { cwd: root }).toSorted();
  const packages = new Map(found.map((file) => read(root, file)).map((one) => [one.name, one]));
  const ordered = new Set<PublishedPackage>();
  const add = (name: string) => {
    const one = packages.get(name);
    if (one === undefined || ordered.has(one)) return;
    one.dependencies.forEach(add);
    ordered.add(one);
  };
  for (const name of packages.keys()) add(name);
  return [...ordered];
}

function read(root: string, file: string): PublishedPackage {
  const manifest: Manifest = JSON.parse(readFileSync(`${root}/${file}`, 'utf8'));
  const { name, version, dependencies = {}, bin = {} } = manifest;
  return { name, version, folder: dirname(file), dependencies: Object.keys(dependencies), bin };
}
