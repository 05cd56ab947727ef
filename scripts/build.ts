/** Builds every package into its dist folder, dependencies first, joins its modules, and checks that each can be published. `npm run build` */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { problemKindInfo } from '@arethetypeswrong/core/problems';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { bundlePackage } from './bundle-package.ts';
import { PACKS, type PublishedPackage, packOf, publishedPackages } from './packages.ts';

function run(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'inherit' }).status === 0;
}

async function build({ folder, bin }: PublishedPackage): Promise<boolean> {
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  copyFileSync('LICENSE', join(folder, 'LICENSE'));
  const projects = globSync(join(folder, '{tsconfig,testing/tsconfig}.build.json'));
  if (!projects.every((project) => run('tsc', '--singleThreaded', '--project', project))) return false;
  await bundlePackage(folder);
  // The compiler does not set file modes, and a linked command must stay executable.
  for (const file of Object.values(bin)) chmodSync(join(folder, file), 0o755);
  return true;
}

/** Packs them as `npm publish` would upload them. */
function pack(packages: readonly PublishedPackage[]): boolean {
  rmSync(PACKS, { recursive: true, force: true });
  mkdirSync(PACKS, { recursive: true });
  const folders = packages.map(({ folder }) => `./${folder}`);
  return run('npm', 'pack', '--silent', '--pack-destination', PACKS, ...folders);
}

/** Packages are ESM only, so problems of CommonJS resolvers are ignored. */
const IGNORED_RESOLVERS = ['node10', 'node16-cjs'];

/** What is wrong with a packed package; empty if nothing is. */
async function problemsOf(file: string): Promise<string> {
  const tarball = Uint8Array.from(readFileSync(file));
  const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  const errors = messages.filter(({ type }) => type === 'error');
  if (errors.length > 0) return errors.map((message) => formatMessage(message, pkg)).join('\n');
  const types = await checkPackage(createPackageFromTarballData(tarball));
  if (types.types === false) return '';
  return types.problems
    .filter((problem) => !('resolutionKind' in problem && IGNORED_RESOLVERS.includes(problem.resolutionKind)))
    .map((problem) => `${problemKindInfo[problem.kind].title}: ${JSON.stringify(problem)}`)
    .join('\n');
}

async function publishable(one: PublishedPackage): Promise<boolean> {
  const problems = await problemsOf(packOf('.', one));
  console.log(`${one.name}: ${problems === '' ? 'publishable' : `not publishable\n${problems}`}`);
  return problems === '';
}

const packages = publishedPackages('.');
const broken: PublishedPackage[] = [];
for (const one of packages) if (!(await build(one))) broken.push(one);
for (const { name } of broken) console.error(`${name}: not built`);
const checked = broken.length > 0 || !pack(packages) ? [] : await Promise.all(packages.map(publishable));
const good = checked.filter((isGood) => isGood).length;
console.log(`${good} passed, ${packages.length - good} failed`);
process.exitCode = good === packages.length ? 0 : 1;
