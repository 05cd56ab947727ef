/** Groups with their origin, and what a user or a group may call by which rules: in the API and in the console. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestBackend } from '../../gateway/test/support/backend.ts';
import {
  FILES,
  type Furniture,
  furnish,
  furnishedConfiguration,
  startBackends,
} from './console/furnished.ts';
import { type Visitor, visitConsole } from './console/visitor.ts';
import { call, type Installation, startInstallation } from './installation.ts';

let t: Installation;
let backend: TestBackend;
let furniture: Furniture;
let visitor: Visitor;
let token: string;

beforeAll(async () => {
  backend = await startBackends();
  t = await startInstallation(furnishedConfiguration(backend.url));
  furniture = await furnish(t, backend.url);
  visitor = await visitConsole(t);
  token = await t.machineToken('watcher');
});
afterAll(async () => {
  await t.stop();
  await backend.close();
});

const read = (path: string) => call(t, token, `GET ${path}`);

interface Tool {
  readonly tool: string;
  readonly outcome: string | null;
  readonly because: string | null;
  readonly rules: readonly string[];
}

async function toolsFor(query: Readonly<Record<string, string>>): Promise<readonly Tool[]> {
  const { status, body } = await read(`/policy/access?${new URLSearchParams(query)}`);
  expect(status).toBe(200);
  const items = body['items'] as readonly { readonly server: string; readonly tools: readonly Tool[] }[];
  return items.find(({ server }) => server === FILES)?.tools ?? [];
}

describe('the API', () => {
  it('lists the groups of a user with their origin', async () => {
    const { body } = await read(`/users/${furniture.userId}`);
    expect(body).toMatchObject({
      groups: ['editors'],
      memberships: [{ name: 'editors', origin: 'operator' }],
    });
    expect((await read('/groups')).body).toMatchObject({
      items: [{ name: 'editors', origins: { operator: 1, 'sign-in': 0, scim: 0 } }],
    });
  });

  it('lists what a user, a group and a caller without a token may call, by which rules', async () => {
    const [user, group, none] = [
      await toolsFor({ user: furniture.userId }),
      await toolsFor({ group: 'editors' }),
      await toolsFor({}),
    ];
    expect(user.map(({ tool }) => tool)).toEqual(group.map(({ tool }) => tool));
    for (const { outcome, because, rules } of [...user, ...group, ...none]) {
      expect(outcome === null).toBe(because !== null);
      if (outcome === 'allowed') expect(rules.at(-1)).toContain('servers[0]');
    }
    expect(user.filter(({ outcome }) => outcome !== null)).not.toEqual([]);
    expect(none.filter(({ outcome }) => outcome !== null)).toEqual([]);
  });

  it.each([
    ['both a user and a group', { user: 'ada@example.com', group: 'editors' }, 400],
    ['an unknown user', { user: 'user_none' }, 404],
  ])('refuses %s', async (_what, query, status) => {
    expect((await read(`/policy/access?${new URLSearchParams(query)}`)).status).toBe(status);
  });
});

describe('the console', () => {
  it('shows groups with their origin, and leads to what a group may call and to its members', async () => {
    const { html } = await visitor.open('/admin/groups');
    expect(html).toContain('1 set here');
    expect(html).toContain('/admin/access?group=editors');
    const group = await visitor.open('/admin/access?group=editors');
    expect(group.html).toContain(furniture.email);
    expect(group.html).toContain('What this group may call');
    const unknown = await visitor.open('/admin/access?group=%3Cb%3Enone');
    expect([unknown.status, unknown.html.includes('<b>none')]).toEqual([200, false]);
  });

  it('shows the groups of a user with their origin, and what the user may call', async () => {
    expect((await visitor.open(`/admin/users/${furniture.userId}`)).html).toContain('editors, set here');
    const { html } = await visitor.open(`/admin/access?user=${furniture.userId}`);
    expect(html).toMatch(/servers\[0\]/);
    expect((await visitor.open('/admin/access?user=none')).status).toBe(404);
  });

  it('lists an operator whose role comes from a group among the operators', async () => {
    const ops = await t.machineToken('ops');
    for (const [name, groups] of [
      ['by-group', ['platform']],
      ['no-operator', ['editors']],
    ] as const) {
      const user = { email: `${name}@example.com`, name, groups, role: null };
      expect((await call(t, ops, 'POST /users', user)).status).toBe(201);
    }
    const { html } = await visitor.open('/admin/users?show=operators');
    expect(html).toContain('by-group@example.com');
    expect(html).not.toContain('no-operator@example.com');
    expect((await visitor.open('/admin/users?show=viewers')).html).not.toContain('by-group@example.com');
    const row = /by-group@example\.com.*?<\/tr>/s.exec((await visitor.open('/admin/users')).html)?.[0];
    expect(row).toContain('Operator');
  });
});
