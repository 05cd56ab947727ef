/** A project outside the clone with the packed packages in it, as `npm install` lays them there for someone who has only Node and npm. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { packOf, publishedPackages } from '../../scripts/packages.ts';
import { startRegistry } from './registry.ts';

export const root: string = fileURLToPath(new URL('../..', import.meta.url));

export interface InstalledProject {
  /** Outside the clone. */
  readonly folder: string;
  /** All that a process there gets: no settings, no other home. */
  readonly environment: Readonly<Record<string, string>>;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Or why it is missing. */
    readonly installed: InstalledProject | string;
  }
}

/** What the snippets of the READMEs import beside our packages, in the versions of this clone, and the compiler. */
const BESIDE = [
  ...[
    '@modelcontextprotocol/client',
    '@modelcontextprotocol/server',
    '@opentelemetry/api',
    '@types/express',
    '@types/koa',
    '@types/node',
  ],
  ...['@types/pg', 'express', 'fastify', 'hono', 'jose', 'koa', 'pg', 'typescript', 'vitest', 'zod'],
];

/** Installs once for all files of the Vitest project. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const base = await mkdtemp(join(tmpdir(), 'portcullis-installed-'));
  const leave = () => rm(base, { recursive: true, force: true, maxRetries: 5 });
  if (!publishedPackages(root).every((one) => existsSync(packOf(root, one)))) {
    provide('installed', 'run npm run build first');
    return leave;
  }
  const registry = await startRegistry(root);
  const project = await createProject(base, registry.url);
  const missing = await install(project).then(
    () => undefined,
    (error: unknown) => `npm install failed: ${String(error)}`,
  );
  if (missing !== undefined) console.warn(`skipped: ${missing}`);
  provide('installed', missing ?? project);
  return async () => {
    await registry[Symbol.asyncDispose]();
    await leave();
  };
}

async function createProject(base: string, registry: string): Promise<InstalledProject> {
  const [folder, home] = [join(base, 'project'), join(base, 'home')];
  await mkdir(folder);
  await mkdir(home);
  await writeFile(join(home, '.npmrc'), `registry=${registry}\nupdate-notifier=false\n`);
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'project', private: true, type: 'module' }),
  );
  await shareDownloads(join(home, '.npm'));
  const { PATH = '', NODE_EXTRA_CA_CERTS } = process.env;
  return {
    folder,
    environment: {
      // Node 24, then the rest of the system, without the programs of the clone.
      PATH: [
        dirname(process.execPath),
        ...PATH.split(delimiter).filter((one) => !one.includes('node_modules')),
      ].join(delimiter),
      HOME: home,
      XDG_CONFIG_HOME: home,
      ...(NODE_EXTRA_CA_CERTS !== undefined && { NODE_EXTRA_CA_CERTS }),
    },
  };
}

/** Packages that this machine has downloaded before are not fetched again; programs that `npx` unpacks are its own. */
async function shareDownloads(cache: string): Promise<void> {
  const { stdout } = await promisify(execFile)('npm', ['config', 'get', 'cache'], { cwd: root });
  await mkdir(cache);
  await mkdir(join(stdout.trim(), '_cacache'), { recursive: true });
  await symlink(join(stdout.trim(), '_cacache'), join(cache, '_cacache'));
}

async function install({ folder, environment }: InstalledProject): Promise<void> {
  const names = [
    ...publishedPackages(root).map(({ name }) => name),
    ...(await Promise.all(BESIDE.map(withVersion))),
  ];
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...names], {
    cwd: folder,
    env: environment,
    timeout: 300_000,
  });
}

async function withVersion(name: string): Promise<string> {
  const manifest = [join(root, 'node_modules'), join(root, 'packages/resource-server/node_modules')]
    .map((modules) => join(modules, name, 'package.json'))
    .find(existsSync);
  if (manifest === undefined) throw new Error(`${name} is not installed in this clone`);
  const { version }: { version: string } = JSON.parse(await readFile(manifest, 'utf8'));
  return `${name}@${version}`;
}
