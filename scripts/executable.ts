/**
 * Builds the command as one file for computers without Node, and beside it the licences of what it contains:
 * `npm run executable -- portcullis`. Node 26 is in it, because only that can build one by itself (`--build-sea`).
 */
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { installPackages } from '../tests/support/install.ts';
import { type InstalledManifest, manifestOf } from './install-closure.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What is used of esbuild. */
interface Esbuild {
  build(
    options: object,
  ): Promise<{ readonly metafile: { readonly inputs: Readonly<Record<string, unknown>> } }>;
}

interface Plugin {
  onLoad(options: { readonly filter: RegExp }, load: () => { readonly contents: string }): void;
}

/**
 * @param modules with `esbuild` and `node-26`
 * @param output the file; the licences are in `output` + `.licenses.txt`
 */
export async function buildExecutable(modules: string, output: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-executable-'));
  try {
    const program = join(folder, 'main.mjs');
    const sources = await bundle(modules, program);
    const options = { mainFormat: 'module', disableExperimentalSEAWarning: true, useCodeCache: true };
    // NODE_OPTIONS are for Node, and this is not Node to its users.
    const configuration = { ...options, execArgvExtension: 'none', main: program, output: resolve(output) };
    await writeFile(join(folder, 'sea.json'), JSON.stringify(configuration));
    await promisify(execFile)(join(modules, 'node-26/bin/node'), ['--build-sea', join(folder, 'sea.json')]);
    await writeFile(`${output}.licenses.txt`, licences(modules, sources));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @returns the paths of all files in it */
async function bundle(modules: string, outfile: string): Promise<readonly string[]> {
  const esbuild: Esbuild = await import(join(modules, 'esbuild/lib/main.js'));
  const { version } = manifestOf(join(root, 'packages/cli'));
  const withVersion = {
    name: 'version',
    setup: ({ onLoad }: Plugin) =>
      onLoad({ filter: /packages\/cli\/src\/manifest\.ts$/ }, () => ({
        contents: `export const version = ${JSON.stringify(version)};`,
      })),
  };
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['packages/cli/src/main.ts'],
    conditions: ['portcullis-source'],
    outfile,
    bundle: true,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    minifyWhitespace: true,
    // Native code cannot be in it: keys are then kept in a file instead of the system keychain.
    external: ['pg-native', '@napi-rs/keyring'],
    banner: {
      js: "import { createRequire as make } from 'node:module'; const require = make(import.meta.url);",
    },
    plugins: [withVersion],
    logLevel: 'error',
  });
  return Object.keys(metafile.inputs).map((path) => join(root, path));
}

/** The text of each licence, and that of Node, which holds those of what it contains. */
function licences(modules: string, sources: readonly string[]): string {
  const folders = new Set(
    sources.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []),
  );
  const texts = [...folders].map((folder) => licenceOf(folder, manifestOf(folder))).toSorted();
  const node = globSync(join(modules, '{node-26,node-26/node_modules/*}/LICENSE')).map((path) =>
    readFileSync(path, 'utf8'),
  );
  return [
    readFileSync(join(root, 'LICENSE'), 'utf8'),
    `Node.js\n\n${node[0] ?? NODE_LICENCE}`,
    ...texts,
  ].join(`\n${'-'.repeat(80)}\n\n`);
}

const NODE_LICENCE = 'MIT, and the licences of its parts: https://github.com/nodejs/node/blob/main/LICENSE\n';

function licenceOf(folder: string, { name, version, license }: InstalledManifest): string {
  const [file] = globSync(join(folder, '{LICENSE,LICENCE,License,license}*'));
  const text =
    file !== undefined && existsSync(file) ? readFileSync(file, 'utf8') : `${license ?? 'no licence'}\n`;
  return `${name} ${version} (${license})\n\n${text}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { modules, missing } = await installPackages(join(root, 'tests/installed'));
  if (missing !== undefined) throw new Error(missing);
  const output = process.argv[2] ?? 'portcullis';
  await buildExecutable(modules, output);
  console.log(`${output}\n${output}.licenses.txt`);
}
