/** Builds every package into its dist folder, dependencies first, and checks that each can be published. `npm run build` */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, globSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
}

const packages = new Map<string, { folder: string; needs: readonly string[] }>();
for (const file of globSync('packages/*/package.json').toSorted()) {
  const { name, dependencies = {} }: Manifest = JSON.parse(readFileSync(file, 'utf8'));
  packages.set(name, { folder: dirname(file), needs: Object.keys(dependencies) });
}

/** Sorts names topologically: each after its dependencies. */
function inOrder(names: Iterable<string>, done: Set<string> = new Set()): Set<string> {
  for (const name of names) {
    const found = packages.get(name);
    if (found === undefined || done.has(name)) continue;
    inOrder(found.needs, done);
    done.add(name);
  }
  return done;
}

function run(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'inherit' }).status === 0;
}

function build(folder: string): boolean {
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  copyFileSync('LICENSE', join(folder, 'LICENSE'));
  const projects = globSync(join(folder, '{tsconfig,testing/tsconfig}.build.json'));
  if (!projects.every((project) => run('tsc', '--project', project))) return false;
  // The compiler does not set file modes, and a linked command must stay executable.
  const { bin = {} }: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  for (const file of Object.values(bin)) chmodSync(join(folder, file), 0o755);
  return true;
}

function publishable(folder: string): boolean {
  // Packages are ESM only, so problems of CommonJS resolvers are ignored.
  const types = () => run('attw', '--pack', folder, '--profile', 'esm-only', '--format', 'ascii', '--quiet');
  return run('publint', folder, '--strict') && types();
}

const folders = [...inOrder(packages.keys())].flatMap((name) => packages.get(name)?.folder ?? []);
const broken = folders.filter((folder) => !build(folder));
const unpublishable = broken.length > 0 ? [] : folders.filter((folder) => !publishable(folder));
const bad = [...broken, ...unpublishable];
for (const folder of bad) console.error(`not publishable: ${basename(folder)}`);
console.log(`${folders.length - bad.length} passed, ${bad.length} failed`);
process.exitCode = bad.length === 0 ? 0 : 1;
