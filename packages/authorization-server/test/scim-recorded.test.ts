/**
 * Requests as provisioning services send them. Each names the page that documents it and that was read; what was not read there says so.
 * No service was available to record from.
 */
import { describe, expect, it } from 'vitest';
import { GROUP, PATCH, setScimScene, USER } from './scim-scene.ts';

const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

/** learn.microsoft.com/entra/identity/app-provisioning: use-scim-to-provision-users-and-groups, application-provisioning-config-problem-scim-compatibility. */
describe('Microsoft Entra ID', () => {
  const created = {
    schemas: [USER, ENTERPRISE],
    externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
    userName: 'test_user@contoso.example',
    active: true,
    emails: [{ primary: true, type: 'work', value: 'test_user@mail.example' }],
    meta: { resourceType: 'User' },
    name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
    roles: [],
  };

  it('looks a user up, creates, changes, disables and deletes it', async () => {
    const { service } = await setScimScene();
    const query = (filter: string) => service.send('GET', `/Users?filter=${encodeURIComponent(filter)}`);
    const missing = await query('userName eq "non-existent user"');
    expect([missing.status, missing.body]).toMatchObject([200, { totalResults: 0, Resources: [] }]);
    const { status, body } = await service.send('POST', '/Users', created);
    expect(status).toBe(201);
    const path = `/Users/${body['id']}`;
    expect((await query('emails[type eq "work"].value eq "test_user@mail.example"')).body).toMatchObject({
      totalResults: 1,
    });
    const updated = await service.patch(
      path,
      { op: 'Replace', path: 'displayName', value: 'Pvlo' },
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updated@mail.example' },
      { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
      { op: 'Replace', path: `${ENTERPRISE}:employeeNumber`, value: 'Eqpj' },
      { op: 'Add', path: 'nickName', value: 'Babs' },
    );
    expect([updated.status, updated.body]).toMatchObject([
      200,
      {
        displayName: 'Pvlo',
        name: { givenName: 'givenName', familyName: 'updatedFamilyName' },
        emails: [{ value: 'updated@mail.example', type: 'work', primary: true }],
      },
    ]);
    const flagged = {
      displayName: 'Bjfe',
      'name.givenName': 'Kkom',
      'name.familyName': 'Unua',
      [`${ENTERPRISE}:employeeNumber`]: 'Aklq',
    };
    expect((await service.patch(path, { op: 'replace', value: flagged })).body).toMatchObject({
      displayName: 'Bjfe',
      name: { givenName: 'Kkom', familyName: 'Unua' },
    });
    for (const value of ['False', false])
      expect((await service.patch(path, { op: 'Replace', path: 'active', value })).body).toMatchObject({
        active: false,
      });
    expect((await service.send('DELETE', path)).status).toBe(204);
    expect((await service.send('GET', path)).status).toBe(404);
  });

  it('creates a group without members, then adds and removes them with either flag', async () => {
    const { service } = await setScimScene();
    const user = await service.addUser('ada');
    const schemas = [GROUP, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'];
    const externalId = '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159';
    const given = { schemas, externalId, displayName: 'displayName', meta: { resourceType: 'Group' } };
    const { body } = await service.send('POST', '/Groups', given);
    const path = `/Groups/${body['id']}`;
    expect((await service.send('GET', `${path}?excludedAttributes=members`)).body).not.toHaveProperty(
      'members',
    );
    const listed = `/Groups?excludedAttributes=members&filter=${encodeURIComponent('displayName eq "displayName"')}`;
    expect((await service.send('GET', listed)).body).toMatchObject({ totalResults: 1 });
    const value = [{ $ref: null, value: user }];
    for (const removal of [
      { op: 'Remove', path: 'members', value },
      { op: 'remove', path: `members[value eq "${user}"]` },
    ]) {
      expect((await service.patch(path, { op: 'Add', path: 'members', value })).status).toBe(204);
      expect((await service.send('GET', path)).body).toMatchObject({ members: [{ value: user }] });
      expect((await service.patch(path, removal)).status).toBe(204);
      expect((await service.send('GET', path)).body).not.toHaveProperty('members');
    }
    const renamed = await service.patch(path, {
      op: 'Replace',
      path: 'displayName',
      value: 'updatedDisplayName',
    });
    expect(renamed.status).toBe(204);
    expect((await service.send('DELETE', path)).status).toBe(204);
  });
});

/**
 * developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20: its beginning was read (a lookup by userName, then creation).
 * docs.delinea.com/…/okta-scim-endpoint-reference: the test of a connection, and updates by PUT or PATCH.
 * github.com/Captain-P-Goldfish/SCIM-SDK/issues/757: "Push now" of an empty group replaces its members by none. The bodies of other
 * changes were in none of them, and are written as they are known.
 */
describe('Okta', () => {
  it('looks a user up by userName, creates, replaces and deactivates it, and pushes groups', async () => {
    const { service } = await setScimScene();
    expect((await service.send('GET', '/Users?startIndex=1&count=2')).body).toMatchObject({
      totalResults: 0,
    });
    const query = `/Users?filter=${encodeURIComponent('userName eq "test.user@okta.local"')}&startIndex=1&count=100`;
    expect((await service.send('GET', query)).body).toMatchObject({
      totalResults: 0,
      startIndex: 1,
      itemsPerPage: 0,
    });
    const given = {
      schemas: [USER],
      userName: 'test.user@okta.local',
      name: { givenName: 'Test', familyName: 'User' },
      emails: [{ primary: true, value: 'test.user@okta.local', type: 'work' }],
      displayName: 'Test User',
      locale: 'en-US',
      externalId: '00ujl29u0le5T6Aj10h7',
      groups: [],
      password: '1mz050nq',
      active: true,
    };
    const { body } = await service.send('POST', '/Users', given);
    const id = String(body['id']);
    expect(body).not.toHaveProperty('password');
    const changed = { ...given, id, name: { givenName: 'Another', familyName: 'User' }, meta: body['meta'] };
    expect((await service.send('PUT', `/Users/${id}`, changed)).body).toMatchObject({
      name: { givenName: 'Another' },
    });
    expect(
      (await service.patch(`/Users/${id}`, { op: 'replace', value: { active: false } })).body,
    ).toMatchObject({ active: false });
    const members = [{ value: id, display: 'test.user@okta.local' }];
    const group = (
      await service.send('POST', '/Groups', { schemas: [GROUP], displayName: 'Test SCIMv2', members })
    ).body;
    const path = `/Groups/${group['id']}`;
    const renamed = { op: 'replace', value: { id: group['id'], displayName: 'Renamed' } };
    expect((await service.patch(path, renamed)).status).toBe(204);
    await service.patch(
      path,
      { op: 'remove', path: `members[value eq "${id}"]` },
      { op: 'add', path: 'members', value: members },
    );
    expect((await service.send('GET', path)).body).toMatchObject({
      displayName: 'Renamed',
      members: [{ value: id }],
    });
    const replaced = { schemas: [PATCH], Operations: [{ op: 'replace', path: 'members', value: [] }] };
    await service.send('PATCH', path, replaced);
    expect((await service.send('GET', path)).body).not.toHaveProperty('members');
  });
});

/**
 * developers.onelogin.com/scim/implement-scim-api (the calls, their order, the first one for a name that it knows is unknown, and
 * `application/json` for all responses) and doc.keepnetlabs.com/…/onelogin-scim-integration (a JSON template of SCIM Provisioner with
 * SAML (SCIM v2 Enterprise): `id` is null, `active` a text). What the bodies of group changes look like was in neither.
 */
describe('OneLogin', () => {
  const json = { accept: 'application/json', 'content-type': 'application/json' };
  const given = {
    [ENTERPRISE]: { department: 'Sales', manager: { managerId: '', displayName: 'Ada Lovelace' } },
    active: 'true',
    emails: [{ value: 'test@mail.example', type: 'work', primary: true }],
    meta: { resourceType: 'User' },
    name: { familyName: 'User', givenName: 'Test', formatted: 'Test User' },
    userName: 'test@onelogin.example',
    id: null,
    schemas: [USER],
  };

  it('tries the connection, provisions a user and a group, and gets JSON in all responses', async () => {
    const { service } = await setScimScene();
    const types: (string | null)[] = [];
    const send: typeof service.send = async (method, path, body) => {
      const response = await service.send(method, path, body, json);
      if (response.status !== 204) types.push(response.headers.get('content-type'));
      return response;
    };
    const find = (name: string) =>
      send('GET', `/Users?filter=${encodeURIComponent(`userName eq "${name}"`)}`);
    expect((await find('non-existent')).body).toMatchObject({ totalResults: 0, Resources: [] });
    expect((await find(given.userName)).body).toMatchObject({ totalResults: 0 });
    const { status, body } = await send('POST', '/Users', given);
    expect([status, body]).toMatchObject([201, { userName: given.userName, active: true }]);
    const path = `/Users/${body['id']}`;
    expect((await send('GET', path)).body).toEqual(body);
    const changed = { ...given, id: body['id'], active: 'false', name: { familyName: 'Other' } };
    const { id: _id, ...other } = (await send('PUT', path, changed)).body;
    expect(other).toMatchObject({ active: false, name: { familyName: 'Other' } });
    expect((await send('GET', '/Groups')).body).toMatchObject({ totalResults: 0, Resources: [] });
    const group = await send('POST', '/Groups', { schemas: [GROUP], displayName: 'Sales' });
    const members = [{ value: body['id'] }];
    const add = { schemas: [PATCH], Operations: [{ op: 'add', path: 'members', value: members }] };
    expect((await send('PATCH', `/Groups/${group.body['id']}`, add)).status).toBe(204);
    expect((await send('GET', `/Groups/${group.body['id']}`)).body).toMatchObject({ members });
    expect((await send('DELETE', path)).status).toBe(204);
    expect((await send('GET', '/Users')).body).toMatchObject({ totalResults: 0 });
    expect((await send('GET', path)).status).toBe(404);
    expect(new Set(types)).toEqual(new Set(['application/json']));
  });
});

/**
 * jumpcloud.com/support/provision-and-manage-users-and-groups-in-apps-using-custom-scim-identity-management-integration: a test user and
 * a test group are created and deleted again when the integration is tried. app.uni-moni.com/en/kb/sso-setup-jumpcloud: members in
 * PATCH are a list of values, without a filter. Whole bodies were in neither.
 */
describe('JumpCloud', () => {
  it('creates, changes and deletes a test user and a test group, whose members are lists of values', async () => {
    const { service, snapshot } = await setScimScene();
    const before = snapshot();
    const userName = 'testuser@acme.example';
    const found = await service.send(
      'GET',
      `/Users?filter=${encodeURIComponent(`userName eq "${userName}"`)}`,
    );
    expect(found.body).toMatchObject({ totalResults: 0 });
    const given = {
      schemas: [USER],
      userName,
      name: { givenName: 'Test', familyName: 'User' },
      emails: [{ value: userName, primary: true, type: 'work' }],
      active: true,
    };
    const { body } = await service.send('POST', '/Users', given);
    const path = `/Users/${body['id']}`;
    const inactive = await service.send('PUT', path, { ...given, active: false });
    expect(inactive.body).toMatchObject({ userName, active: false });
    const group = await service.addGroup('testgroup');
    const value = [{ value: body['id'] }];
    for (const [op, expected] of [
      ['add', { members: value }],
      ['remove', { displayName: 'testgroup' }],
      ['replace', { members: value }],
    ] as const) {
      expect((await service.patch(`/Groups/${group}`, { op, path: 'members', value })).status).toBe(204);
      const shown = (await service.send('GET', `/Groups/${group}`)).body;
      expect(shown).toMatchObject(expected);
      expect('members' in shown).toBe('members' in expected);
    }
    expect((await service.send('DELETE', `/Groups/${group}`)).status).toBe(204);
    expect((await service.send('DELETE', path)).status).toBe(204);
    expect(snapshot()).toBe(before);
  });
});

/**
 * authn-sh-docs.pages.dev/guides/scim/google-workspace (the probe `/Users?count=1`, deletion when deprovisioned) and the tests of
 * github.com/RIPAGlobal/scimitar (user agent `Google-Auto-Provisioning`, `application/json`). Google documents no bodies.
 */
describe('Google Workspace', () => {
  it('tries the connection by a page of one user, and sends plain JSON', async () => {
    const { service } = await setScimScene();
    const headers = { 'content-type': 'application/json', 'user-agent': 'Google-Auto-Provisioning' };
    const probe = () => service.send('GET', '/Users?count=1', undefined, headers);
    expect((await probe()).body).toMatchObject({ totalResults: 0, startIndex: 1, Resources: [] });
    const given = {
      schemas: [USER],
      userName: 'ada@workspace.example',
      name: { givenName: 'Ada', familyName: 'Lovelace' },
      emails: [{ value: 'ada@workspace.example', type: 'work', primary: true }],
      active: true,
    };
    const { status, body } = await service.send('POST', '/Users', given, headers);
    expect([status, body]).toMatchObject([201, given]);
    expect((await probe()).body).toMatchObject({ totalResults: 1, itemsPerPage: 1 });
    const path = `/Users/${body['id']}`;
    const suspended = await service.send('PUT', path, { ...given, active: false }, headers);
    expect(suspended.body).toMatchObject({ active: false });
    expect((await service.send('DELETE', path, undefined, headers)).status).toBe(204);
    expect((await probe()).body).toMatchObject({ totalResults: 0 });
  });
});
