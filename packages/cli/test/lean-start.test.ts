/** What a start loads, and where its compile cache is: every module costs half a millisecond before the first response. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
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
const MOST_MODULES = 700;

interface Told {
  readonly loaded: readonly string[];
  readonly cache: string;
}

/** Starts the server in a folder of its own, ends it when it is ready, and answers what it told and what it left in the folder for passing files. */
async function startAndEnd(): Promise<Told & { readonly passing: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-lean-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [witness, passing] = [join(folder, 'witness.mjs'), mkdtempSync(join(folder, 'passing-'))];
  writeFileSync(witness, WITNESS);
  const flags = ['--conditions=portcullis-source', '--import', pathToFileURL(witness).href];
  const child = spawn(process.execPath, [...flags, main, 'up', '--app', application], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      TMPDIR: passing,
      PORTCULLIS_DATABASE: ':memory:',
      PORTCULLIS_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (!output.includes('\nready ') && (output + text).includes('\nready ')) child.kill('SIGTERM');
    output += text;
  });
  expect(await once(child, 'close')).toEqual([0, null]);
  const told: Told = JSON.parse(output.trimEnd().split('\n').at(-1) ?? '');
  return { ...told, passing: readdirSync(passing) };
}

it('a start loads no module that is needed only later, and keeps its compile cache beside the program', async () => {
  const { loaded, cache, passing } = await startAndEnd();
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
  expect(cache.startsWith(fileURLToPath(new URL('../.compile-cache', import.meta.url)))).toBe(true);
  expect(passing).toEqual([]);
});
