/** Texts that others choose (names of apps, users, groups, tools, browsers, notes): no page runs them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestBackend } from '../../../gateway/test/support/backend.ts';
import { consoleRoutes } from '../../src/console/routes.ts';
import { type Installation, startInstallation } from '../installation.ts';
import { type ChosenTexts, furnish, furnishedConfiguration, startBackends } from './furnished.ts';
import { NO_PAGES, samplesFor } from './samples.ts';
import { type Visitor, visitConsole } from './visitor.ts';

const hostile = (name: string) =>
  `\u202e"'><img src=x onerror=alert(1)>${name}</pre></title><script>alert(2)</script>`;

const TEXTS: ChosenTexts = {
  app: hostile('app'),
  user: hostile('user'),
  group: hostile('group'),
  scope: hostile('scope'),
  browser: hostile('browser'),
  tool: hostile('tool'),
  description: hostile('description'),
  argument: hostile('argument'),
  note: hostile('note'),
};

let t: Installation;
let backend: TestBackend;
let visitor: Visitor;
let samples: ReturnType<typeof samplesFor>;
beforeAll(async () => {
  backend = await startBackends();
  t = await startInstallation(furnishedConfiguration(backend.url));
  samples = samplesFor(await furnish(t, backend.url, TEXTS), new URL(backend.url).origin);
  visitor = await visitConsole(t);
});
afterAll(async () => {
  await t.stop();
  await backend.close();
});

const pages = consoleRoutes
  .filter(({ method, path }) => method === 'GET' && !NO_PAGES.includes(path))
  .map(({ path }) => path);

describe('texts that others choose', () => {
  it.each(pages)('are escaped on %s', async (route) => {
    const { html, status } = await visitor.open(samples[route]?.path ?? '');
    expect(status).toBe(200);
    expect(html).not.toContain('<img src=x');
    expect(html).not.toContain('<script>alert');
    expect(html).not.toMatch(/="[^"]*"'>/);
  });

  it.each([
    ['app', '/admin/apps'],
    ['app', '/admin/app'],
    ['app', '/admin/connections/{grantId}'],
    ['user', '/admin/users/{userId}'],
    ['group', '/admin/users/{userId}'],
    ['scope', '/admin/users/{userId}'],
    ['browser', '/admin/users/{userId}'],
    ['app', '/admin/activity/sequence'],
    ['tool', '/admin/activity/sequence'],
    ['app', '/admin/activity/events/{eventId}'],
    ['tool', '/admin/activity/events/{eventId}'],
    ['tool', '/admin/server'],
    ['description', '/admin/server'],
    ['description', '/admin/approvals/{approvalId}'],
    ['argument', '/admin/approvals/{approvalId}'],
    ['note', '/admin/settings'],
  ])('are shown as text: that of the %s on %s', async (name, route) => {
    const { html } = await visitor.open(samples[route]?.path ?? '');
    expect(html).toContain(`&lt;img src=x onerror=alert(1)&gt;${name}`);
  });

  it.each(['/admin/server', '/admin/server/review', '/admin/approvals/{approvalId}'])(
    'show each character that is not seen on %s',
    async (route) => {
      const { html } = await visitor.open(samples[route]?.path ?? '');
      expect(html).toContain('&lt;U+202E&gt;');
      expect(html.replaceAll(/<bdi>.*?<\/bdi>|href="[^"]*"/g, '')).not.toContain('\u202e');
    },
  );

  it.each([
    '/admin/users?q=',
    '/admin/apps?q=',
    '/admin/policy?server=/files&tool=',
    '/admin/users?done=',
    '/admin/server?path=',
  ])('are escaped in the address %s', async (path) => {
    const { html } = await visitor.open(`${path}${encodeURIComponent(hostile('address'))}`);
    expect(html).not.toContain('<img src=x');
  });
});
