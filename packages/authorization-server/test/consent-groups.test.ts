/** Consent for many permissions: groups by what they allow, one switch each, and what the server makes of the switches. */
import { describe, expect, it } from 'vitest';
import { chosenScopes } from '../src/consent/permission-groups.ts';
import type { AuthorizationServerOptions } from '../src/index.ts';
import { claimsOf, RESOURCES, redemption } from './server-under-test.ts';
import { requestOf, type Scene, type Sight, setScene, textOf, VERIFIER } from './visitor.ts';

const ARCHIVE: AuthorizationServerOptions['resources'][number] = {
  resource: 'https://mcp.example/archive',
  name: 'Archive',
  scopes: {
    'maps:read': 'Read maps',
    'maps:write': 'Draw maps',
    'maps:delete': 'Delete maps',
    'scores:read': '<b>Read</b> scores',
    'scores:write': 'Write scores',
    members: 'Invite members',
    'members:admin': 'Manage members',
  },
  requiredScopes: ['maps:read'],
};
const ALL = Object.keys(ARCHIVE.scopes);

async function openArchive(scope = ALL.join(' ')): Promise<Scene & { readonly consent: Sight }> {
  const t = await setScene({ resources: [...RESOURCES, ARCHIVE] });
  const consent = await t.visitor.signIn(requestOf({ resource: ARCHIVE.resource, scope }));
  return { ...t, consent };
}

async function scopesGranted(t: Scene, { left }: Sight): Promise<unknown> {
  const form = redemption(left?.searchParams.get('code') ?? '', VERIFIER, 'web');
  const { body } = await t.post('/token', { ...form, client_secret: 'web-secret' });
  return claimsOf(body['access_token'])['scope'];
}

describe('consent for many permissions', () => {
  it('is grouped by read, change and delete, with a count, the first words and a switch for each group', async () => {
    const { consent } = await openArchive();
    expect(textOf(consent)).toMatch(
      /Read 2 permissions · Read maps · <b>Read<\/b> scores .*Change 3 permissions · Draw maps · .*Delete and manage Allow only if you need it · 2 permissions · Delete maps · Manage members/,
    );
    expect(consent.html).not.toContain('<b>Read');
    const switches = [...consent.html.matchAll(/name="group" value="(\w+)"( checked)?/g)];
    expect(switches.map(([, group, on]) => [group, on !== undefined])).toEqual([
      ['read', true],
      ['change', true],
      ['destroy', false],
    ]);
  });

  it('is not grouped up to five permissions', async () => {
    const { consent } = await openArchive(ALL.slice(0, 5).join(' '));
    expect(consent.html).not.toContain('name="group"');
  });

  it('grants what reads and changes, and nothing that destroys, when the user changes nothing', async () => {
    const t = await openArchive();
    const back = await t.visitor.submit(t.consent, { decision: 'allow' });
    expect(await scopesGranted(t, back)).toBe('maps:read maps:write scores:read scores:write members');
  });

  it('grants what destroys once its group is switched on, less what is switched off in it', async () => {
    const t = await openArchive();
    const back = await t.visitor.submit(t.consent, {
      decision: 'allow',
      group: ['read', 'destroy'],
      scope: ALL.filter((scope) => scope !== 'members:admin'),
    });
    expect(await scopesGranted(t, back)).toBe('maps:read maps:delete scores:read');
  });

  it('asks again with the switches as they were when no permission is on, and grants nothing', async () => {
    const t = await openArchive(ALL.slice(1).join(' '));
    const before = t.snapshot();
    const again = await t.visitor.submit(t.consent, { decision: 'allow', group: undefined });
    expect([again.status, again.left, t.snapshot()]).toEqual([400, null, before]);
    expect(textOf(again)).toContain('Turn on at least one, or choose Cancel.');
    expect(again.html).not.toMatch(/name="group" value="\w+" checked/);
    const back = await t.visitor.submit(again, { decision: 'allow', group: 'read' });
    expect(await scopesGranted(t, back)).toBe('scores:read');
  });

  it('T068: rejects a form with a group that the page does not have, or without a required permission', async () => {
    const t = await openArchive();
    const before = t.snapshot();
    for (const fields of [{ group: ['read', 'everything'] }, { scope: ALL.slice(1) }]) {
      const sight = await t.visitor.submit(t.consent, { decision: 'allow', ...fields });
      expect([sight.status, sight.left, t.snapshot()]).toEqual([400, null, before]);
    }
    const back = await t.visitor.submit(t.consent, { decision: 'allow', group: undefined });
    expect(await scopesGranted(t, back)).toBe('maps:read');
  });
});

describe('the scopes that a form chooses', () => {
  const permission = (scope: string, access: 'read' | 'write' | 'delete', isOptional = true) => ({
    scope,
    access,
    isOptional,
    isExtra: false,
  });
  const many = [
    permission('a', 'read', false),
    permission('b', 'read'),
    permission('c', 'write'),
    permission('d', 'write'),
    permission('e', 'delete'),
    permission('f', 'delete', false),
  ];
  it.each([
    ['those of a group that is on', many, ['a', 'b', 'f'], ['read'], ['a', 'b', 'f']],
    ['required ones only in a group that is off', many, ['a', 'b', 'c', 'f'], [], ['a', 'f']],
    ['all that it names on a page without groups', many.slice(0, 5), ['a', 'e'], [], ['a', 'e']],
    ['no decision with an unknown group', many, ['a'], ['write'], null],
    ['no decision with a group on a page without groups', many.slice(0, 5), ['a'], ['read'], null],
  ])('the scopes that a form chooses are %s', (_description, requested, scopes, groups, expected) => {
    expect(chosenScopes(requested, { scopes, groups })).toEqual(expected);
  });
});
