/** Builds every package into its dist folder, dependencies first, and checks that each can be published. `npm run build` */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type PublishedPackage, publishedPackages } from './packages.ts';

function run(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'inherit' }).status === 0;
}

function build({ folder, bin }: PublishedPackage): boolean {
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  copyFileSync('LICENSE', join(folder, 'LICENSE'));
  const projects = globSync(join(folder, '{tsconfig,testing/tsconfig}.build.json'));
  if (!projects.every((project) => run('tsc', '--project', project))) return false;
  // The compiler does not set file modes, and a linked command must stay executable.
  for (const file of Object.values(bin)) chmodSync(join(folder, file), 0o755);
  return true;
}

function publishable({ folder }: PublishedPackage): boolean {
  // Packages are ESM only, so problems of CommonJS resolvers are ignored.
  const types = () => run('attw', '--pack', folder, '--profile', 'esm-only', '--format', 'ascii', '--quiet');
  return run('publint', folder, '--strict') && types();
}

const packages = publishedPackages('.');
const broken = packages.filter((one) => !build(one));
const unpublishable = broken.length > 0 ? [] : packages.filter((one) => !publishable(one));
const bad = [...broken, ...unpublishable];
for (const { name } of bad) console.error(`not publishable: ${name}`);
console.log(`${packages.length - bad.length} passed, ${bad.length} failed`);
process.exitCode = bad.length === 0 ? 0 : 1;
