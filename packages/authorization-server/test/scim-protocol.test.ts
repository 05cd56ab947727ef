/** The SCIM endpoint: requests of RFC 7644, their refusals, and the border between two connections. */
import { temporarilyUnavailable } from '@portcullis/protocol';
import { describe, expect, it, vi } from 'vitest';
import { createProvisioningTokenAdministration } from '../src/index.ts';
import { createScimSemaphore } from '../src/scim/endpoint.ts';
import { BULK, GROUP, PATCH, SEARCH, setScimScene, USER } from './scim-scene.ts';
import { ISSUER } from './server-under-test.ts';

const BASE = `${ISSUER}/scim/v2`;
const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';
const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

describe('a SCIM request without authority', () => {
  it.each([
    ['without a token', {}, 'Bearer realm="scim"'],
    [
      'with an unknown token',
      { authorization: 'Bearer unknown' },
      'Bearer realm="scim", error="invalid_token"',
    ],
    ['with Basic', { authorization: 'Basic YWRhOmFkYQ==' }, 'Bearer realm="scim"'],
  ])('[SCIM-AUTH-1] is refused %s', async (_case, headers, challenge) => {
    const t = await setScimScene();
    const before = t.snapshot();
    const schemas = [USER];
    const response = await t.server.handle(
      new Request(`${BASE}/Users`, {
        method: 'POST',
        headers: { 'content-type': 'application/scim+json', ...headers } as Record<string, string>,
        body: JSON.stringify({ schemas, userName: 'ada' }),
      }),
    );
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(challenge);
    expect(await response.json()).toMatchObject({ schemas: [ERROR], status: '401' });
    expect(t.snapshot()).toBe(before);
    expect((await t.service.send('POST', '/Users', { schemas, userName: 'ada' })).status).toBe(201);
  });

  it('[SCIM-AUTH-2] is refused with its token in the address', async () => {
    const t = await setScimScene();
    const tokens = createProvisioningTokenAdministration({
      ...t,
      clock: () => t.clock.now,
      events: () => {},
    });
    const { token, note } = await tokens.create('acme', `Okta\0${'x'.repeat(300)}`, 60);
    // What every database can store.
    expect(note).toBe(`Okta${'x'.repeat(195)}`);
    const open = (query: string, headers: Record<string, string>) =>
      t.server.handle(new Request(`${BASE}/Users${query}`, { headers }));
    expect((await open(`?access_token=${token}`, {})).status).toBe(401);
    expect((await open('', { authorization: `Bearer ${token}` })).status).toBe(200);
  });

  it('is refused with an expired, revoked or no longer configured token', async () => {
    const t = await setScimScene();
    expect((await t.service.send('GET', '/Users')).status).toBe(200);
    const tokens = createProvisioningTokenAdministration({
      store: t.store,
      clock: () => t.clock.now,
      events: () => {},
    });
    const acme = (await tokens.list()).find(({ identityProvider }) => identityProvider === 'acme');
    expect(await tokens.revoke(acme?.id ?? '')).toBe(true);
    expect((await t.service.send('GET', '/Users')).status).toBe(401);
    expect((await t.other.send('GET', '/Users')).status).toBe(200);
    t.clock.now += 86_400;
    expect((await t.other.send('GET', '/Users')).status).toBe(401);
    const { token } = await tokens.create('unknown', '', 60);
    const { status } = await t.server.handle(
      new Request(`${BASE}/Users`, { headers: { authorization: `Bearer ${token}` } }),
    );
    expect(status).toBe(401);
  });
});

describe('what a connection reads and changes', () => {
  it('is nothing of another connection: its users and groups are not found', async () => {
    const t = await setScimScene();
    const ada = await t.service.addUser('ada');
    const group = await t.service.addGroup('Engineers', [ada]);
    const own = await t.other.addUser('eve');
    const ownGroup = await t.other.addGroup('Makers', [own]);
    const before = t.snapshot();
    const whole = { schemas: [USER], userName: 'eve' };
    const operation = { op: 'replace', path: 'displayName', value: 'Eve' };
    for (const path of [`/Users/${ada}`, `/Groups/${group}`]) {
      expect((await t.other.send('GET', path)).status).toBe(404);
      expect(
        (await t.other.send('PUT', path, { ...whole, schemas: [USER, GROUP], displayName: 'E' })).status,
      ).toBe(404);
      expect((await t.other.patch(path, operation)).status).toBe(404);
      expect((await t.other.send('DELETE', path)).status).toBe(404);
    }
    const add = { op: 'add', path: 'members', value: [{ value: ada }] };
    expect((await t.other.patch(`/Groups/${ownGroup}`, add)).body).toMatchObject({
      scimType: 'invalidValue',
    });
    for (const filter of ['userName eq "ada"', `id eq "${ada}"`, 'displayName pr'])
      expect((await t.other.send('GET', `/Users?filter=${encodeURIComponent(filter)}`)).body).toMatchObject({
        totalResults: 0,
      });
    expect((await t.other.send('GET', '/Users')).body).toMatchObject({ totalResults: 1 });
    expect(t.snapshot()).toBe(before);
    expect((await t.service.send('GET', `/Users/${ada}`)).body).toMatchObject({ userName: 'ada' });
    expect((await t.other.addUser('ada')).length).toBeGreaterThan(9);
  });
});

describe('creating', () => {
  it('[SCIM-CRE-1 SCIM-CRE-2 SCIM-CRE-3 SCIM-CRE-6 SCIM-MEDIA-1] responds 201 with the resource, its location and version', async () => {
    const { service } = await setScimScene();
    const given = {
      schemas: [USER],
      userName: 'bjensen',
      externalId: 'bjensen',
      id: 'mine',
      meta: { version: 'mine' },
      name: { formatted: 'Ms. Barbara J Jensen III', familyName: 'Jensen', givenName: 'Barbara' },
      emails: [{ value: 'bjensen@example.com', type: 'work', primary: true }],
      password: 'secret',
      nickName: 'Babs',
    };
    const { status, headers, body } = await service.send('POST', '/Users', given);
    expect(status).toBe(201);
    expect(headers.get('content-type')).toBe('application/scim+json');
    expect(body).toEqual({
      schemas: [USER],
      id: expect.stringMatching(/^scim_/),
      userName: 'bjensen',
      externalId: 'bjensen',
      name: given.name,
      emails: given.emails,
      active: true,
      meta: {
        resourceType: 'User',
        created: '2027-01-15T08:00:00Z',
        lastModified: '2027-01-15T08:00:00Z',
        location: `${BASE}/Users/${body['id']}`,
        version: 'W/"1"',
      },
    });
    expect(headers.get('location')).toBe(`${BASE}/Users/${body['id']}`);
    expect(headers.get('etag')).toBe('W/"1"');
    expect((await service.send('GET', `/Users/${body['id']}`)).body).toEqual(body);
  });

  const REFUSED: readonly (readonly [string, string, unknown, number, string?])[] = [
    [
      'a userName that is taken, in another case',
      '/Users',
      { schemas: [USER], userName: 'ADA' },
      409,
      'uniqueness',
    ],
    [
      'an externalId that is taken',
      '/Users',
      { schemas: [USER], userName: 'b', externalId: 'x1' },
      409,
      'uniqueness',
    ],
    ['without userName', '/Users', { schemas: [USER] }, 400, 'invalidValue'],
    ['without schemas', '/Users', { userName: 'b' }, 400, 'invalidSyntax'],
    ['with the schema of groups', '/Users', { schemas: [GROUP], userName: 'b' }, 400, 'invalidSyntax'],
    ['a userName that is no text', '/Users', { schemas: [USER], userName: 7 }, 400, 'invalidValue'],
    [
      'a userName of 401 characters',
      '/Users',
      { schemas: [USER], userName: 'a'.repeat(401) },
      400,
      'invalidValue',
    ],
    ['a userName with U+0000', '/Users', { schemas: [USER], userName: 'a\0' }, 400, 'invalidValue'],
    [
      'an attribute twice, in two cases',
      '/Users',
      { schemas: [USER], userName: 'b', USERNAME: 'c' },
      400,
      'invalidSyntax',
    ],
    [
      'two primary addresses',
      '/Users',
      {
        schemas: [USER],
        userName: 'b',
        emails: [
          { value: 'b', primary: true },
          { value: 'c', primary: true },
        ],
      },
      400,
      'invalidValue',
    ],
    [
      '21 addresses',
      '/Users',
      { schemas: [USER], userName: 'b', emails: Array.from({ length: 21 }, (_, n) => ({ value: `${n}` })) },
      413,
    ],
    ['a list', '/Users', [], 400, 'invalidSyntax'],
    ['no JSON', '/Users', '{', 400, 'invalidSyntax'],
    ['a group without a name', '/Groups', { schemas: [GROUP] }, 400, 'invalidValue'],
    [
      'a group of a group',
      '/Groups',
      { schemas: [GROUP], displayName: 'g', members: [{ value: 'x', type: 'Group' }] },
      400,
      'invalidValue',
    ],
    [
      'a group of an unknown user',
      '/Groups',
      { schemas: [GROUP], displayName: 'g', members: [{ value: 'x' }] },
      400,
      'invalidValue',
    ],
    ['a path of nothing', '/Widgets', { schemas: [USER], userName: 'b' }, 404],
    ['the user of the token', '/Me', { schemas: [USER], userName: 'b' }, 501],
  ];

  it('[SCIM-CRE-4 SCIM-CRE-5 SCIM-SCH-1 SCIM-ME-1 SCIM-ERR-1] refuses what cannot be created, and stores nothing', async () => {
    const t = await setScimScene();
    await t.service.addUser('ada', { externalId: 'x1' });
    const before = t.snapshot();
    for (const [description, path, body, status, scimType] of REFUSED) {
      const response = await t.service.send('POST', path, body);
      expect([description, response.status, response.body]).toEqual([
        description,
        status,
        {
          schemas: [ERROR],
          status: String(status),
          detail: expect.any(String),
          ...(scimType !== undefined && { scimType }),
        },
      ]);
    }
    expect(t.snapshot()).toBe(before);
  });

  it('[SCIM-MEDIA-2] accepts and returns UTF-8, and plain JSON to who accepts nothing else', async () => {
    const { service } = await setScimScene();
    const userName = 'Größe 名前 \u{1f600}';
    const id = await service.addUser(userName);
    for (const [accept, type] of [
      ['application/json', 'application/json'],
      ['application/json, application/scim+json;q=0.9', 'application/scim+json'],
      ['*/*', 'application/scim+json'],
    ] as const) {
      const { headers, body } = await service.send('GET', `/Users/${id}`, undefined, { accept });
      expect([headers.get('content-type'), body['userName']]).toEqual([type, userName]);
    }
    const missing = await service.send('GET', '/Users/none', undefined, { accept: 'application/json' });
    expect([missing.status, missing.headers.get('content-type')]).toEqual([404, 'application/json']);
  });

  it('[SCIM-VERS-1] is refused in another version of the protocol', async () => {
    const t = await setScimScene();
    const before = t.snapshot();
    const body = JSON.stringify({ schemas: [USER], userName: 'ada' });
    const headers = { 'content-type': 'application/scim+json' };
    for (const version of ['v1', 'v3']) {
      const request = new Request(`${ISSUER}/scim/${version}/Users`, { method: 'POST', headers, body });
      expect((await t.server.handle(request)).status).toBe(404);
    }
    expect(t.snapshot()).toBe(before);
  });

  it('refuses another content type, a coding, and more bytes than a mebibyte', async () => {
    const { service } = await setScimScene();
    const user = { schemas: [USER], userName: 'ada' };
    const send = (body: unknown, headers: Record<string, string>) =>
      service.send('POST', '/Users', body, headers);
    expect((await send(user, { 'content-type': 'text/plain' })).status).toBe(400);
    expect((await send(user, { 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await send({ ...user, nickName: 'a'.repeat(1_100_000) }, {})).status).toBe(413);
    expect((await send(user, { 'content-type': 'application/json; charset=utf-8' })).status).toBe(201);
  });
});

/** @returns names in the order of the alphabet, since resources of one millisecond have no other, and the total */
async function namesOf(service: Awaited<ReturnType<typeof setScimScene>>['service'], path: string) {
  const { status, body } = await service.send('GET', path);
  if (status !== 200) return [status, body['scimType']];
  const resources = body['Resources'] as readonly {
    readonly userName?: string;
    readonly displayName?: string;
  }[];
  const names = resources.map(({ userName, displayName }) => userName ?? displayName);
  return [...names.toSorted(), body['totalResults']];
}

const filtered = (filter: string, more = '') => `/Users?filter=${encodeURIComponent(filter)}${more}`;

describe('listing', () => {
  async function setUsers() {
    const t = await setScimScene();
    const ada = await t.service.addUser('ada@example.com', {
      externalId: 'Ext-1',
      displayName: 'Ada',
      name: { familyName: "O'Malley", givenName: 'Ada' },
      emails: [
        { value: 'ada@example.com', type: 'work', primary: true },
        { value: 'ada@home.example', type: 'home' },
      ],
    });
    t.clock.now += 100;
    const bob = await t.service.addUser('bob@example.com', { displayName: 'Bob', active: false });
    const eve = await t.service.addUser('eve@example.org', { displayName: 'Eve "the" \\ end' });
    return { ...t, ada, bob, eve };
  }

  it('[SCIM-LIST-1 SCIM-PAGE-1 SCIM-PAGE-2 SCIM-PAGE-3] pages by index: values below the first mean the first', async () => {
    const { service, ada, bob, eve } = await setUsers();
    const { body } = await service.send('GET', '/Users?startIndex=2&count=1');
    expect(body).toMatchObject({ schemas: [LIST], totalResults: 3, startIndex: 2, itemsPerPage: 1 });
    // By identifier: users of one millisecond have no other order.
    const [first, second] = [ada, bob, eve].map(String).toSorted();
    const page = (await service.send('GET', '/Users?startIndex=0&count=2')).body;
    expect(page).toMatchObject({ totalResults: 3, Resources: [{ id: first }, { id: second }] });
    expect(await namesOf(service, '/Users?count=0')).toEqual([3]);
    expect(await namesOf(service, '/Users?count=-5')).toEqual([3]);
    expect(await namesOf(service, '/Users?startIndex=9')).toEqual([3]);
    expect(await namesOf(service, '/Users?count=two')).toEqual([400, 'invalidValue']);
    expect((await service.send('GET', '/Users?count=100000')).body).toMatchObject({ itemsPerPage: 3 });
  });

  it('[SCIM-CURSOR-1] pages by cursor, until there is none', async () => {
    const { service } = await setUsers();
    for (const filter of ['', `&filter=${encodeURIComponent('userName co "example"')}`]) {
      const first = (await service.send('GET', `/Users?cursor&count=2${filter}`)).body;
      expect(first).toMatchObject({ totalResults: 3, itemsPerPage: 2, nextCursor: expect.any(String) });
      expect(first).not.toHaveProperty('startIndex');
      const next = (await service.send('GET', `/Users?cursor=${first['nextCursor']}&count=2${filter}`)).body;
      expect(next).toMatchObject({ itemsPerPage: 1 });
      expect(next).not.toHaveProperty('nextCursor');
    }
    expect(await namesOf(service, '/Users?cursor=mine')).toEqual([400, 'invalidCursor']);
  });

  const FILTERS: readonly (readonly [string, readonly string[]])[] = [
    ['userName eq "ADA@EXAMPLE.COM"', ['ada']],
    ['username Eq "ada@example.com"', ['ada']],
    [`${USER}:userName sw "ada"`, ['ada']],
    ['externalId eq "Ext-1"', ['ada']],
    ['externalId eq "ext-1"', []],
    ['emails.value eq "ADA@home.example"', ['ada']],
    ['emails eq "ada@home.example"', ['ada']],
    ['emails[type eq "work"].value eq "ada@example.com"', ['ada']],
    ['emails[type eq "home"].value eq "ada@example.com"', []],
    ['emails[type eq "work" and value eq "ada@example.com"]', ['ada']],
    ['emails[type eq "home" and value eq "ada@example.com"]', []],
    ['emails[value ew "home.example"]', ['ada']],
    ['emails.type eq "home"', ['ada']],
    ['emails pr', ['ada']],
    ['not (emails pr)', ['bob', 'eve']],
    ['name.familyName co "O\'Malley"', ['ada']],
    ['displayName eq "eve \\"the\\" \\\\ end"', ['eve']],
    ['active eq true', ['ada', 'eve']],
    ['active eq False', ['bob']],
    ['active ne true', ['bob']],
    ['displayName ne "bob"', ['ada', 'eve']],
    ['title ne "boss"', ['ada', 'bob', 'eve']],
    ['title eq "boss"', []],
    ['title eq null', ['ada', 'bob', 'eve']],
    ['title pr', []],
    ['urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "x"', []],
    ['userName sw "a" or userName sw "b" and active eq true', ['ada']],
    ['(userName sw "a" or userName sw "b") and active eq false', ['bob']],
    ['userName eq "ada@example.com" and active eq false', []],
    ['meta.lastModified gt "2027-01-15T08:00:00Z"', ['bob', 'eve']],
    ['meta.lastModified ge "2027-01-15T08:00:00Z"', ['ada', 'bob', 'eve']],
    ['meta.created lt "2027-01-15T08:00:01+00:00"', ['ada']],
    ['meta.resourceType eq "User"', ['ada', 'bob', 'eve']],
    ['displayName gt "B"', ['bob', 'eve']],
    ['displayName le "ada"', ['ada']],
  ];

  it('[SCIM-FILTER-1] finds what a filter means', async () => {
    const { service } = await setUsers();
    for (const [filter, expected] of FILTERS) {
      const names = await namesOf(service, filtered(filter));
      expect([filter, ...names.map((name) => String(name).split('@')[0])]).toEqual([
        filter,
        ...expected,
        String(expected.length),
      ]);
    }
  });

  const UNREADABLE = [
    'userName',
    'userName eq',
    'userName eq ada',
    'userName is "ada"',
    'eq "ada"',
    '"ada" eq userName',
    'userName eq "ada" and',
    '(userName eq "ada"',
    'userName eq "ada")',
    'userName eq "ada" userName',
    'emails[type eq "work"',
    'not userName eq "ada"',
    'active gt true',
    'active co "t"',
    'meta.lastModified gt "yesterday"',
    'userName gt 7',
    'groups eq "x"',
    'groups.value eq "x"',
    'userName eq "ada',
    'userName eq "\\x"',
    `${'('.repeat(20)}userName pr${')'.repeat(20)}`,
    Array.from({ length: 60 }, () => 'title pr').join(' or '),
    `userName eq "${'a'.repeat(2000)}"`,
  ];

  it('[SCIM-FILTER-2] refuses a filter that cannot be read, or does not apply', async () => {
    const { service } = await setUsers();
    for (const filter of UNREADABLE)
      expect([filter, ...(await namesOf(service, filtered(filter)))]).toEqual([filter, 400, 'invalidFilter']);
  });

  it('finds groups by members, also with other terms', async () => {
    const { service, ada, bob } = await setUsers();
    const group = await service.addGroup('Engineers', [ada]);
    await service.addGroup('Makers', [ada, bob]);
    const find = (filter: string) => namesOf(service, `/Groups?filter=${encodeURIComponent(filter)}`);
    expect(await find(`members eq "${ada}"`)).toEqual(['Engineers', 'Makers', 2]);
    expect(await find(`members[value eq "${bob}"]`)).toEqual(['Makers', 1]);
    expect(await find(`id eq "${group}" and members.value eq "${ada}"`)).toEqual(['Engineers', 1]);
    expect(await find(`id eq "${group}" and members eq "${bob}"`)).toEqual([0]);
    expect(await find('displayName eq "makers"')).toEqual(['Makers', 1]);
  });

  it('[SCIM-ATTR-1 SCIM-ATTR-2] returns the attributes that are asked for, and always the identifier', async () => {
    const { service, ada } = await setUsers();
    const show = async (query: string) => (await service.send('GET', `/Users/${ada}?${query}`)).body;
    expect(await show('attributes=userName')).toEqual({
      schemas: [USER],
      id: ada,
      userName: 'ada@example.com',
    });
    expect(await show('attributes=emails.type,NAME')).toEqual({
      schemas: [USER],
      id: ada,
      name: { familyName: "O'Malley", givenName: 'Ada' },
      emails: [{ type: 'work' }, { type: 'home' }],
    });
    const excluded = await show('excludedAttributes=id,name.givenName,emails,meta,displayName');
    expect(excluded).toEqual({
      schemas: [USER],
      id: ada,
      userName: 'ada@example.com',
      externalId: 'Ext-1',
      name: { familyName: "O'Malley" },
      active: true,
    });
    expect(await show('attributes=unknown')).toEqual({ schemas: [USER], id: ada });
  });

  it('[SCIM-ATTR-3] finds attributes by their names with the URN of the schema', async () => {
    const { service, ada } = await setUsers();
    const { body } = await service.send('GET', `/Users/${ada}?attributes=${USER}:name.givenName`);
    expect(body).toEqual({ schemas: [USER], id: ada, name: { givenName: 'Ada' } });
    expect(await namesOf(service, filtered(`${USER}:userName eq "ada@example.com"`))).toEqual([
      'ada@example.com',
      1,
    ]);
  });

  it('[SCIM-SORT-1] lists all resources although it does not sort them', async () => {
    const { service } = await setUsers();
    expect(await namesOf(service, '/Users?sortBy=userName&sortOrder=descending')).toHaveLength(4);
  });

  it('[SCIM-SEARCH-1] searches by POST as by GET', async () => {
    const { service } = await setUsers();
    const search = {
      schemas: [SEARCH],
      filter: 'active eq true',
      attributes: ['userName'],
      startIndex: 2,
      count: 5,
    };
    const { body } = await service.send('POST', '/Users/.search', search);
    expect(body).toMatchObject({ schemas: [LIST], totalResults: 2, startIndex: 2, itemsPerPage: 1 });
    expect((await service.send('POST', '/Users/.search', { filter: 'x' })).body).toMatchObject({
      scimType: 'invalidSyntax',
    });
    expect((await service.send('GET', '/Users/.search')).status).toBe(405);
  });

  it('ignores members of a search that cannot be text', async () => {
    const { service, events } = await setUsers();
    const search = {
      ...{ schemas: [SEARCH], filter: 'active eq true' },
      ...{ sortBy: { toString: 'userName' }, attributes: ['userName', { toString: null }] },
    };
    const { status, body } = await service.send('POST', '/Users/.search', search);
    expect([status, body['totalResults']]).toEqual([200, 2]);
    expect(events).not.toContainEqual(expect.objectContaining({ type: 'request.failed' }));
  });
});

describe('versions', () => {
  it('[SCIM-ETAG-1 SCIM-ETAG-2] refuses a change of another version, and changes nothing', async () => {
    const t = await setScimScene();
    const id = await t.service.addUser('ada');
    const body = { schemas: [USER], userName: 'ada', displayName: 'Ada' };
    const put = (tag: string) => t.service.send('PUT', `/Users/${id}`, body, { 'if-match': tag });
    const changed = await put('W/"1"');
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, 'W/"2"']);
    const before = t.snapshot();
    for (const [method, sent] of [
      ['PUT', { ...body, displayName: 'Other' }],
      ['PATCH', { schemas: [PATCH], Operations: [{ op: 'remove', path: 'displayName' }] }],
      ['DELETE', undefined],
    ] as const)
      expect((await t.service.send(method, `/Users/${id}`, sent, { 'if-match': 'W/"1"' })).status).toBe(412);
    expect(t.snapshot()).toBe(before);
    expect(
      (await t.service.send('GET', `/Users/${id}`, undefined, { 'if-none-match': 'W/"2"' })).status,
    ).toBe(304);
    expect((await put('*')).headers.get('etag')).toBe('W/"2"');
    expect((await t.service.send('DELETE', `/Users/${id}`, undefined, { 'if-match': 'W/"2"' })).status).toBe(
      204,
    );
  });
});

describe('removing', () => {
  it('[SCIM-DEL-1 SCIM-DEL-2] removes a user from lists and groups, and frees the name', async () => {
    const { service } = await setScimScene();
    const ada = await service.addUser('ada');
    const group = await service.addGroup('Engineers', [ada]);
    expect((await service.send('GET', `/Users/${ada}`)).body['groups']).toEqual([
      { value: group, $ref: `${BASE}/Groups/${group}`, display: 'Engineers', type: 'direct' },
    ]);
    const removed = await service.send('DELETE', `/Users/${ada}`);
    expect([removed.status, removed.body]).toEqual([204, {}]);
    expect((await service.send('GET', `/Users/${ada}`)).status).toBe(404);
    expect((await service.send('DELETE', `/Users/${ada}`)).status).toBe(404);
    expect((await service.send('GET', `/Groups/${group}`)).body).not.toHaveProperty('members');
    expect(await namesOf(service, '/Users')).toEqual([0]);
    await service.addUser('ada');
  });
});

describe('bulk requests', () => {
  const bulk = (...operations: readonly object[]) => ({ schemas: [BULK], Operations: operations });

  it('[SCIM-BULK-1 SCIM-BULK-2] resolve references to resources that they create, in any order', async () => {
    const { service } = await setScimScene();
    const members = [{ value: 'bulkId:ada' }];
    const { status, body } = await service.send(
      'POST',
      '/Bulk',
      bulk(
        {
          method: 'POST',
          path: '/Groups',
          bulkId: 'g',
          data: { schemas: [GROUP], displayName: 'Engineers', members },
        },
        { method: 'POST', path: '/Users', bulkId: 'ada', data: { schemas: [USER], userName: 'ada' } },
        {
          method: 'PATCH',
          path: '/Users/bulkId:ada',
          data: { schemas: [PATCH], Operations: [{ op: 'add', path: 'displayName', value: 'Ada' }] },
        },
      ),
    );
    expect(status).toBe(200);
    expect(body['Operations']).toMatchObject([
      {
        method: 'POST',
        bulkId: 'g',
        status: '201',
        version: 'W/"1"',
        location: expect.stringContaining('/Groups/'),
      },
      { method: 'POST', bulkId: 'ada', status: '201', location: expect.stringContaining('/Users/') },
      { method: 'PATCH', status: '200', version: 'W/"2"' },
    ]);
    const [group] = (await service.send('GET', '/Groups')).body['Resources'] as readonly {
      members: readonly unknown[];
    }[];
    expect(group?.members).toHaveLength(1);
  });

  it('[SCIM-BULK-3 SCIM-BULK-5] end after failOnErrors, and report each failure', async () => {
    const { service } = await setScimScene();
    const user = (userName: string, bulkId: string) => ({
      method: 'POST',
      path: '/Users',
      bulkId,
      data: { schemas: [USER], userName },
    });
    const failing = { method: 'DELETE', path: '/Users/none' };
    const request = { ...bulk(user('ada', 'a'), failing, failing, user('bob', 'b')), failOnErrors: 2 };
    const { body } = await service.send('POST', '/Bulk', request);
    expect((body['Operations'] as readonly { status: string }[]).map(({ status }) => status)).toEqual([
      '201',
      '404',
      '404',
    ]);
    expect((body['Operations'] as readonly object[])[1]).toMatchObject({
      response: { schemas: [ERROR], status: '404' },
    });
    const circular = { method: 'DELETE', path: '/Users/bulkId:none' };
    expect(
      (await service.send('POST', '/Bulk', bulk(circular, user('bob', 'b')))).body['Operations'],
    ).toMatchObject([{ status: '409' }, { status: '201' }]);
  });

  it('remove whatever their data refers to', async () => {
    const { service } = await setScimScene();
    const path = `/Users/${await service.addUser('ada')}`;
    const operation = { method: 'DELETE', path, data: { members: [{ value: 'bulkId:none' }] } };
    expect((await service.send('POST', '/Bulk', bulk(operation))).body['Operations']).toMatchObject([
      { status: '204' },
    ]);
    expect((await service.send('GET', path)).status).toBe(404);
  });

  it('[SCIM-BULK-3] end with an outage, and report it after what was performed before', async () => {
    const { service, store } = await setScimScene();
    const user = (userName: string) => ({
      ...{ method: 'POST', path: '/Users', bulkId: userName, data: { schemas: [USER], userName } },
    });
    const create = store.createProvisioned;
    const failing = vi.spyOn(store, 'createProvisioned');
    failing.mockImplementationOnce(create).mockRejectedValueOnce(temporarilyUnavailable('an outage'));
    const request = bulk(user('ada'), user('bob'), user('eve'));
    const { status, body } = await service.send('POST', '/Bulk', request);
    expect([status, body['Operations']]).toEqual([
      200,
      [
        expect.objectContaining({ bulkId: 'ada', status: '201' }),
        {
          method: 'POST',
          bulkId: 'bob',
          status: '503',
          response: expect.objectContaining({ status: '503' }),
        },
      ],
    ]);
    failing.mockRejectedValueOnce(temporarilyUnavailable('an outage'));
    const refused = await service.send('POST', '/Bulk', bulk(user('bob'), user('eve')));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    const statuses = (await service.send('POST', '/Bulk', request)).body['Operations'];
    expect((statuses as readonly { status: string }[]).map(({ status }) => status)).toEqual([
      '409',
      '201',
      '201',
    ]);
  });

  it.each<[string, object, number]>([
    [
      '101 operations',
      bulk(...Array.from({ length: 101 }, () => ({ method: 'DELETE', path: '/Users/x' }))),
      413,
    ],
    ['a GET', bulk({ method: 'GET', path: '/Users' }), 400],
    ['a POST without bulkId', bulk({ method: 'POST', path: '/Users', data: {} }), 400],
    ['another schema', { schemas: [PATCH], Operations: [] }, 400],
    [
      'a bulkId twice',
      bulk(
        ...['ada', 'bob'].map((userName) => ({
          ...{ method: 'POST', path: '/Users', bulkId: 'one', data: { schemas: [USER], userName } },
        })),
      ),
      400,
    ],
  ])('[SCIM-BULK-4] are refused with %s', async (_case, body, status) => {
    const t = await setScimScene();
    const before = t.snapshot();
    expect((await t.service.send('POST', '/Bulk', body)).status).toBe(status);
    expect(t.snapshot()).toBe(before);
  });
});

describe('an operation of a bulk request', () => {
  it('[SCIM-BULK-6] without data fails alone, with its error and its location', async () => {
    const { service } = await setScimScene();
    const id = await service.addUser('ada');
    const path = `/Users/${id}`;
    const Operations = [
      { method: 'PATCH', path },
      { method: 'PUT', path },
      { method: 'DELETE', path },
    ];
    const { status, body } = await service.send('POST', '/Bulk', { schemas: [BULK], Operations });
    const failed = {
      location: `${BASE}${path}`,
      status: '400',
      response: { schemas: [ERROR], status: '400' },
    };
    expect([status, body['Operations']]).toMatchObject([200, [failed, failed, { status: '204' }]]);
  });
});

describe('bounds', () => {
  it('charge requests and bulk operations of a connection to its own rate limit', async () => {
    const t = await setScimScene({ rateLimits: { scim: { burst: 4, perMinute: 1 } } });
    const operation = { method: 'DELETE', path: '/Users/x' };
    const body = { schemas: [BULK], Operations: [operation, operation, operation, operation] };
    const refused = await t.service.send('POST', '/Bulk', body);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([
      429,
      expect.stringMatching(/^\d+$/),
    ]);
    expect((await t.other.send('GET', '/Users')).status).toBe(200);
  });

  it('refuse a bulk request that exceeds the rate limit as a whole, so that nothing of it is done', async () => {
    const t = await setScimScene({ rateLimits: { scim: { burst: 4, perMinute: 1 } } });
    const bulk = (service: typeof t.service, ...names: readonly string[]) => {
      const data = (userName: string) => ({ schemas: [USER], userName });
      const operations = names.map((one) => ({
        ...{ method: 'POST', path: '/Users', bulkId: one, data: data(one) },
      }));
      return service.send('POST', '/Bulk', { schemas: [BULK], Operations: operations });
    };
    expect((await bulk(t.service, 'ada', 'bob', 'eve', 'max')).status).toBe(429);
    expect(t.events.filter(({ type }) => type.startsWith('scim.user'))).toEqual([]);
    expect((await bulk(t.other, 'ada', 'bob', 'eve')).status).toBe(200);
    expect(t.events.filter(({ type }) => type === 'scim.user_created')).toHaveLength(3);
  });

  it('hold for the values of a user whatever the operations that add them', async () => {
    const { service, snapshot } = await setScimScene();
    const id = await service.addUser('ada');
    const before = snapshot();
    const add = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        ...{ op: 'add', path: 'emails', value: [{ value: `ada${index}@acme.example` }] },
      }));
    expect((await service.patch(`/Users/${id}`, ...add(21))).status).toBe(413);
    expect(snapshot()).toBe(before);
    expect((await service.patch(`/Users/${id}`, ...add(20))).status).toBe(200);
  });

  it('hold for texts as they are stored, and for those that PostgreSQL does not store', async () => {
    const { service, snapshot } = await setScimScene();
    const id = await service.addUser('ada');
    const before = snapshot();
    const named = (userName: string) => service.send('POST', '/Users', { schemas: [USER], userName });
    // Folds to eighteen characters.
    expect((await named('\ufdfa'.repeat(23))).status).toBe(400);
    expect(await namesOf(service, filtered('userName eq "\\u0000"'))).toEqual([400, 'invalidFilter']);
    const removal = { op: 'remove', path: 'emails[value eq "\\u0000"]' };
    expect((await service.patch(`/Users/${id}`, removal)).status).toBe(400);
    const Operations = [{ method: 'DELETE', path: '/Users/\0' }];
    const { body } = await service.send('POST', '/Bulk', { schemas: [BULK], Operations });
    expect(body['Operations']).toMatchObject([{ status: '404' }]);
    expect(snapshot()).toBe(before);
    expect((await named('\ufdfa'.repeat(22))).status).toBe(201);
    expect(await namesOf(service, filtered('userName eq "\\u0041da"'))).toEqual(['ada', 1]);
  });

  it('let four requests work at a time, so that others find the database free', async () => {
    const t = await setScimScene();
    const userNames = Array.from({ length: 30 }, (_, index) => `user${index}`);
    let most = 0;
    const runInSlot = createScimSemaphore();
    let running = 0;
    const add = (userName: string) =>
      runInSlot(async () => {
        running += 1;
        most = Math.max(most, running);
        await t.service.addUser(userName);
        running -= 1;
      });
    await Promise.all(userNames.map(add));
    expect(most).toBe(4);
    await expect(runInSlot(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect((await t.service.send('GET', '/Users')).body).toMatchObject({ totalResults: 30 });
  });

  it('refuse to list more than 100,000 members in one response', async () => {
    const t = await setScimScene();
    t.execute(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO scim_resources SELECT 'scim_' || (100000 + i), 'acme', 'User', 'u' || i, '{"userName":"u' || i || '"}', 1, NULL, 0, 1, 1, 1 FROM n`);
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const id = await t.service.addGroup(name);
      t.execute(`INSERT INTO scim_keys (identity_provider, kind, attribute, value, id)
        SELECT 'acme', 'Group', 'members', id, '${id}' FROM scim_resources WHERE kind = 'User'`);
    }
    const { status, body } = await t.service.send('GET', '/Groups');
    expect([status, body['scimType']]).toEqual([400, 'tooMany']);
    expect((await t.service.send('GET', '/Groups?excludedAttributes=members')).status).toBe(200);
    expect((await t.service.send('GET', '/Groups?count=5')).status).toBe(200);
  });

  it('refuse to evaluate a filter on more than 10,000 resources', async () => {
    const t = await setScimScene();
    t.execute(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
      INSERT INTO scim_resources SELECT 'scim_' || (100000 + i), 'acme', 'User', 'u' || i, '{"userName":"u' || i || '"}', 1, NULL, 0, 1, 1, 1 FROM n`);
    expect(await namesOf(t.service, filtered('userName co "u5000"'))).toEqual([400, 'tooMany']);
    expect(await namesOf(t.service, '/Users?startIndex=10001')).toEqual(['u10001', 10_001]);
    expect(await namesOf(t.service, filtered('active eq true', '&count=1'))).toEqual(['u1', 10_001]);
  });
});

describe('the service describes itself', () => {
  it('[SCIM-DISC-1 SCIM-DISC-2] by configuration, resource types and schemas, without filters', async () => {
    const { service } = await setScimScene();
    const show = async (path: string) => (await service.send('GET', path)).body;
    expect(await show('/ServiceProviderConfig')).toMatchObject({
      patch: { supported: true },
      bulk: { supported: true, maxOperations: 100, maxPayloadSize: 1_048_576 },
      filter: { supported: true, maxResults: 200 },
      changePassword: { supported: false },
      sort: { supported: false },
      etag: { supported: true },
      pagination: { cursor: true, index: true },
      authenticationSchemes: [{ type: 'oauthbearertoken' }],
    });
    expect(await show('/ResourceTypes')).toMatchObject({ schemas: [LIST], totalResults: 2 });
    expect(await show('/ResourceTypes/User')).toMatchObject({ endpoint: '/Users', schema: USER });
    expect(await show(`/Schemas/${GROUP}`)).toMatchObject({ id: GROUP, name: 'Group' });
    expect(await show(`/Schemas/${encodeURIComponent(GROUP)}`)).toMatchObject({ id: GROUP });
    // Malformed escapes as well.
    for (const path of ['/Schemas/none', '/Schemas/%zz', '/ResourceTypes/%', '/Users/%zz', '/Groups/%'])
      expect([path, (await service.send('GET', path)).status]).toEqual([path, 404]);
    expect((await service.send('GET', '/Schemas?filter=id%20pr')).status).toBe(403);
    expect((await service.send('POST', '/Schemas', {})).status).toBe(404);
  });

  it('[SCIM-DISC-3] in the same way whatever is sent to sort, page and select by', async () => {
    const { service } = await setScimScene();
    for (const path of ['/Schemas', '/ResourceTypes', '/ServiceProviderConfig']) {
      const { body } = await service.send('GET', path);
      const query = '?startIndex=2&count=1&sortBy=id&attributes=id&excludedAttributes=name';
      expect((await service.send('GET', `${path}${query}`)).body).toEqual(body);
    }
  });

  it('a server without a provider that provisions has no such endpoint', async () => {
    const t = await setScimScene({ identityProviders: [] });
    const { status, headers } = await t.service.send('GET', '/Users');
    expect([status, headers.get('content-type')]).toEqual([404, 'application/json']);
  });
});
