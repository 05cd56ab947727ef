/** The client core in a page of another origin, in a real Chromium, against a real server. */
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchChromium } from '../../../tests/support/browser.ts';
import { openBrowserFor } from '../../../tests/support/chromium-user.ts';
import { owner } from '../../../tests/support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import type * as Core from '../src/index.ts';

declare global {
  /** What the page has loaded. */
  var core: typeof Core;
  var location: { readonly href: string };
}

const root = new URL('../../../', import.meta.url);

const page = `<!doctype html><title>App</title>
<script type="importmap">
{ "imports": {
  "@portcullis/protocol": "/packages/protocol/src/index.ts",
  "@portcullis/protocol/documents": "/packages/protocol/src/documents.ts",
  "zod": "/node_modules/zod/index.js"
} }
</script>
<script type="module">
globalThis.core = await import('/packages/client/src/index.ts');
</script>`;

let server: PortcullisHere;
let browser: Browser;
let site: Server;
let origin: string;

beforeAll(async () => {
  [server, browser, site] = await Promise.all([startPortcullisHere(), launchChromium(), openSite()]);
  const address = site.address();
  origin = `http://localhost:${typeof address === 'object' && address !== null ? address.port : 0}`;
});

afterAll(async () => {
  await browser.close();
  site.closeAllConnections();
  site.close();
  await server.stop();
});

/** Serves the sources as scripts, with their types taken off, and the page at every other path. */
async function openSite(): Promise<Server> {
  const opened = createServer(async (request, response) => {
    const path = request.url ?? '/';
    if (!/\.(?:ts|js)$/.test(path)) return response.setHeader('content-type', 'text/html').end(page);
    const text = await readFile(new URL(`.${path}`, root), 'utf8');
    const script = path.endsWith('.ts') ? stripTypeScriptTypes(text) : text;
    return response.setHeader('content-type', 'text/javascript').end(script);
  });
  await new Promise<void>((resolve) => opened.listen(0, '127.0.0.1', resolve));
  return opened;
}

it('signs in with a redirect of the page, calls the server and keeps the session', async () => {
  const user = await openBrowserFor(owner, browser);
  const tab = await user.context.newPage();
  const loaded = () => tab.waitForFunction(() => globalThis.core !== undefined);
  const facts = { serverUrl: server.resource, redirectUri: `${origin}/callback` };

  await tab.goto(origin);
  await loaded();
  const url = await tab.evaluate(async ({ serverUrl, redirectUri }) => {
    const { createClient, createWebStore } = globalThis.core;
    const store = createWebStore({ storage: localStorage, locks: navigator.locks });
    return createClient({ serverUrl, store }).begin({ redirectUri });
  }, facts);
  expect(new URL(url).origin).toBe(server.url);

  const answer = await user.authorize(url);
  await tab.goto(answer.href);
  await loaded();
  const called = await tab.evaluate(async ({ serverUrl }) => {
    const { createClient, createWebStore } = globalThis.core;
    const store = createWebStore({ storage: localStorage, locks: navigator.locks });
    const client = createClient({ serverUrl, store });
    const session = await client.complete(location.href);
    const again = await client
      .complete(location.href)
      .catch((error: unknown) => (error as { code?: string }).code);
    const response = await client.fetch(serverUrl, {
      method: 'POST',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'whoami', arguments: {} },
      }),
    });
    return { session, again, status: response.status, body: await response.text() };
  }, facts);
  expect(called).toMatchObject({
    status: 200,
    again: 'response_rejected',
    session: { issuer: server.url, refreshable: true },
  });

  await tab.goto(origin);
  await loaded();
  const later = await tab.evaluate(async ({ serverUrl }) => {
    const { createClient, createWebStore } = globalThis.core;
    const client = createClient({ serverUrl, store: createWebStore({ storage: localStorage }) });
    return {
      session: await client.session(),
      signedOut: await client.signOut(),
      after: await client.session(),
    };
  }, facts);
  expect(later).toMatchObject({ session: { server: server.resource }, signedOut: 'revoked', after: null });
});
