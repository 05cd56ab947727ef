/** PATCH and PUT: the examples of RFC 7644, random operations against a naive model, and requests as services document them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyPatch, readPatch } from '../src/scim/patch.ts';
import { RESOURCE_TYPES } from '../src/scim/schema.ts';
import { GROUP, PATCH, setScimScene, USER } from './scim-scene.ts';

type Json = Readonly<Record<string, unknown>>;

const [userType, groupType] = RESOURCE_TYPES;
if (userType === undefined || groupType === undefined) throw new Error('there are two types');

const patched = (before: Json, ...operations: readonly Json[]) =>
  applyPatch(before, readPatch({ schemas: [PATCH], Operations: operations }, userType), userType).attributes;

const work = { value: 'bjensen@example.com', type: 'work', primary: true };
const home = { value: 'babs@jensen.example', type: 'home' };
const babs: Json = { userName: 'bjensen', displayName: 'Babs', emails: [work, home], active: true };

describe('a PATCH request of a user', () => {
  it.each<[string, Json, Json]>([
    // RFC 7644 §3.5.2.1
    [
      'adds without a path',
      { op: 'add', value: { emails: [{ value: 'new@example.com', type: 'other' }], nickName: 'Babs' } },
      { ...babs, emails: [work, home, { value: 'new@example.com', type: 'other' }] },
    ],
    ['[SCIM-PATCH-3] adds nothing that is there', { op: 'add', path: 'emails', value: [home] }, babs],
    [
      '[SCIM-PATCH-6] adds a value that becomes the primary one',
      { op: 'add', path: 'emails', value: { value: 'x', primary: true } },
      { ...babs, emails: [{ ...work, primary: false }, home, { value: 'x', primary: true }] },
    ],
    [
      'adds sub-attributes',
      { op: 'add', path: 'name', value: { familyName: 'Jensen' } },
      { ...babs, name: { familyName: 'Jensen' } },
    ],
    [
      'adds a sub-attribute',
      { op: 'add', path: 'name.givenName', value: 'Barbara' },
      { ...babs, name: { givenName: 'Barbara' } },
    ],
    [
      'adds a value that a filter describes',
      { op: 'add', path: 'emails[type eq "other"].value', value: 'x@y.example' },
      { ...babs, emails: [work, home, { type: 'other', value: 'x@y.example' }] },
    ],
    [
      '[SCIM-PATCH-12] adds the value of a single-valued attribute in place of the one that is there',
      { op: 'add', path: 'displayName', value: 'Barbara' },
      { ...babs, displayName: 'Barbara' },
    ],
    // §3.5.2.2
    [
      'removes values that meet a filter',
      { op: 'remove', path: 'emails[type eq "work" and value ew "example.com"]' },
      { ...babs, emails: [home] },
    ],
    [
      '[SCIM-PATCH-11] removes an attribute whose last value goes',
      { op: 'remove', path: 'emails[value pr]' },
      { userName: 'bjensen', displayName: 'Babs', active: true },
    ],
    [
      'removes an attribute',
      { op: 'remove', path: 'displayName' },
      { userName: 'bjensen', emails: [work, home], active: true },
    ],
    [
      'removes a sub-attribute of each value',
      { op: 'remove', path: 'emails.type' },
      { ...babs, emails: [{ value: work.value, primary: true }, { value: home.value }] },
    ],
    ['removes what is not there', { op: 'remove', path: 'name.familyName' }, babs],
    // §3.5.2.3
    ['replaces all values', { op: 'replace', path: 'emails', value: [home] }, { ...babs, emails: [home] }],
    [
      'replaces members of a value',
      { op: 'replace', path: 'emails[type eq "work"]', value: { value: 'x' } },
      { ...babs, emails: [{ ...work, value: 'x' }, home] },
    ],
    [
      'replaces a sub-attribute of a value',
      { op: 'replace', path: 'emails[type eq "work"].value', value: 'x' },
      { ...babs, emails: [{ ...work, value: 'x' }, home] },
    ],
    [
      '[SCIM-PATCH-9] replaces what is not there as if it were added',
      { op: 'replace', path: 'name', value: { givenName: 'Barbara' } },
      { ...babs, name: { givenName: 'Barbara' } },
    ],
    [
      'replaces without a path',
      { op: 'replace', value: { emails: [home], displayName: 'B' } },
      { ...babs, emails: [home], displayName: 'B' },
    ],
    [
      'replaces by a path with the URN of the schema',
      { op: 'replace', path: `${USER}:displayName`, value: 'B' },
      { ...babs, displayName: 'B' },
    ],
    [
      'unassigns by null',
      { op: 'replace', path: 'displayName', value: null },
      { userName: 'bjensen', emails: [work, home], active: true },
    ],
    [
      'ignores what the schema does not have',
      {
        op: 'add',
        path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department',
        value: 'Tour',
      },
      babs,
    ],
    [
      'ignores a member that every object inherits',
      { op: 'add', value: { constructor: 'x', toString: 'y' } },
      babs,
    ],
  ])('%s', (_title, operation, expected) => {
    const before = structuredClone(babs);
    expect(patched(babs, operation)).toEqual(expected);
    expect(babs).toEqual(before);
  });

  it('[SCIM-PATCH-1 SCIM-PATCH-2 SCIM-PATCH-4 SCIM-PATCH-5 SCIM-PATCH-8] is refused as a whole, and changes nothing', async () => {
    const t = await setScimScene();
    const { active: _active, ...given } = babs;
    const id = await t.service.addUser('bjensen', given);
    const group = await t.service.addGroup('Tour', [id]);
    const before = t.snapshot();
    const first = { op: 'replace', path: 'displayName', value: 'Changed' };
    const refused: readonly (readonly [unknown, number, string?])[] = [
      [{ op: 'remove' }, 400, 'noTarget'],
      [{ op: 'remove', path: 'userName' }, 400, 'mutability'],
      [{ op: 'replace', path: 'userName', value: '' }, 400, 'mutability'],
      [{ op: 'replace', path: 'id', value: 'mine' }, 400, 'mutability'],
      [{ op: 'add', path: 'groups', value: [{ value: group }] }, 400, 'mutability'],
      [{ op: 'replace', path: 'emails[type eq "fax"].value', value: 'x' }, 400, 'noTarget'],
      [{ op: 'add', path: 'emails[value sw "x"].type', value: 'x' }, 400, 'noTarget'],
      [{ op: 'add', path: 'emails[type eq "work"', value: 'x' }, 400, 'invalidPath'],
      [{ op: 'add', path: 'emails[type is 3].value', value: 'x' }, 400, 'invalidFilter'],
      [{ op: 'add', path: '1st', value: 'x' }, 400, 'invalidPath'],
      [{ op: 'add', path: 'displayName[value pr]', value: 'x' }, 400, 'invalidPath'],
      [{ op: 'add', path: 'displayName.value', value: 'x' }, 400, 'invalidPath'],
      [{ op: 'add', path: 7, value: 'x' }, 400, 'invalidPath'],
      [{ op: 'move', path: 'displayName', value: 'x' }, 400, 'invalidSyntax'],
      [{ op: 'add', path: 'displayName' }, 400, 'invalidValue'],
      [{ op: 'add', path: 'displayName', value: 7 }, 400, 'invalidValue'],
      [{ op: 'add', value: 'x' }, 400, 'invalidSyntax'],
      [{ op: 'replace', path: 'active', value: 'perhaps' }, 400, 'invalidValue'],
      ['add', 400, 'invalidSyntax'],
    ];
    for (const [operation, status, scimType] of refused) {
      const body = { schemas: [PATCH], Operations: [first, operation] };
      const response = await t.service.send('PATCH', `/Users/${id}`, body);
      expect([operation, response.status, response.body['scimType']]).toEqual([operation, status, scimType]);
    }
    for (const body of [{ schemas: [PATCH], Operations: [] }, { Operations: [first] }, { schemas: [PATCH] }])
      expect((await t.service.send('PATCH', `/Users/${id}`, body)).body).toMatchObject({
        scimType: 'invalidSyntax',
      });
    expect(t.snapshot()).toBe(before);
    expect((await t.service.patch(`/Users/${id}`, first)).body).toMatchObject({ displayName: 'Changed' });
  });

  it('keeps the version if nothing changes', async () => {
    const { service } = await setScimScene();
    const id = await service.addUser('ada', { displayName: 'Ada' });
    const { headers } = await service.patch(`/Users/${id}`, { op: 'add', path: 'displayName', value: 'Ada' });
    expect(headers.get('etag')).toBe('W/"1"');
  });

  it('[SCIM-PATCH-10] replaces the sub-attributes that are named, and no others', () => {
    const name = { familyName: 'Jensen', givenName: 'Barbara' };
    const operation = { op: 'replace', path: 'name', value: { familyName: 'Smith' } };
    expect(patched({ ...babs, name }, operation)).toEqual({
      ...babs,
      name: { ...name, familyName: 'Smith' },
    });
  });

  it('leaves what a naive model leaves, for random operations', () => {
    const names = fc.constantFrom('a', 'b', 'c');
    const types = fc.constantFrom('work', 'home');
    const email = fc.record({ value: names, type: types });
    const operation = fc.oneof(
      fc.record({ kind: fc.constant('set' as const), value: names }),
      fc.record({ kind: fc.constant('unset' as const) }),
      fc.record({
        kind: fc.constant('append' as const),
        emails: fc.array(email, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ kind: fc.constant('drop' as const), type: types }),
      fc.record({ kind: fc.constant('rename' as const), type: types, value: names }),
      fc.record({ kind: fc.constant('all' as const), emails: fc.array(email, { maxLength: 3 }) }),
    );
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1, maxLength: 8 }), (operations) => {
        let shown: string | undefined;
        let emails: readonly { value: string; type: string }[] = [];
        const sent = operations.flatMap((one): Json[] => {
          switch (one.kind) {
            case 'set':
              shown = one.value;
              return [{ op: 'replace', path: 'displayName', value: one.value }];
            case 'unset':
              shown = undefined;
              return [{ op: 'remove', path: 'displayName' }];
            case 'append': {
              const known = emails;
              const isNew = (a: { value: string; type: string }) =>
                !known.some((b) => a.value === b.value && a.type === b.type);
              emails = [...known, ...one.emails.filter(isNew)];
              return [{ op: 'Add', path: 'emails', value: one.emails }];
            }
            case 'drop':
              emails = emails.filter(({ type }) => type !== one.type);
              return [{ op: 'remove', path: `emails[type eq "${one.type}"]` }];
            case 'rename': {
              const isThere = emails.some(({ type }) => type === one.type);
              if (!isThere) emails = [...emails, { type: one.type, value: one.value }];
              emails = emails.map((e) => (e.type === one.type ? { ...e, value: one.value } : e));
              return [{ op: 'add', path: `emails[type eq "${one.type}"].value`, value: one.value }];
            }
            default:
              emails = one.emails;
              return [{ op: 'replace', path: 'emails', value: one.emails }];
          }
        });
        expect(patched({ userName: 'u' }, ...sent)).toEqual({
          userName: 'u',
          ...(shown !== undefined && { displayName: shown }),
          ...(emails.length > 0 && { emails }),
        });
      }),
    );
  });
});

describe('a PATCH request of a group', () => {
  it('collects what a set of members would have, for random operations', () => {
    const ids = fc.uniqueArray(fc.constantFrom<string>('a', 'b', 'c', 'd'), { minLength: 1 });
    const operation = fc.record({ op: fc.constantFrom('add', 'remove', 'replace', 'clear'), ids });
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1, maxLength: 8 }), ids, (operations, before) => {
        let model = new Set(before);
        const sent = operations.map(({ op, ids: values }): Json => {
          if (op === 'clear' || op === 'replace') model = new Set(op === 'clear' ? [] : values);
          for (const id of values) {
            if (op === 'add') model.add(id);
            if (op === 'remove') model.delete(id);
          }
          if (op === 'clear') return { op: 'remove', path: 'members' };
          if (op === 'remove')
            return { op, path: `members[${values.map((id) => `value eq "${id}"`).join(' or ')}]` };
          return { op, path: 'members', value: values.map((value) => ({ value })) };
        });
        const { members } = applyPatch(
          { displayName: 'g' },
          readPatch({ schemas: [PATCH], Operations: sent }, groupType),
          groupType,
        );
        const after = new Set(members.clear ? [] : before);
        for (const id of members.remove) after.delete(id);
        for (const id of members.add) after.add(id);
        expect([...after].toSorted()).toEqual([...model].toSorted());
      }),
    );
  });

  it('[SCIM-GROUP-1 SCIM-PATCH-7] adds and removes members, and responds with attributes if asked', async () => {
    const { service } = await setScimScene();
    const [ada, bob] = [await service.addUser('ada'), await service.addUser('bob')];
    const group = await service.addGroup('Tour', [ada]);
    const path = `/Groups/${group}`;
    const added = await service.patch(path, {
      op: 'add',
      path: 'members',
      value: [{ value: bob }, { value: ada }],
    });
    expect([added.status, added.headers.get('etag')]).toEqual([204, 'W/"2"']);
    // Members are in the order of their identifiers, which are random within a millisecond.
    const [first, second] = [ada, bob].toSorted();
    expect((await service.send('GET', path)).body).toMatchObject({
      members: [{ value: first }, { value: second }],
    });
    const removed = await service.patch(`${path}?attributes=members`, {
      op: 'remove',
      path: `members[value eq "${ada}"]`,
    });
    expect([removed.status, removed.body]).toMatchObject([
      200,
      { members: [{ value: bob, display: 'bob', type: 'User' }] },
    ]);
    const changed = { op: 'replace', path: `members[value eq "${bob}"].display`, value: 'Robert' };
    expect((await service.patch(path, changed)).body).toMatchObject({ scimType: 'mutability' });
  });

  it('refuses more members than one transaction changes', async () => {
    const t = await setScimScene();
    const group = await t.service.addGroup('Tour');
    const before = t.snapshot();
    const value = Array.from({ length: 5001 }, (_, n) => ({ value: `u${n}` }));
    expect((await t.service.patch(`/Groups/${group}`, { op: 'add', path: 'members', value })).status).toBe(
      413,
    );
    expect(t.snapshot()).toBe(before);
  });
});

describe('PUT', () => {
  it('[SCIM-PUT-1 SCIM-PUT-2 SCIM-PUT-3] replaces what is writable, and creates nothing', async () => {
    const t = await setScimScene();
    const id = await t.service.addUser('bjensen', { displayName: 'Babs', emails: [work] });
    const whole = {
      schemas: [USER],
      id: 'mine',
      userName: 'bjensen',
      emails: [home],
      meta: {},
      groups: [{ value: 'x' }],
    };
    const { status, body } = await t.service.send('PUT', `/Users/${id}`, whole);
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, userName: 'bjensen', emails: [home], active: true });
    expect(body).not.toHaveProperty('displayName');
    expect(body).not.toHaveProperty('groups');
    const before = t.snapshot();
    expect((await t.service.send('PUT', '/Users/scim_none', whole)).status).toBe(404);
    const unnamed = await t.service.send('PUT', `/Users/${id}`, { ...whole, userName: null });
    expect([unnamed.status, unnamed.body['scimType']]).toEqual([400, 'invalidValue']);
    expect(t.snapshot()).toBe(before);
  });

  it('of a group replaces its members', async () => {
    const { service } = await setScimScene();
    const [ada, bob] = [await service.addUser('ada'), await service.addUser('bob')];
    const group = await service.addGroup('Tour', [ada]);
    const whole = { schemas: [GROUP], displayName: 'Tour', members: [{ value: bob }] };
    expect((await service.send('PUT', `/Groups/${group}`, whole)).body).toMatchObject({
      members: [{ value: bob }],
    });
  });
});

it('each operation by SCIM that changes a user or a group leaves an event', async () => {
  const t = await setScimScene();
  const { service } = t;
  const user = await service.addUser('ada');
  const group = await service.addGroup('leads');
  await service.patch(`/Groups/${group}`, { op: 'add', path: 'members', value: [{ value: user }] });
  await service.send('PUT', `/Groups/${group}`, { schemas: [GROUP], displayName: 'editors' });
  await service.patch(`/Users/${user}`, { op: 'replace', path: 'active', value: false });
  await service.send('DELETE', `/Groups/${group}`);
  await service.send('DELETE', `/Users/${user}`);
  const types = t.events.map(({ type }) => type).filter((type) => /^scim\.(user|group)/.test(type));
  expect(types).toEqual([
    ...['scim.user_created', 'scim.group_created', 'scim.group_changed', 'scim.group_changed'],
    ...['scim.user_changed', 'scim.group_removed', 'scim.user_removed'],
  ]);
});
