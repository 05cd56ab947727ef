/** Clients that an administrator adds, lists, removes, disables and enables. */
import { describe, expect, it } from 'vitest';
import {
  basic,
  CALLBACK,
  claimsOf,
  ISSUER,
  NOTES,
  redemption,
  refreshing,
  startServer,
} from './server-under-test.ts';
import { decide, requestOf, type Sight, setScene, textOf, VERIFIER } from './visitor.ts';

const MACHINE = {
  client_id: 'backup',
  client_name: 'Backup',
  grant_types: ['client_credentials'],
  token_endpoint_auth_method: 'client_secret_basic',
  scope: 'notes:read',
};

describe('an added client', () => {
  it('an added client may use client credentials, and its secret is shown once', async () => {
    const t = await startServer();
    const added = await t.server.clients.add(MACHINE);
    expect(added).toMatchObject({ client_id: 'backup', client_secret_expires_at: 0, scope: 'notes:read' });
    const secret = String(added['client_secret']);
    expect(t.snapshot()).not.toContain(secret);
    const { status, body } = await t.post(
      '/token',
      { grant_type: 'client_credentials' },
      basic('backup', secret),
    );
    expect(status).toBe(200);
    expect(claimsOf(body['access_token'])).toMatchObject({ sub: 'backup', scope: 'notes:read' });
    const wider = { grant_type: 'client_credentials', scope: 'notes:write' };
    expect((await t.post('/token', wider, basic('backup', secret))).body['error']).toBe('invalid_scope');
  });

  it('an added client is public unless stated otherwise, and gets an identifier if it has none', async () => {
    const t = await startServer();
    const added = await t.server.clients.add({ redirect_uris: [CALLBACK] });
    expect(added).toMatchObject({
      client_id: expect.stringMatching(/^client_[A-Za-z0-9_-]{25}$/),
      token_endpoint_auth_method: 'none',
    });
    expect(added).not.toHaveProperty('client_secret');
    expect(added).not.toHaveProperty('registration_access_token');
  });

  it('the consent page shows an added client as verified by the operator', async () => {
    const t = await setScene();
    await t.server.clients.add({ client_id: 'added', client_name: 'Sketchbook', redirect_uris: [CALLBACK] });
    const consent = await t.visitor.signIn(requestOf({ client_id: 'added' }));
    expect(textOf(consent)).toContain('This app was set up by the administrators of');
  });

  it('an added client never expires', async () => {
    const t = await startServer();
    await t.server.clients.add({ client_id: 'added', redirect_uris: [CALLBACK] });
    await t.signIn({ clientId: 'added', redirectUri: CALLBACK });
    t.clock.now += 10 * 365 * 86_400;
    while ((await t.store.sweep(t.clock.now, 100)) > 0);
    expect(await t.store.findClient('added')).toMatchObject({ expiresAt: null, lastUsedAt: 1_800_000_000 });
  });

  it.each([
    ['an identifier that is taken', { client_id: 'taken', redirect_uris: [CALLBACK] }],
    ['the identifier of a configured client', { client_id: 'desktop', redirect_uris: [CALLBACK] }],
    ['the identifier of a user', { client_id: 'user_ada', redirect_uris: [CALLBACK] }],
    ['an identifier with a line break', { client_id: 'a\nb', redirect_uris: [CALLBACK] }],
    ['a script as redirect URI', { redirect_uris: ['javascript:alert(1)'] }],
    ['client credentials for a public client', { grant_types: ['client_credentials'] }],
    ['nothing', {}],
  ])('rejects an added client with %s', async (_what, document) => {
    const t = await startServer();
    await t.server.clients.add({ client_id: 'taken', redirect_uris: [CALLBACK] });
    const before = t.snapshot();
    await expect(t.server.clients.add(document)).rejects.toThrow(/invalid_(client_metadata|redirect_uri)/);
    expect(t.snapshot()).toBe(before);
  });
});

describe('rotating a client secret', () => {
  const ask = async (t: Awaited<ReturnType<typeof startServer>>, secret: unknown) =>
    (await t.post('/token', { grant_type: 'client_credentials' }, basic('backup', String(secret)))).status;

  it('accepts the previous secret until the overlap ends, and the new one from now on', async () => {
    const t = await startServer();
    const { client_secret: first } = await t.server.clients.add(MACHINE);
    const rotated = await t.server.clients.rotateSecret('backup', 60);
    expect(rotated?.previousUntil).toBe(t.clock.now + 60);
    expect(t.snapshot()).not.toContain(rotated?.secret);
    expect([await ask(t, first), await ask(t, rotated?.secret)]).toEqual([200, 200]);
    t.clock.now += 59;
    expect(await ask(t, first)).toBe(200);
    t.clock.now += 1;
    expect([await ask(t, first), await ask(t, rotated?.secret)]).toEqual([401, 200]);
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'client.secret_rotated', clientId: 'backup' }),
    );
    expect(t.events.at(-2)).toMatchObject({ reason: expect.stringContaining('before a rotation') });
  });

  it('a second rotation within the overlap ends the secret before the previous one', async () => {
    const t = await startServer();
    const { client_secret: first } = await t.server.clients.add(MACHINE);
    const second = (await t.server.clients.rotateSecret('backup', 60))?.secret;
    const third = (await t.server.clients.rotateSecret('backup', 60))?.secret;
    expect([await ask(t, first), await ask(t, second), await ask(t, third)]).toEqual([401, 200, 200]);
  });

  it('rejects a client without a secret, and knows no unknown one', async () => {
    const t = await startServer();
    await t.server.clients.add({ client_id: 'open', redirect_uris: [CALLBACK] });
    const before = t.snapshot();
    await expect(t.server.clients.rotateSecret('open', 60)).rejects.toThrow(/no secret to rotate/);
    expect(await t.server.clients.rotateSecret('unknown', 60)).toBeNull();
    expect(await t.server.clients.rotateSecret('desktop', 60)).toBeNull();
    expect(t.snapshot()).toBe(before);
  });

  it('accepts both secrets of a configured client, as long as the configuration names both', async () => {
    const [current, previous] = ['new-0123456789abcdef-new', 'old-0123456789abcdef-old'];
    const resources = [
      { resource: 'https://mcp.example/mcp', name: 'Notes', scopes: { 'notes:read': 'Read your notes' } },
    ];
    const configured = { ...MACHINE, client_secret: current };
    const t = await startServer({
      resources,
      clients: [{ ...configured, previous_client_secret: previous }],
    });
    expect([await ask(t, current), await ask(t, previous), await ask(t, 'other')]).toEqual([200, 200, 401]);
    const later = await startServer({ resources, clients: [configured] });
    expect([await ask(later, current), await ask(later, previous)]).toEqual([200, 401]);
    const bare = { client_id: 'a', redirect_uris: [CALLBACK], previous_client_secret: previous };
    await expect(startServer({ resources, clients: [bare] })).rejects.toThrow(/previous_client_secret/);
  });
});

describe('updating a client', () => {
  it('changes what is given, keeps the rest and its secret, and derives what followed from it', async () => {
    const t = await startServer();
    const { client_secret: secret } = await t.server.clients.add(MACHINE);
    const updated = await t.server.clients.update('backup', {
      client_name: 'Copies',
      grant_types: ['authorization_code', 'client_credentials'],
      redirect_uris: ['http://127.0.0.1/callback'],
    });
    expect(updated).toMatchObject({
      client_name: 'Copies',
      scope: 'notes:read',
      response_types: ['code'],
      application_type: 'native',
    });
    expect(updated).not.toHaveProperty('client_secret');
    const form = { grant_type: 'client_credentials' };
    expect((await t.post('/token', form, basic('backup', String(secret)))).status).toBe(200);
    expect(t.events).toContainEqual({ type: 'client.changed', clientId: 'backup' });
  });

  it('a public client that becomes confidential gets a secret, and loses it when it becomes public again', async () => {
    const t = await startServer();
    await t.server.clients.add({ client_id: 'open', redirect_uris: [CALLBACK] });
    const method = (name: string) => t.server.clients.update('open', { token_endpoint_auth_method: name });
    expect((await method('client_secret_basic'))?.['client_secret']).toMatch(/^[\w-]{43}$/);
    expect(await method('none')).not.toHaveProperty('client_secret');
    expect(await t.store.findClient('open')).toMatchObject({ secretHash: null, previousSecret: null });
  });

  it('rejects invalid metadata and another identifier, and changes nothing', async () => {
    const t = await startServer();
    await t.server.clients.add(MACHINE);
    const before = t.snapshot();
    for (const changes of [
      { client_id: 'other' },
      { redirect_uris: ['javascript:alert(1)'] },
      { token_endpoint_auth_method: 'none' },
      { jwks_uri: 'ftp://keys.example' },
    ]) {
      await expect(t.server.clients.update('backup', changes)).rejects.toThrow(/invalid_/);
    }
    expect(await t.server.clients.update('unknown', { client_name: 'x' })).toBeNull();
    expect(t.snapshot()).toBe(before);
  });
});

describe('reducing the scope of a client', () => {
  /** A client whose user allowed it everything that it requests. */
  async function setScopeScene(scopes: Readonly<Record<string, string>>, scope: string) {
    const t = await setScene({ resources: [{ resource: NOTES, name: 'Notes', scopes }] });
    const grant_types = ['authorization_code', 'refresh_token'];
    await t.server.clients.add({ client_id: 'app', redirect_uris: [CALLBACK], grant_types });
    const redeem = async ({ left }: Sight) => {
      const code = left?.searchParams.get('code') ?? '';
      return (await t.post('/token', { ...redemption(code, VERIFIER, 'app'), redirect_uri: CALLBACK })).body;
    };
    return { ...t, redeem, end: await decide(t.visitor, requestOf({ client_id: 'app', scope })) };
  }

  it('applies to codes, and to existing grants at the next refresh, and ends when it is extended again', async () => {
    const { server, end, redeem, post, snapshot } = await setScopeScene({ a: 'Read', b: 'Write' }, 'a b');
    await server.clients.update('app', { scope: 'a' });
    const { scope, refresh_token: token } = await redeem(end);
    expect(scope).toBe('a');
    const before = snapshot();
    const refused = await post('/token', { ...refreshing(token, 'app'), scope: 'b' });
    expect([refused.body['error'], snapshot()]).toEqual(['invalid_scope', before]);
    const { body } = await post('/token', refreshing(token, 'app'));
    expect([body['scope'], claimsOf(body['access_token'])['scope']]).toEqual(['a', 'a']);
    await server.clients.update('app', { scope: 'a b' });
    expect((await post('/token', refreshing(body['refresh_token'], 'app'))).body['scope']).toBe('a b');
  });

  it.each([
    { description: 'does not offer again what is beyond it now', scope: 'a', shows: false, granted: 'a' },
    { description: 'offers again what is within it', scope: 'a b', shows: true, granted: 'b a' },
  ])('the next consent page $description', async ({ scope, shows, granted }) => {
    const { server, visitor, end, redeem } = await setScopeScene({ a: 'Read', b: 'Write' }, 'b');
    await redeem(end);
    await server.clients.update('app', { scope });
    const page = await visitor.open(requestOf({ client_id: 'app', scope: 'a' }));
    expect(textOf(page).includes('Write')).toBe(shows);
    expect((await redeem(await visitor.submit(page, { decision: 'allow' })))['scope']).toBe(granted);
  });
});

describe('the list of clients', () => {
  it('lists registered and added clients, page by page, without hashes', async () => {
    const t = await startServer();
    await t.register({ redirect_uris: [CALLBACK] });
    await t.server.clients.add(MACHINE);
    const [first, second, ...rest] = await t.server.clients.list();
    expect(rest).toEqual([]);
    expect(first).toMatchObject({ id: 'backup', origin: 'administered', expiresAt: null, lastUsedAt: null });
    expect(second).toMatchObject({
      origin: 'registered',
      createdAt: t.clock.now,
      expiresAt: t.clock.now + 86_400,
    });
    expect(Object.keys(first ?? {}).filter((name) => /hash/i.test(name))).toEqual([]);
    expect(await t.server.clients.list('', 1)).toEqual([first]);
    expect(await t.server.clients.list('backup', 1)).toEqual([second]);
  });
});

describe('removing a client', () => {
  it('T143: removing a client revokes everything, and a new one of the same name inherits nothing', async () => {
    const t = await startServer();
    const document = {
      client_id: 'added',
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
    };
    await t.server.clients.add(document);
    const { body } = await t.signIn({ clientId: 'added', redirectUri: CALLBACK });
    const pending = await t.issueCode({ clientId: 'added', redirectUri: CALLBACK });
    expect(await t.server.clients.remove('added')).toBe(true);
    expect(await t.server.clients.remove('added')).toBe(false);
    await t.server.clients.add(document);
    expect(await t.server.isLive(claimsOf(body['access_token']) as never)).toBe(false);
    for (const form of [
      refreshing(body['refresh_token'], 'added'),
      redemption(pending.code, pending.verifier, 'added'),
    ]) {
      const refused = await t.post('/token', form);
      expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_grant']);
    }
    expect((await t.signIn({ clientId: 'added', redirectUri: CALLBACK })).status).toBe(200);
  });

  it('T143: removing a client also revokes tokens without a grant', async () => {
    const t = await startServer();
    const added = await t.server.clients.add(MACHINE);
    const secret = String(added['client_secret']);
    const get = async (by: string) =>
      claimsOf(
        (await t.post('/token', { grant_type: 'client_credentials' }, basic('backup', by))).body[
          'access_token'
        ],
      );
    const claims = await get(secret);
    expect(await t.server.isLive(claims as never)).toBe(true);
    await t.server.clients.remove('backup');
    expect(await t.server.isLive(claims as never)).toBe(false);
    t.clock.now += 1;
    const again = await t.server.clients.add(MACHINE);
    expect(await t.server.isLive(claims as never)).toBe(false);
    expect(await t.server.isLive((await get(String(again['client_secret']))) as never)).toBe(true);
  });

  it('configured clients cannot be removed', async () => {
    const t = await startServer();
    expect(await t.server.clients.remove('desktop')).toBe(false);
    expect((await t.signIn()).status).toBe(200);
  });
});

describe('a disabled client', () => {
  it('T095 T143: a disabled client has no valid tokens and gets none until it is enabled and the user consents again', async () => {
    const t = await startServer();
    await t.server.clients.add({
      client_id: 'added',
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
    });
    const { body } = await t.signIn({ clientId: 'added', redirectUri: CALLBACK });
    const pending = await t.issueCode({ clientId: 'added', redirectUri: CALLBACK });
    const other = await t.signIn();
    expect(await t.server.clients.disable('added')).toBe(true);
    expect(await t.server.clients.find('added')).toMatchObject({ disabledAt: t.clock.now });
    expect(await t.server.isLive(claimsOf(body['access_token']) as never)).toBe(false);
    expect(await t.server.isLive(claimsOf(other.body['access_token']) as never)).toBe(true);
    const forms = [
      refreshing(body['refresh_token'], 'added'),
      redemption(pending.code, pending.verifier, 'added'),
    ];
    for (const form of forms) {
      const refused = await t.post('/token', form);
      expect([refused.status, refused.body['error']]).toEqual([401, 'invalid_client']);
    }

    expect(await t.server.clients.enable('added')).toBe(true);
    for (const form of forms) {
      const refused = await t.post('/token', form);
      expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_grant']);
    }
    expect((await t.signIn({ clientId: 'added', redirectUri: CALLBACK })).status).toBe(200);
    for (const verb of ['disable', 'enable'] as const)
      expect(await t.server.clients[verb]('missing')).toBe(false);
  });

  it('T095: client credentials tokens of a disabled client are invalid', async () => {
    const t = await startServer();
    const secret = String((await t.server.clients.add(MACHINE))['client_secret']);
    const form = { grant_type: 'client_credentials' };
    const { body } = await t.post('/token', form, basic('backup', secret));
    await t.server.clients.disable('backup');
    expect(await t.server.isLive(claimsOf(body['access_token']) as never)).toBe(false);
    expect((await t.post('/token', form, basic('backup', secret))).body['error']).toBe('invalid_client');
  });

  it('T095 T143: tokens without a grant from before their client was disabled stay revoked after it is enabled', async () => {
    const t = await startServer();
    const secret = String((await t.server.clients.add(MACHINE))['client_secret']);
    const form = { grant_type: 'client_credentials' };
    const isLive = async (token: unknown) => [
      await t.server.isLive(claimsOf(token) as never),
      (await t.post('/introspect', { token: String(token) }, basic('notes-server', 'notes-server-secret')))
        .body['active'],
    ];
    const { body } = await t.post('/token', form, basic('backup', secret));
    expect(await isLive(body['access_token'])).toEqual([true, true]);
    await t.server.clients.enable('backup');
    expect(await isLive(body['access_token'])).toEqual([true, true]);
    await t.server.clients.disable('backup');
    await t.server.clients.enable('backup');
    expect(await isLive(body['access_token'])).toEqual([false, false]);
    t.clock.now += 1;
    expect(await isLive(body['access_token'])).toEqual([false, false]);
    const again = await t.post('/token', form, basic('backup', secret));
    expect(await isLive(again.body['access_token'])).toEqual([true, true]);
  });

  it('T095 T143: a client that was disabled while the clock was ahead has valid tokens once enabled, the earlier ones stay revoked', async () => {
    const t = await startServer();
    const secret = String((await t.server.clients.add(MACHINE))['client_secret']);
    const issue = async () => {
      const { body } = await t.post('/token', { grant_type: 'client_credentials' }, basic('backup', secret));
      return claimsOf(body['access_token']) as never;
    };
    const early = await issue();
    t.clock.now += 86_400;
    const ahead = await issue();
    expect(await t.server.isLive(ahead)).toBe(true);
    await t.server.clients.disable('backup');
    t.clock.now -= 86_400 - 60;
    await t.server.clients.enable('backup');
    expect(await t.server.isLive(await issue())).toBe(true);
    expect([await t.server.isLive(early), await t.server.isLive(ahead)]).toEqual([false, false]);
  });

  it('T095: a disabled client gets the same response from registration management as an unknown one', async () => {
    const t = await startServer();
    const response = await t.server.handle(
      new Request(`${ISSUER}/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' }),
      }),
    );
    const { client_id: id, registration_access_token: token } = (await response.json()) as Record<
      string,
      string
    >;
    const read = async () =>
      (
        await t.server.handle(
          new Request(`${ISSUER}/register/${id}`, { headers: { authorization: `Bearer ${token}` } }),
        )
      ).status;
    expect(await read()).toBe(200);
    await t.server.clients.disable(id ?? '');
    expect(await read()).toBe(401);
  });
});
