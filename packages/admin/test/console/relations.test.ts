/** The drawings and plots of the pages of a user, an app, a connection and a server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestBackend } from '../../../gateway/test/support/backend.ts';
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

describe('a drawing of relations', () => {
  const node = (id: string) => ({ id, label: id, href: null });

  it('has each end once, cuts long names, and says how many it leaves out', () => {
    const relations = Array.from({ length: 20 }, (_, index): Relation => {
      return { user: node(`user ${index} with a very long name`), app: node('app'), server: node('server') };
    });
    const markup = String(relationsDrawing('all', [...relations, ...relations]));
    expect(markup.match(/<rect/g)).toHaveLength(14);
    expect(markup).toContain('8 more are not drawn');
    expect(markup).toContain('user 0 with a very l…');
  });

  it('an app that acts for itself has no user', () => {
    const markup = String(relationsDrawing('one', [{ user: null, app: node('bot'), server: node('s') }]));
    expect(markup.match(/<rect/g)).toHaveLength(2);
  });
});
