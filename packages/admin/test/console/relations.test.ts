/** The drawings and plots of the pages of a user, an app, a connection and a server. */

import { createOptionReport, readOption } from '@portcullis/authorization-server/options';
import { defineServers, serversSchema } from '@portcullis/gateway/options';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestBackend } from '../../../gateway/test/support/backend.ts';
import { permissionsOf } from '../../src/console/names.ts';
import { permissionTags } from '../../src/console/relations/grant-relations.ts';
import { type Relation, relationsDrawing } from '../../src/console/relations/relations.ts';
import { type Installation, startInstallation } from '../installation.ts';
import { FILES, type Furniture, furnish, furnishedConfiguration, startBackends } from './furnished.ts';
import { type Visitor, visitConsole } from './visitor.ts';

let t: Installation;
let backend: TestBackend;
let thing: Furniture;
let visitor: Visitor;
beforeAll(async () => {
  backend = await startBackends();
  t = await startInstallation(furnishedConfiguration(backend.url));
  thing = await furnish(t, backend.url);
  visitor = await visitConsole(t, 'viewer');
});
afterAll(async () => {
  await t.stop();
  await backend.close();
});

const drawingIn = (html: string) => /<div class="drawing".*?<\/div>/s.exec(html)?.[0] ?? '';
const links = () => ({
  user: `href="/admin/users/${thing.userId}"`,
  app: `href="/admin/app?id=${thing.clientId}"`,
  server: 'href="/admin/server?path=%2Ffiles"',
});

describe('the page of', () => {
  it.each([
    ['a user', (): string => `/admin/users/${thing.userId}`, ['app', 'server']],
    ['an app', (): string => `/admin/app?id=${thing.clientId}`, ['user', 'server']],
    ['a connection', (): string => `/admin/connections/${thing.grantId}`, ['user', 'app', 'server']],
    ['a server', (): string => `/admin/server?path=${FILES}`, ['user', 'app']],
  ] as const)(
    '%s draws who has access to what, each box a link, and plots its calls',
    async (_what, path, ends) => {
      const { html } = await visitor.open(path());
      for (const end of ends) expect(drawingIn(html)).toContain(links()[end]);
      expect(html.match(/data-plot/g)).toHaveLength(2);
      expect(html).toMatch(/Allowed<\/span> <b data-value>1<\/b>/);
      expect(html).toMatch(/Refused<\/span> <b data-value>1<\/b>/);
    },
  );

  it('a user without connections has a sentence in place of the drawing', async () => {
    const other = await furnish(t, backend.url);
    await t.onStore((store) => store.revokeGrant(other.grantId, Math.floor(Date.now() / 1000)));
    const { html } = await visitor.open(`/admin/users/${other.userId}`);
    expect([drawingIn(html), html.includes('No app has access')]).toEqual(['', true]);
  });
});

it('apps of the same name are told apart by the end of their identifiers', async () => {
  const other = await furnish(t, backend.url);
  const { html } = await visitor.open(`/admin/server?path=${FILES}`);
  for (const { clientId } of [thing, other]) {
    const name = `Claude …${clientId.slice(-6)}`;
    expect(drawingIn(html)).toContain(name);
    expect(html.split('Callers of the last day')[1]).toContain(name);
  }
});

it.each(['/admin', '/admin/approvals'])(
  'a viewer is not asked to decide about calls at %s, and an operator is',
  async (path) => {
    const labelsFor = async (role: 'viewer' | 'operator') => {
      const { html } = await (await visitConsole(t, role)).open(path);
      return [html.includes('>Decide<'), html.includes('>Show<')];
    };
    expect(await labelsFor('operator')).toEqual([true, false]);
    expect(await labelsFor('viewer')).toEqual([false, true]);
  },
);

it('scopes are described at a server that merges others, and a row has at most nine of them', () => {
  const report = createOptionReport([]);
  const written = readOption(
    serversSchema(),
    [
      { path: '/wiki', backend: { url: 'http://127.0.0.1:9' }, scopes: { 'wiki:read': 'Read pages' } },
      { path: '/hr', name: 'HR', backend: { url: 'http://127.0.0.1:9' } },
      { path: '/all', merges: { wiki: '/wiki', hr: '/hr' } },
    ],
    ['servers'],
    report,
  );
  const servers = defineServers(written, { publicUrl: 'https://a.example', folder: '/' }, report);
  const permission = permissionsOf({ servers: () => servers });
  const resources = ['https://a.example/all'];
  expect(['wiki:read', 'hr:read', 'gone'].map((scope) => permission(scope, resources))).toEqual([
    'Read pages',
    'Use the tools of HR that only read',
    'gone',
  ]);
  const tagsOf = (count: number) =>
    String(permissionTags({ scopes: Array.from({ length: count }, String), resources }, permission));
  expect(tagsOf(9).match(/class="tag"/g)).toHaveLength(9);
  expect(tagsOf(9)).not.toContain('more');
  expect(tagsOf(32)).toContain('24 more');
});

describe('a drawing of relations', () => {
  const node = (id: string) => ({ id, label: id, href: null });

  it('has each end once, cuts long names, and says how many it leaves out', () => {
    const relations = Array.from({ length: 20 }, (_, index): Relation => {
      return { user: node(`user ${index} with a very long name`), app: node('app'), server: node('server') };
    });
    const markup = String(relationsDrawing('all', [...relations, ...relations]));
    expect(markup.match(/<rect/g)).toHaveLength(14);
    expect(markup).toContain('8 more are not drawn');
    expect(markup).toContain('>user 0 with a ver…<');
    const named = { ...node('a'), label: 'Visual Studio Code …k3J9xQ' };
    expect(String(relationsDrawing('one', [{ user: null, app: named, server: node('s') }]))).toContain(
      '>Visual Stu… …k3J9xQ<',
    );
  });

  it('an app that acts for itself has no user', () => {
    const markup = String(relationsDrawing('one', [{ user: null, app: node('bot'), server: node('s') }]));
    expect(markup.match(/<rect/g)).toHaveLength(2);
  });
});
