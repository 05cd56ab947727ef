/** `mcp-remote`, a bridge for stdio-only applications, with a user in Chromium. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchChromium } from '../support/browser.ts';
import { openBrowserFor } from '../support/chromium-user.ts';
import { owner, type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { connectByProxy } from './mcp-remote.ts';

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

it('mcp-remote signs in through the browser, and not again after a restart of both sides', async () => {
  const user = await openBrowserFor(owner, browser);
  {
    await using local = await connectByProxy(server.resource, { folder });
    const url = new URL(await local.authorizationUrl());
    expect(url.searchParams.get('resource')).toBe(server.resource);
    await user.authorize(url);
    const session = await local.session;
    expect(await session.call('whoami')).toMatchObject({ issuer: server.url });
    await session.call('add_note', { text: 'From afar' });
  }
  await server.restart();
  await using local = await connectByProxy(server.resource, { folder });
  const session = await local.session;
  expect(await session.call('list_notes')).toMatchObject({ notes: [{ text: 'From afar' }] });
  expect(local.output()).not.toContain('visiting:');
});

it('mcp-remote speaks the stateless protocol when configured', async () => {
  await using local = await connectByProxy(server.resource, { flags: ['--protocol', 'auto'] });
  const user = await openBrowserFor(owner, browser);
  await user.authorize(await local.authorizationUrl());
  const session = await local.session;
  expect(await session.call('whoami')).toMatchObject({ issuer: server.url });
  await expect.poll(() => local.output()).toContain('2026-07-28');
});

it('mcp-remote reports that the user declined', async () => {
  await using local = await connectByProxy(server.resource);
  const user = await openBrowserFor(owner, browser);
  const failure = expect(local.session).rejects.toThrow();
  const { searchParams } = await user.authorize(await local.authorizationUrl(), 'deny');
  expect(searchParams.get('error')).toBe('access_denied');
  await failure;
  await expect.poll(() => local.output()).toContain('access_denied');
});
