/** What a start loads, and where its compile cache is: every module costs half a millisecond before the first response. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { main } from './support/command.ts';

const application = fileURLToPath(new URL('../../../bench/servers/application.ts', import.meta.url));

/** Prints at exit which modules were loaded, and the cache folder. */
const WITNESS = `
  import { getCompileCacheDir, registerHooks } from 'node:module';
  const loaded = new Set();
  registerHooks({ resolve(name, context, next) {
    const found = next(name, context);
    loaded.add(found.url);
    return found;
  } });
  process.once('exit', () => console.log(JSON.stringify({ loaded: [...loaded], cache: getCompileCacheDir() })));`;

/** Of the sources; published packages consist of few files. */
const MOST_MODULES = 710;

interface Told {
  readonly loaded: readonly string[];
  readonly cache: string;
}

/** What a process loads. @param onOutput may end it */
async function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  onOutput: (output: string, child: ChildProcess) => void = () => {},
): Promise<Told & { readonly passing: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-lean-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [witness, passing] = [join(folder, 'witness.mjs'), mkdtempSync(join(folder, 'passing-'))];
  writeFileSync(witness, WITNESS);
  const flags = ['--conditions=portcullis-source', '--import', pathToFileURL(witness).href];
  const child = spawn(process.execPath, [...flags, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], TMPDIR: passing, XDG_CONFIG_HOME: folder, ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    onOutput(output, child);
  });
  await once(child, 'close');
  const told: Told = JSON.parse(output.trimEnd().split('\n').at(-1) ?? '');
  return { ...told, passing: readdirSync(passing) };
}

/** Starts the server, and ends it when it is ready. */
function startAndEnd(...args: readonly string[]) {
  let isReady = false;
  return run([main, ...args], { PORTCULLIS_DATABASE: ':memory:', PORTCULLIS_PORT: '0' }, (output, child) => {
    if (!isReady && output.includes('\nready ')) child.kill('SIGTERM');
    isReady ||= output.includes('\nready ');
  });
}

it('a start loads no module that is needed only later, and keeps its compile cache beside the program', async () => {
  const { loaded, cache, passing } = await startAndEnd('up', '--app', application);
  expect(loaded.length).toBeGreaterThan(300);
  expect(loaded.length).toBeLessThan(MOST_MODULES);
  expect(
    loaded.filter((url) =>
      /\/node_modules\/(?:jose|nodemailer|undici|pg|@simplewebauthn|@modelcontextprotocol|@opentelemetry)\/|^node:(?:tls|https)$/.test(
        url,
      ),
    ),
  ).toEqual([]);
  // Not in a shared or data folder: write access to the cache means control of the program.
  expect(cache.startsWith(fileURLToPath(new URL('../.compile-cache/lasting/', import.meta.url)))).toBe(true);
  expect(passing).toEqual([]);
});

it('a call loads a client and nothing of the server', async () => {
  const server = createServer((_request, response) => response.writeHead(404).end());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { loaded, cache } = await run([main, 'call', `http://127.0.0.1:${port}/mcp`, 'echo']);
  expect(loaded.length).toBeGreaterThan(100);
  expect(loaded.length).toBeLessThan(330);
  expect(loaded.filter((url) => /\/packages\/(?!cli|client|protocol|http)|undici/.test(url))).toEqual([]);
  expect(cache.startsWith(fileURLToPath(new URL('../.compile-cache/brief/', import.meta.url)))).toBe(true);
});

it('the guard loads the protocol, and neither schemas nor a library before the first token', async () => {
  const guard = new URL('../../resource-server/src/index.ts', import.meta.url);
  const { loaded } = await run([fileURLToPath(guard)]);
  expect(loaded.length).toBeGreaterThan(20);
  expect(loaded.length).toBeLessThan(95);
  expect(loaded.filter((url) => url.includes('/node_modules/'))).toEqual([]);
});
