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
 * developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20: its beginning was read (a lookup by userName, then creation); the
 * bodies of changes and groups were not, and are written as they are known.
 */
describe('Okta', () => {
  it('looks a user up by userName, creates, replaces and deactivates it, and pushes groups', async () => {
    const { service } = await setScimScene();
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
