/** `npm run dev` restarts the server after a change of a source, and then reloads the pages in the browser. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { launchChromium } from '../support/browser.ts';
import { reservePort } from '../support/ports.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('npm run dev restarts the server after a change of a file that it loads, and reloads open pages', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-dev-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const app = join(folder, 'app.js');
  const source = `export { app } from ${JSON.stringify(pathToFileURL(join(root, 'examples/notes/src/app.ts')).href)};\n`;
  writeFileSync(app, source);
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const [program, ...words] = String(scripts.dev).replace('examples/notes/src/app.ts', app).split(' ');
  expect(program).toBe('node');

  const child = spawn(process.execPath, words, {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      XDG_CONFIG_HOME: folder,
      PORTCULLIS_PORT: String(await reservePort()),
      PORTCULLIS_DATABASE: ':memory:',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const urls = () => [...output.matchAll(/^ready (\S+)$/gm)].map(([, url = '']) => url);
  await expect.poll(() => urls().length).toBe(1);
  const [url] = urls();
  const browser = await launchChromium();
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  // Node's watcher may restart it once more for an earlier change.
  await expect.poll(() => page.goto(`${url}/account`).then(() => true)).toBe(true);
  const title = await page.title();
  const reload = page.waitForEvent('load', { timeout: 0 });

  const before = urls().length;
  writeFileSync(app, `${source}// changed\n`);
  await expect.poll(() => urls().length).toBeGreaterThan(before);
  expect(new Set(urls())).toEqual(new Set([url]));
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  await reload;
  expect(await page.title()).toBe(title);
});
