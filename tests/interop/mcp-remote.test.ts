/** `mcp-remote`, which lets applications that only start local servers use a protected one, and a person in Chromium. */
import '../support/foreign-packages.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchChromium } from '../support/browser.ts';
import { openBrowserFor } from '../support/chromium-person.ts';
import { owner, type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { type Session, sessionOf } from './sdks.ts';

const proxy = join(createRequire(import.meta.url).resolve('mcp-remote/package.json'), '../dist/proxy.js');

let server: Portcullis;
let browser: Browser;
let folder: string;

beforeAll(async () => {
  [server, browser, folder] = await Promise.all([
    startPortcullis(),
    launchChromium(),
    mkdtemp(join(tmpdir(), 'portcullis-mcp-remote-')),
  ]);
});

afterAll(async () => {
  await Promise.all([browser.close(), server.stop()]);
  await rm(folder, { recursive: true, force: true });
});

interface Local {
  readonly session: Promise<Session>;
  /** The authorization URL that mcp-remote shows and opens. */
  readonly authorizationUrl: Promise<string>;
  output(): string;
}

/** A local application that starts mcp-remote. The browser that it opens is one that does nothing. */
function connectLocally(...flags: readonly string[]): Local {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [proxy, server.resource, ...flags],
    env: { MCP_REMOTE_CONFIG_DIR: folder, BROWSER: 'true' },
    stderr: 'pipe',
  });
  let output = '';
  const authorizationUrl = new Promise<string>((resolve) => {
    transport.stderr?.on('data', (chunk: Buffer) => {
      output += String(chunk);
      const url = /visiting:\s+(http\S+)\n/.exec(output)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
  const client = new Client({ name: 'local', version: '1.0.0' });
  const session = client.connect(transport).then(() => sessionOf(client));
  return { session, authorizationUrl, output: () => output };
}

it('signs in through the browser that it opens, and not again after a restart of either side', async () => {
  const person = await openBrowserFor(owner, browser);
  const first = connectLocally();
  const url = new URL(await first.authorizationUrl);
  expect(url.searchParams.get('resource')).toBe(server.resource);
  await person.authorize(url);
  const session = await first.session;
  expect(await session.call('whoami')).toMatchObject({ issuer: server.url });
  await session.call('add_note', { text: 'From afar' });
  await session.close();

  await server.restart();
  const second = connectLocally();
  const again = await second.session;
  expect(await again.call('list_notes')).toMatchObject({ notes: [{ text: 'From afar' }] });
  await again.close();
  expect(second.output()).not.toContain('Please authorize');
});

it('speaks the stateless protocol when it is told to look for it', async () => {
  const { session, authorizationUrl } = connectLocally('--protocol', 'auto', '--resource', server.resource);
  const person = await openBrowserFor(owner, browser);
  await person.authorize(await authorizationUrl);
  expect(await (await session).call('whoami')).toMatchObject({ issuer: server.url });
  await (await session).close();
});
