/** Builds every package into its dist folder, dependencies first, joins its modules, and checks that each can be published. `npm run build` */
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundlePackage } from './bundle-package.ts';
import { type PublishedPackage, publishedPackages } from './packages.ts';

function run(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'inherit' }).status === 0;
}

async function build({ folder, bin }: PublishedPackage): Promise<boolean> {
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  copyFileSync('LICENSE', join(folder, 'LICENSE'));
  const projects = globSync(join(folder, '{tsconfig,testing/tsconfig}.build.json'));
  if (!projects.every((project) => run('tsc', '--project', project))) return false;
  await bundlePackage(folder);
  // The compiler does not set file modes, and a linked command must stay executable.
  for (const file of Object.values(bin)) chmodSync(join(folder, file), 0o755);
  return true;
}

const execute = promisify(execFile);

/** What is wrong with a package as it would be published; empty if nothing is. @param packs the folder of the packed files */
async function problemsOf({ folder }: PublishedPackage, packs: string): Promise<string> {
  try {
    const { stdout } = await execute('npm', ['pack', `./${folder}`, '--silent', '--pack-destination', packs]);
    const file = join(packs, stdout.trim());
    await execute('publint', [file, '--strict']);
    // Packages are ESM only, so problems of CommonJS resolvers are ignored.
    await execute('attw', [file, '--profile', 'esm-only', '--format', 'ascii']);
    return '';
  } catch (error) {
    return error instanceof Error && 'stdout' in error ? `${error.message}\n${error.stdout}` : String(error);
  }
}

async function publishable(one: PublishedPackage, packs: string): Promise<boolean> {
  const problems = await problemsOf(one, packs);
  console.log(`${one.name}: ${problems === '' ? 'publishable' : `not publishable\n${problems}`}`);
  return problems === '';
}

const packages = publishedPackages('.');
const broken: PublishedPackage[] = [];
for (const one of packages) if (!(await build(one))) broken.push(one);
for (const { name } of broken) console.error(`${name}: not built`);
const packs = mkdtempSync(join(tmpdir(), 'portcullis-packs-'));
const checked = broken.length > 0 ? [] : await Promise.all(packages.map((one) => publishable(one, packs)));
rmSync(packs, { recursive: true, force: true });
const good = checked.filter((isGood) => isGood).length;
console.log(`${good} passed, ${packages.length - good} failed`);
process.exitCode = good === packages.length ? 0 : 1;
