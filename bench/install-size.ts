/**
 * Measures the production install size of clients: packages, files and bytes, including dependencies. `node
 * --conditions=portcullis-source bench/install-size.ts`. Other clients are counted as installed here; ours is built first and
 * counted as packed.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundlePackage } from '../scripts/bundle-package.ts';
import { filesBelow, installClosure, manifestOf } from '../scripts/install-closure.ts';

interface Size {
  readonly packages: number;
  readonly files: number;
  readonly bytes: number;
}

const root = realpathSync(new URL('..', import.meta.url));
const built = mkdtempSync(join(tmpdir(), 'install-size-'));

/** The files of one package; for ours, those that are packed: sources, build output and documents. */
function filesOf(folder: string): readonly string[] {
  if (!folder.startsWith(join(root, 'packages'))) return filesBelow(folder);
  const dist = join(built, manifestOf(folder).name);
  const papers = ['package.json', 'README.md', 'LICENSE'].map((name) => join(folder, name));
  const there = papers.filter((path) => statSync(path, { throwIfNoEntry: false }) !== undefined);
  return [...there, ...filesBelow(join(folder, 'src')), ...filesBelow(dist)];
}

async function build(folder: string): Promise<void> {
  const { name } = manifestOf(folder);
  // Its dependencies may not be built here, and types are checked elsewhere.
  const args = ['--noCheck', '--project', join(folder, 'tsconfig.build.json'), '--outDir', join(built, name)];
  const { status, stdout } = spawnSync('tsc', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name} cannot be built: ${stdout}`);
  await bundlePackage(folder, join(built, name));
}

function measure(folder: string, optional: boolean): Size {
  const packages = [...installClosure(folder, optional)];
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
  for (const folder of installClosure(ours, false))
    if (folder.startsWith(join(root, 'packages'))) await build(folder);
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
