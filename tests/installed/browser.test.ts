/** The client in a bundle for browsers: from the installed package, without Node's modules, in a page of another origin. */
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '../support/browser.ts';
import { openBrowserFor } from '../support/chromium-user.ts';
import { installPackages } from '../support/install.ts';
import { machineClient } from '../support/machine-client.ts';
import { owner } from '../support/portcullis.ts';
import { injectProject } from './inject.ts';
import { write } from './snippets.ts';
import { inMemory, type RunningProgram, runProgram, startProgram } from './start.ts';

const bundler = await installPackages(fileURLToPath(new URL('.', import.meta.url)));
const { project, missing } = injectProject(bundler);

/** Begins a sign-in, or completes it on a click where the browser returns, and calls the server. */
const page = (serverUrl: string) => `
import { createClient, createWebStore } from '@portcullis/client';

const store = createWebStore({ storage: localStorage, locks: navigator.locks });
const client = createClient({ serverUrl: ${JSON.stringify(serverUrl)}, store });
const [button, output] = document.querySelectorAll('button, output');

async function complete() {
  await client.complete(location.href);
  const response = await client.fetch(${JSON.stringify(serverUrl)}, { method: 'POST', body: '{}' });
  return response.text();
}

button.onclick = async () => {
  const begin = () => client.begin({ redirectUri: location.origin + '/callback' });
  output.textContent = await (location.pathname === '/callback' ? complete() : begin()).catch(String);
};
`;

const DOCUMENT =
  '<!doctype html><button>Continue</button><output></output><script type="module" src="/bundle.js"></script>';

/** Bytes of the minified bundle, and no more. */
const MOST_BYTES = 180_000;

describe.skipIf(missing)('a bundle for browsers', () => {
  let server: RunningProgram;
  let browser: Browser;
  let site: Server;
  let bundle = '';

  beforeAll(async () => {
    const application = `export const app = { name: 'Greeter', path: '/mcp', scopes: { 'mcp:read': 'Read' },
      create: async () => ({ handle: async () => new Response('Hello from the server'), close: async () => {} }) };`;
    await write(project.folder, 'page/app.js', application);
    const environment = {
      ...inMemory,
      PORTCULLIS_CLIENTS: JSON.stringify([{ ...machineClient, scope: 'mcp:read' }]),
      PORTCULLIS_BOOTSTRAP_EMAIL: owner.email,
      PORTCULLIS_BOOTSTRAP_PASSWORD: owner.password,
    };
    const words = ['npx', 'portcullis', 'up', '--app', 'page/app.js'];
    [server, browser] = await Promise.all([
      startProgram(project, words, /^ready (\S+)$/m, { environment }),
      launchChromium(),
    ]);
    await write(project.folder, 'page/page.js', page(`${server.found}/mcp`));
    const esbuild = join(bundler.modules, '.bin/esbuild');
    const how = ['--bundle', '--minify', '--format=esm', '--platform=browser', '--outfile=page/bundle.js'];
    const built = await runProgram(project, [esbuild, 'page/page.js', ...how]);
    expect(built).toMatchObject({ code: 0 });
    bundle = await readFile(join(project.folder, 'page/bundle.js'), 'utf8');
    site = createServer((request, response) => {
      const isScript = request.url === '/bundle.js';
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
      response.end(isScript ? bundle : DOCUMENT);
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  });

  afterAll(async () => {
    await browser?.close();
    site?.closeAllConnections();
    site?.close();
    await server?.[Symbol.asyncDispose]();
  });

  it('signs a user in and calls the server', async () => {
    const origin = `http://localhost:${(site.address() as AddressInfo).port}`;
    const user = await openBrowserFor(owner, browser);
    const tab = await user.context.newPage();
    const click = async (url: string): Promise<string> => {
      await tab.goto(url);
      await tab.click('button');
      return (await tab.locator('output:not(:empty)').textContent()) ?? '';
    };
    const answer = await user.authorize(await click(origin));
    expect(await click(answer.href)).toBe('Hello from the server');
  });

  it('is small', () => {
    expect(bundle.length).toBeLessThan(MOST_BYTES);
  });
});
