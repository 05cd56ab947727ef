/** Runs the programs of docs/frameworks.md as they are written, each in its framework or runtime. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { reservePort } from '../../support/ports.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);

export interface Recipe {
  /** The heading of docs/frameworks.md. */
  readonly name: string;
  /** Starts the program in its folder. Commands are found in `node_modules/.bin` first. */
  start(port: number): readonly string[];
  /** Runs before it. */
  readonly build?: readonly string[];
  /** Further files of the folder. */
  files?(port: number): Readonly<Record<string, string>>;
  /** Packages installed under another name than the program imports: name → installed name. */
  readonly aliases?: Readonly<Record<string, string>>;
}

const node = () => ['node', 'server.ts'];

export const recipes: readonly Recipe[] = [
  { name: 'Next.js', start: (port) => ['next', 'dev', '--webpack', '-H', '127.0.0.1', '-p', `${port}`] },
  {
    name: 'NestJS',
    // Node strips types but does not compile decorators.
    build: [
      ...['esbuild', 'server.ts', '--bundle', '--packages=external', '--platform=node', '--format=esm'],
      ...['--outfile=server.mjs', '--tsconfig-raw={"compilerOptions":{"experimentalDecorators":true}}'],
    ],
    start: () => ['node', 'server.mjs'],
  },
  { name: 'h3', start: node },
  { name: 'Express 4', start: node, aliases: { express: 'express4' } },
  { name: 'Fastify 4', start: node, aliases: { fastify: 'fastify4' } },
  { name: 'Bun', start: () => ['bun', 'server.ts'] },
  { name: 'Deno', start: () => ['deno', 'run', '--allow-all', '--node-modules-dir=manual', 'server.ts'] },
  {
    name: 'workerd (Cloudflare Workers)',
    build: ['esbuild', 'server.ts', '--bundle', '--format=esm', '--outfile=worker.js'],
    files: (port) => ({
      'config.capnp': `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "worker.js")],
      compatibilityDate = "2026-01-01")),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
`,
    }),
    start: () => ['workerd', 'serve', 'config.capnp'],
  },
];

/** Compiles the guard into a `node_modules`, as `npm install` would unpack it. */
export async function installGuard(modules: string): Promise<void> {
  for (const name of ['protocol', 'resource-server']) {
    const target = join(modules, '@portcullis', name);
    await mkdir(target, { recursive: true });
    await cp(join(root, 'packages', name, 'package.json'), join(target, 'package.json'));
    const project = join(root, 'packages', name, 'tsconfig.build.json');
    const tsc = join(root, 'node_modules/.bin/tsc');
    // Types are checked elsewhere, and those of `protocol` exist only after a build.
    await run(process.execPath, [tsc, '--project', project, '--noCheck', '--outDir', join(target, 'dist')]);
  }
}

export interface Server extends AsyncDisposable {
  readonly origin: string;
}

/** Writes the program into a folder of its own with the issuer and a free port, and starts it. */
export async function startRecipe(recipe: Recipe, modules: string, issuer: string): Promise<Server> {
  const port = await reservePort();
  const origin = `http://127.0.0.1:${port}`;
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-recipe-'));
  const files = { ...(await readProgram(recipe.name)), ...recipe.files?.(port) };
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    const text = content
      .replaceAll('https://mcp.example.com', origin)
      .replaceAll('https://auth.example.com', issuer)
      .replaceAll('8080', String(port));
    await writeFile(file, text);
  }
  await linkModules(folder, modules, recipe.aliases);
  const path = [join(modules, '.bin'), dirname(process.execPath), process.env['PATH']].join(':');
  const environment = { cwd: folder, env: { PATH: path, HOME: folder, NEXT_TELEMETRY_DISABLED: '1' } };
  if (recipe.build !== undefined) await run('env', recipe.build, environment);
  const child = spawn('env', recipe.start(port), { ...environment, detached: true });
  await untilItListens(child, origin);
  return {
    origin,
    async [Symbol.asyncDispose]() {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The code blocks under a heading of the page, and the guard that all share: path → program. */
async function readProgram(name: string): Promise<Readonly<Record<string, string>>> {
  const page = await readFile(join(root, 'docs/frameworks.md'), 'utf8');
  const [introduction = '', ...sections] = page.split(/^## /m);
  const section = sections.find((text) => text.startsWith(`${name}\n`)) ?? '';
  const blocks = `${introduction}\n${section}`.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms);
  return Object.fromEntries([...blocks].map(([, path = '', program = '']) => [path, program]));
}

async function linkModules(folder: string, modules: string, aliases: Recipe['aliases'] = {}): Promise<void> {
  await cp(join(modules, '../package.json'), join(folder, 'package.json'));
  const links = join(folder, 'node_modules');
  await mkdir(links);
  const renamed = Object.keys(aliases);
  const names = (await readdir(modules)).filter((name) => !renamed.includes(name));
  const targets = [...names.map((name) => [name, name] as const), ...Object.entries(aliases)];
  await Promise.all(targets.map(([name, target]) => symlink(join(modules, target), join(links, name))));
}

async function untilItListens(child: ChildProcess, origin: string): Promise<void> {
  let output = '';
  const collect = (chunk: Buffer) => {
    output += String(chunk);
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  const limit = Date.now() + 200_000;
  while (Date.now() < limit && child.exitCode === null) {
    const signal = AbortSignal.timeout(100_000);
    if (await fetch(`${origin}/mcp`, { signal }).catch(() => undefined)) return;
    await sleep(100);
  }
  throw new Error(`it does not listen at ${origin}: ${output}`);
}
