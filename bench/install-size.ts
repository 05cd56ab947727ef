/**
 * Measures the production install size of clients: packages, files and bytes, including dependencies. `node
 * --conditions=portcullis-source bench/install-size.ts`. Other clients are counted as installed here; ours is built first and
 * counted as packed.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Size {
  readonly packages: number;
  readonly files: number;
  readonly bytes: number;
}

const root = realpathSync(new URL('..', import.meta.url));
const built = mkdtempSync(join(tmpdir(), 'install-size-'));

/** The installed packages of a program: itself and its dependencies, resolved as Node does. Folder → whether it is required. */
function closure(folder: string, optional: boolean, found: Set<string> = new Set()): Set<string> {
  if (found.has(folder)) return found;
  found.add(folder);
  const { dependencies = {}, optionalDependencies = {} } = manifestOf(folder);
  // npm lists optional dependencies among the dependencies too.
  const names = [...Object.keys(dependencies), ...(optional ? Object.keys(optionalDependencies) : [])];
  for (const name of new Set(names)) {
    const next = locate(name, folder);
    if (next !== null) closure(next, optional, found);
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

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** The files of one package; for ours, those that are packed: sources, build output and documents. */
function filesOf(folder: string): readonly string[] {
  if (!folder.startsWith(join(root, 'packages'))) return walk(folder);
  const dist = join(built, manifestOf(folder).name);
  const papers = ['package.json', 'README.md', 'LICENSE'].map((name) => join(folder, name));
  const there = papers.filter((path) => statSync(path, { throwIfNoEntry: false }) !== undefined);
  return [...there, ...walk(join(folder, 'src')), ...walk(dist)];
}

function walk(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : walk(path);
    return entry.isFile() ? [path] : [];
  });
}

function build(folder: string): void {
  const { name } = manifestOf(folder);
  // Its dependencies may not be built here, and types are checked elsewhere.
  const args = ['--noCheck', '--project', join(folder, 'tsconfig.build.json'), '--outDir', join(built, name)];
  const { status, stdout } = spawnSync('tsc', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name} cannot be built: ${stdout}`);
}

function measure(folder: string, optional: boolean): Size {
  const packages = [...closure(folder, optional)];
  const files = packages.flatMap(filesOf);
  const bytes = files.reduce((sum, path) => sum + statSync(path).size, 0);
  return { packages: packages.length, files: files.length, bytes };
}

const ours = join(root, 'packages/client');
const contenders: readonly (readonly [string, string, boolean])[] = [
  ['ours', ours, false],
  ['ours, with the keychain', ours, true],
  ...[
    '@modelcontextprotocol/sdk',
    '@modelcontextprotocol/client',
    'mcp-remote',
    'openid-client',
    'oauth4webapi',
  ].map((name): [string, string, boolean] => [name, join(root, 'node_modules', name), false]),
];

try {
  for (const folder of closure(ours, false)) if (folder.startsWith(join(root, 'packages'))) build(folder);
  console.log(`${'client'.padEnd(38)} packages  files  KiB`);
  for (const [name, folder, optional] of contenders) {
    const { packages, files, bytes } = measure(realpathSync(folder), optional);
    const title = folder === ours ? `@portcullis/client, ${name}` : `${name} ${manifestOf(folder).version}`;
    const label = title.replace(', ours', '');
    console.log(
      `${label.padEnd(38)} ${String(packages).padStart(8)} ${String(files).padStart(6)} ${(bytes / 1024).toFixed(0).padStart(6)}`,
    );
  }
} finally {
  rmSync(built, { recursive: true });
}
