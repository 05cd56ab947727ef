/** Who may use the admin API: tokens, scopes, roles and second factors. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inSession } from '../../store/testing/samples.ts';
import {
  call,
  type Installation,
  owner,
  personalAccessToken,
  signIn,
  startInstallation,
  stateOf,
  userToken,
} from './installation.ts';

let t: Installation;
beforeAll(async () => {
  t = await startInstallation();
});
afterAll(() => t.stop());

const MFA = ['pwd', 'otp', 'mfa'];

/** The reason that the latest event of a type has. */
async function latestReason(type: string): Promise<unknown> {
  const latest = () =>
    t.onStore(async (store) => (await store.listLatestEvents(100)).findLast((event) => event.type === type));
  await expect.poll(latest).toBeDefined();
  return (await latest())?.details['reason'];
}

describe('access to the admin API', () => {
  it('an operator lists the accounts, and a request without a token is challenged', async () => {
    const listed = await call(t, await t.machineToken('ops'), 'GET /users');
    expect(listed).toMatchObject({
      status: 200,
      body: { items: [{ email: owner.email, role: 'operator' }], next: null },
    });
    const refused = await call(t, null, 'GET /users');
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toContain(
      '/.well-known/oauth-protected-resource/admin/api/v1',
    );
  });

  it('rejects a token of another resource, and a session cookie in place of a token', async () => {
    const other = await t.machineToken('ops', 'notes:read', t.resource);
    expect((await call(t, other, 'GET /users')).status).toBe(401);
    const cookie = await signIn(t, MFA, { role: 'operator' });
    expect((await call(t, null, 'GET /users', undefined, { cookie })).status).toBe(401);
  });

  it('a token that may only read changes nothing', async () => {
    const before = await stateOf(t);
    const token = await t.machineToken('ops', 'admin:read');
    const refused = await call(t, token, 'POST /users', { email: 'new@example.com' });
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('scope="admin:write"');
    expect(await stateOf(t)).toEqual(before);
    expect((await call(t, token, 'GET /users')).status).toBe(200);
  });

  it('a viewer is granted no scope to write, and a client without a role is granted none', async () => {
    await expect(t.machineToken('watcher', 'admin:write')).rejects.toThrow('no token: 400');
    const token = await t.machineToken('watcher');
    const before = await stateOf(t);
    expect((await call(t, token, 'POST /users', { email: 'new@example.com' })).status).toBe(403);
    expect(await stateOf(t)).toEqual(before);
    expect((await call(t, token, 'GET /users')).status).toBe(200);
    await expect(t.machineToken('outsider')).rejects.toThrow('no token: 400');
  });

  it('an operator who signed in with one factor is asked for another', async () => {
    const one = await call(t, await userToken(t, ['pwd'], { role: 'operator' }), 'GET /users');
    expect(one.status).toBe(401);
    expect(one.headers.get('www-authenticate')).toContain('error="insufficient_user_authentication"');
    expect(one.headers.get('www-authenticate')).toContain('acr_values="2fa"');
    expect(one.headers.get('www-authenticate')).toContain('scope="admin:');
    const two = await call(t, await userToken(t, MFA, { role: 'operator' }), 'GET /users');
    expect(two.status).toBe(200);
  });

  it('a user without a role is granted no scope, and one of a group that has it is an operator', async () => {
    await expect(userToken(t, MFA, { role: null })).rejects.toThrow('invalid_scope');
    const token = await userToken(t, MFA, { role: null, groups: ['platform'] });
    expect((await call(t, token, 'POST /users', { email: 'group@example.com' })).status).toBe(201);
  });

  it('a personal access token works only while its account has a second factor that is as old', async () => {
    const token = await personalAccessToken(t);
    const refused = await call(t, token, 'GET /users');
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toContain('acr_values="2fa"');
    const enroll = (createdAt: number) =>
      t.onStore(async (store) => {
        const id = (await store.findAccountByEmail(owner.email))?.id ?? '';
        const factor = { accountId: id, encryptedSecret: 'x', lastStep: 0, createdAt };
        await inSession(store, id, (session) => store.saveTotpFactor(factor, [], session));
        return id;
      });
    // Who knew only the password may have created the token before its owner set a second factor up.
    await enroll(Math.floor(Date.now() / 1000) + 60);
    const before = await stateOf(t);
    expect((await call(t, token, 'GET /users')).status).toBe(401);
    expect(await stateOf(t)).toEqual(before);
    const accountId = await enroll(0);
    expect((await call(t, token, 'GET /users')).status).toBe(200);
    await t.onStore((store) => store.removeTotpFactor(accountId));
    expect((await call(t, token, 'GET /users')).status).toBe(401);
  });

  it('a connection is listed, shown and ended, and its token ends with it', async () => {
    const operator = await t.machineToken('ops');
    const list = async () => {
      const { body } = await call(t, operator, `GET /users/${owner.email}/grants`);
      return (body as { readonly items: readonly { readonly id: string }[] }).items.map((one) => one.id);
    };
    const before = await list();
    const token = await userToken(t, MFA, { role: 'operator' });
    const id = (await list()).find((one) => !before.includes(one));
    const shown = await call(t, operator, `GET /grants/${id}`);
    expect(shown.body).toMatchObject({ id, user: { email: owner.email }, identityProvider: null });
    expect((await call(t, operator, `GET /grants/${id}/connected-accounts`)).body).toEqual({ items: [] });
    const ended = await call(t, operator, `DELETE /grants/${id}?reason=lost`, undefined, {
      'if-match': shown.headers.get('etag') ?? '',
    });
    expect(ended.status).toBe(200);
    expect(await latestReason('grant.revoked')).toBe('operator');
    expect((await call(t, operator, `DELETE /grants/${id}`)).status).toBe(404);
    expect((await call(t, token, 'GET /users')).status).toBe(401);
  });

  it('a stream of events has what is created while its user has a role, and ends with the role', async () => {
    const token = await userToken(t, MFA, { role: 'operator' });
    const response = await fetch(`${t.api}/events/stream?type=account.created`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const ops = await t.machineToken('ops');
    const added = await call(t, ops, 'POST /users', { email: 'streamed@example.com' });
    const { id } = (added.body as { readonly user: { readonly id: string } }).user;
    let [text, before]: [string, unknown] = ['', null];
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (before !== null || !text.includes(id)) continue;
      await t.onStore(async (store) => {
        const account = await store.findAccountByEmail(owner.email);
        await store.setAccountRole(account?.id ?? '', null);
      });
      before = await stateOf(t);
    }
    expect(text).toContain(id);
    expect(await stateOf(t)).toEqual(before);
    expect((await call(t, token, 'GET /users')).status).toBe(403);
  });

  it('an operator takes away the role of another, and never the own role or the groups that may bring it', async () => {
    const token = await userToken(t, MFA, { role: 'operator' });
    const own = `PATCH /users/${owner.email}`;
    const before = await stateOf(t);
    for (const body of [{ role: null }, { role: 'viewer' }, { name: 'Ada', groups: [] }]) {
      const { status, body: problem } = await call(t, token, own, body);
      expect([status, problem]).toMatchObject([409, { detail: expect.stringContaining('another operator') }]);
    }
    expect(await stateOf(t)).toEqual(before);
    expect((await call(t, token, own, { name: 'Ada', role: 'operator' })).status).toBe(200);
    const invited = { email: 'second@example.com', role: 'operator' };
    expect((await call(t, token, 'POST /users', invited)).status).toBe(201);
    const changed = await call(t, token, `PATCH /users/${invited.email}`, { role: null });
    expect([changed.status, changed.body]).toMatchObject([200, { role: null }]);
  });

  it('an operator resets the credentials of another, and never the own ones, which a copied token could replace', async () => {
    const [own, other] = [await userToken(t, MFA, { role: 'operator' }), await t.machineToken('ops')];
    const factorOf = () =>
      t.onStore(async (store) =>
        store.findTotpFactor((await store.findAccountByEmail(owner.email))?.id ?? ''),
      );
    await t.onStore(async (store) => {
      const accountId = (await store.findAccountByEmail(owner.email))?.id ?? '';
      const factor = { accountId, encryptedSecret: 'x', lastStep: 0, createdAt: 0 };
      await inSession(store, accountId, (session) => store.saveTotpFactor(factor, [], session));
    });
    const [reset, factors] = [
      `POST /users/${owner.email}/reset-link`,
      `DELETE /users/${owner.email}/second-factors`,
    ];
    const created = await call(t, other, reset);
    expect(created.status).toBe(201);
    const before = [await stateOf(t), await factorOf()];
    for (const line of [reset, factors]) {
      const { status, body } = await call(t, own, line);
      expect([status, body]).toMatchObject([409, { detail: expect.stringContaining('another operator') }]);
    }
    expect([await stateOf(t), await factorOf()]).toEqual(before);
    // A new link would have replaced it.
    expect((await fetch(String(created.body['link']))).status).toBe(200);
    expect((await call(t, other, factors)).status).toBe(200);
    expect(await factorOf()).toBeNull();
    expect(await latestReason('second_factor.disabled')).toBe('operator');
  });

  it('a token ends what it may do when its user loses the role', async () => {
    const token = await userToken(t, MFA, { role: 'operator' });
    expect((await call(t, token, 'GET /users')).status).toBe(200);
    const id = await t.onStore(async (store) => {
      const account = await store.findAccountByEmail(owner.email);
      await store.setAccountRole(account?.id ?? '', 'viewer');
      return account?.id ?? '';
    });
    const before = await stateOf(t);
    const refused = await call(t, token, 'POST /users', { email: 'late@example.com' });
    expect(refused).toMatchObject({ status: 403, body: { title: 'Not permitted', status: 403 } });
    expect(await stateOf(t)).toEqual(before);
    expect((await call(t, token, 'GET /users')).status).toBe(200);
    await t.onStore((store) => store.setAccountRole(id, null));
    expect((await call(t, token, 'GET /users')).status).toBe(403);
  });
});
