/** The representations of RFC 7643 §8, in any order and case of their names, and the bulk request of RFC 7644 §3.7.3. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BULK, GROUP, PATCH, setScimScene, USER } from './scim-scene.ts';

const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

/** What is stored of the user of §8.2. */
const STORED = {
  externalId: '701984',
  userName: 'bjensen@example.com',
  name: {
    formatted: 'Ms. Barbara J Jensen, III',
    familyName: 'Jensen',
    givenName: 'Barbara',
    middleName: 'Jane',
    honorificPrefix: 'Ms.',
    honorificSuffix: 'III',
  },
  displayName: 'Babs Jensen',
  active: true,
  emails: [
    { value: 'bjensen@example.com', type: 'work', primary: true },
    { value: 'babs@jensen.org', type: 'home' },
  ],
};

/** Its other attributes, and those of the user of §8.3: accepted, and ignored. */
const IGNORED = {
  id: '2819c223-7f76-453a-919d-413861904646',
  nickName: 'Babs',
  profileUrl: 'https://login.example.com/bjensen',
  addresses: [
    { type: 'work', streetAddress: '100 Universal City Plaza', postalCode: '91608', primary: true },
  ],
  phoneNumbers: [{ value: '555-555-5555', type: 'work' }],
  ims: [{ value: 'someaimhandle', type: 'aim' }],
  photos: [{ value: 'https://photos.example.com/profilephoto/72930000000Ccne/F', type: 'photo' }],
  userType: 'Employee',
  title: 'Tour Guide',
  preferredLanguage: 'en-US',
  locale: 'en-US',
  timezone: 'America/Los_Angeles',
  password: 't1meMa$heen',
  groups: [{ value: 'e9e30dba-f08f-4109-8486-d5c6a331660a', display: 'Tour Guides' }],
  x509Certificates: [{ value: 'MIIDQzCCAqygAwIBAgICEAAwDQYJKoZIhvcNAQEFBQAwTjELMAkGA1UEBhMCVVMx' }],
  meta: { resourceType: 'User', version: 'W/"a330bc54f0671c9"' },
  [ENTERPRISE]: { employeeNumber: '701984', costCenter: '4130', manager: { displayName: 'John Smith' } },
};

const names = fc.tuple(
  fc.shuffledSubarray(Object.keys(STORED)),
  fc.shuffledSubarray(Object.keys(IGNORED)),
  fc.constantFrom(
    (name: string) => name,
    (name: string) => name.toUpperCase(),
    (name: string) => name.toLowerCase(),
  ),
);

const pick = (of: Readonly<Record<string, unknown>>, some: readonly string[]) =>
  Object.fromEntries(some.map((name) => [name, of[name]]));

describe('the representations of RFC 7643', () => {
  it('create the user that they describe, whatever is left out, in any order and case of names', async () => {
    const { service } = await setScimScene();
    await fc.assert(
      fc.asyncProperty(names, async ([stored, ignored, inCase]) => {
        const expected = { active: true, ...pick(STORED, [...new Set(['userName', ...stored])]) };
        const given = Object.entries({ ...pick(IGNORED, ignored), ...expected, schemas: [USER, ENTERPRISE] });
        const body = Object.fromEntries(given.map(([name, value]) => [inCase(name), value]));
        const created = await service.send('POST', '/Users', body);
        const { id, meta: _meta, schemas, ...shown } = created.body;
        expect([created.status, schemas, shown]).toEqual([201, [USER], expected]);
        expect((await service.send('DELETE', `/Users/${id}`)).status).toBe(204);
      }),
      { numRuns: 100 },
    );
  });

  it('create the group that they describe', async () => {
    const { service } = await setScimScene();
    const [babs, mandy] = [await service.addUser('Babs Jensen'), await service.addUser('Mandy Pepperidge')];
    const member = (value: string, display: string) => ({
      ...{ value, $ref: `https://as.example/scim/v2/Users/${value}`, display },
    });
    const members = [member(babs, 'Babs Jensen'), member(mandy, 'Mandy Pepperidge')];
    const given = { schemas: [GROUP], id: 'e9e30dba', displayName: 'Tour Guides', members };
    const { status, body } = await service.send('POST', '/Groups', given);
    expect([status, body['displayName']]).toEqual([201, 'Tour Guides']);
    const shown = body['members'] as readonly { readonly value: string }[];
    const wanted = members.map((one) => ({ ...one, type: 'User' }));
    const order = (one: { readonly value: string }, other: { readonly value: string }) =>
      one.value < other.value ? -1 : 1;
    expect(shown.toSorted(order)).toEqual(wanted.toSorted(order));
  });
});

describe('the bulk request of RFC 7644', () => {
  it('creates, replaces, changes and deletes users by one request, each in its version', async () => {
    const { service } = await setScimScene();
    const [bob, changed, deleted] = [
      await service.addUser('bob'),
      await service.addUser('changed', { displayName: 'Before' }),
      await service.addUser('deleted'),
    ];
    const Operations = [
      { method: 'POST', path: '/Users', bulkId: 'qwerty', data: { schemas: [USER], userName: 'Alice' } },
      {
        ...{ method: 'PUT', path: `/Users/${bob}`, version: 'W/"1"' },
        data: { schemas: [USER], id: bob, userName: 'Bob' },
      },
      {
        ...{ method: 'PATCH', path: `/Users/${changed}`, version: 'W/"1"' },
        data: {
          schemas: [PATCH],
          Operations: [
            { op: 'remove', path: 'displayName' },
            { op: 'add', path: 'name', value: { givenName: 'Dave' } },
          ],
        },
      },
      { method: 'DELETE', path: `/Users/${deleted}`, version: 'W/"1"' },
      { method: 'DELETE', path: `/Users/${bob}`, version: 'W/"1"' },
    ];
    const { status, body } = await service.send('POST', '/Bulk', {
      ...{ schemas: [BULK], failOnErrors: 1, Operations },
    });
    const results = body['Operations'] as readonly { readonly status: string; readonly version?: string }[];
    expect(status).toBe(200);
    expect(results.map(({ status: its, version }) => [its, version])).toEqual([
      ['201', 'W/"1"'],
      ['200', 'W/"2"'],
      ['200', 'W/"2"'],
      ['204', undefined],
      ['412', undefined],
    ]);
    const shown = (await service.send('GET', `/Users/${changed}`)).body;
    expect(shown).toMatchObject({ name: { givenName: 'Dave' } });
    expect(shown).not.toHaveProperty('displayName');
    expect((await service.send('GET', `/Users/${bob}`)).body).toMatchObject({ userName: 'Bob' });
  });
});
