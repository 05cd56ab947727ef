/** The review of tools: what waits at one server neither hides nor delays what waits at another. */
import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareLines } from '../src/operations/compare-lines.ts';
import { visitConsole } from './console/visitor.ts';
import { call, type Installation, startInstallation } from './installation.ts';

const listOf = (server: string) => ({
  server,
  backend: `http://backend.example${server}`,
  kind: 'tool' as const,
});

function definitionOf(name: string, description: string) {
  const definition = JSON.stringify({ name, description, inputSchema: { type: 'object' } });
  return { name, definition, hash: hash('sha256', definition, 'base64url') };
}

describe('the review of tools', () => {
  let t: Installation;
  let ops: string;
  const changed = definitionOf('read', 'Reads a page, and mails it.');

  beforeAll(async () => {
    t = await startInstallation();
    ops = await t.machineToken('ops');
    await t.onStore(async (store) => {
      for (const server of ['/many', '/one']) {
        await store.saveFirstPins(listOf(server), [definitionOf('read', 'Reads a page.')], 1);
        await store.savePendingPin(listOf(server), changed, 2);
      }
      // Its comparison with another one would fail.
      for (const name of ['a', 'b'])
        await store.savePendingPin(listOf('/many'), { name, hash: name, definition: 'no JSON' }, 2);
    });
  });
  afterAll(() => t.stop());

  it('compares the definition that is reviewed, and no other', async () => {
    const visitor = await visitConsole(t);
    const query = new URLSearchParams({ path: '/many', tool: 'read', hash: changed.hash });
    const page = await visitor.open(`/admin/server/review?${query}`);
    expect([page.status, page.html]).toEqual([
      200,
      expect.stringContaining('+   &quot;description&quot;: &quot;Reads a page, and mails it.'),
    ]);
    expect((await visitor.open('/admin/servers')).status).toBe(200);
    expect((await visitor.open('/admin')).html).toContain('3 tools of /many changed or are new');
  });

  it('has pages of what waits, and those of one server behind others', async () => {
    const { body } = await call(t, ops, 'GET /tools/pending?server=/one');
    expect(body).toMatchObject({ items: [{ server: '/one', tool: 'read', hash: changed.hash }], next: null });
    const first = await call(t, ops, 'GET /tools/pending?limit=1&server=/one');
    expect(first.body).toEqual(body);
  });

  it('decides about the definition that is named, and no other', async () => {
    const named = { server: '/one', tool: 'read' };
    expect((await call(t, ops, 'POST /tools/approve', { ...named, hash: 'other' })).status).toBe(409);
    const before = await t.onStore((store) => store.countPendingPins());
    expect(before).toEqual(
      new Map([
        ['/many', 3],
        ['/one', 1],
      ]),
    );
    expect((await call(t, ops, 'POST /tools/approve', { ...named, hash: changed.hash })).status).toBe(200);
    expect(await t.onStore((store) => store.countPendingPins())).toEqual(new Map([['/many', 3]]));
  });
});

describe('a comparison of lines', () => {
  const lines = (text: string) =>
    compareLines(['a', 'same', 'b'], ['c', 'same', 'd'], Number(text)).map(([sign, line]) => sign + line);

  it.each([
    { description: 'alone finds what is in both', among: '1', expect: ['-a', '+c', ' same', '-b', '+d'] },
    {
      description: 'among very many shows all lines as replaced',
      among: '1000000',
      expect: ['-a', '-same', '-b', '+c', '+same', '+d'],
    },
  ])('$description', ({ among, expect: expected }) => {
    expect(lines(among)).toEqual(expected);
  });
});
