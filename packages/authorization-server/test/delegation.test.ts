/** Token exchange for another protected resource: a server calls the next one for its user, visible as a chain of actors. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AuthorizationServerOptions, createAuthorizationServer } from '../src/index.ts';
import {
  ACCOUNT,
  basic,
  CLIENTS,
  claimsOf,
  FILES,
  ISSUER,
  MASTER_KEY,
  NOTES,
  startServer,
} from './server-under-test.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const MAIL = 'https://mcp.example/mail';

const exchanging = (client_id: string) => ({
  client_id,
  client_secret: `${client_id}-secret`,
  grant_types: [GRANT],
});
const scopes = { 'notes:read': 'Read', 'notes:write': 'Write' };

const OPTIONS = {
  clients: [
    ...CLIENTS.filter((one) => !JSON.stringify(one).includes('notes-server')),
    exchanging('notes-server'),
    exchanging('files-server'),
  ],
  resources: [
    {
      resource: NOTES,
      name: 'Notes',
      scopes,
      tokenExchangeClients: ['notes-server'],
      exchangeTargets: [FILES],
    },
    {
      resource: FILES,
      name: 'Files',
      scopes: { 'notes:read': 'Read' },
      tokenExchangeClients: ['files-server'],
      exchangeTargets: [NOTES, FILES],
    },
    { resource: MAIL, name: 'Mail', scopes: { 'notes:read': 'Read' } },
  ],
};

async function setScene(options: object = {}) {
  const t = await startServer({ ...OPTIONS, ...options });
  const { body } = await t.signIn();
  const exchange = (
    subject: unknown,
    target: string,
    form: Record<string, string> = {},
    as = 'notes-server',
  ) =>
    t.post(
      '/token',
      {
        grant_type: GRANT,
        subject_token: String(subject),
        subject_token_type: ACCESS_TOKEN,
        resource: target,
        ...form,
      },
      basic(as, `${as}-secret`),
    );
  return { ...t, token: body['access_token'], exchange };
}

describe('token exchange for another protected resource', () => {
  it('a protected server gets a token for the next one, with less scope, the same end, and the chain of actors', async () => {
    const t = await setScene();
    t.clock.now += 100;
    const { status, body } = await t.exchange(t.token, FILES);
    expect([status, body['issued_token_type'], body['refresh_token']]).toEqual([
      200,
      ACCESS_TOKEN,
      undefined,
    ]);
    const [before, claims] = [claimsOf(t.token), claimsOf(body['access_token'])];
    expect(claims).toMatchObject({
      sub: ACCOUNT,
      aud: FILES,
      client_id: 'notes-server',
      scope: 'notes:read',
      exp: before['exp'],
      grant_id: before['grant_id'],
      act: { sub: 'notes-server', act: { sub: 'desktop' } },
    });
    const further = await t.exchange(body['access_token'], NOTES, {}, 'files-server');
    expect(claimsOf(further.body['access_token'])['act']).toEqual({
      sub: 'files-server',
      act: { sub: 'notes-server', act: { sub: 'desktop' } },
    });
    expect(t.events).toContainEqual(
      expect.objectContaining({
        type: 'token.exchanged',
        actors: ['files-server', 'notes-server', 'desktop'],
      }),
    );
  });

  it.each([`${FILES}/`, FILES.replace('https://mcp.example', 'HTTPS://MCP.Example:443')])(
    '[AS-RES-63] a token exchange names the resource as every other request may: %s',
    async (spelling) => {
      const t = await setScene();
      const { body } = await t.exchange(t.token, spelling, { audience: FILES });
      expect(claimsOf(body['access_token'])['aud']).toBe(FILES);
      const before = t.snapshot();
      const refused = await t.exchange(t.token, `${spelling}s`);
      expect([refused.status, refused.body]).toEqual([
        400,
        expect.objectContaining({
          error: 'invalid_target',
          error_description: 'Unknown resource or identity provider.',
        }),
      ]);
      expect(t.snapshot()).toBe(before);
    },
  );

  it('the exchanged token ends with the grant of its user', async () => {
    const t = await setScene();
    const { body } = await t.exchange(t.token, FILES);
    const claims = claimsOf(body['access_token']);
    expect(await t.server.isLive(claims as never)).toBe(true);
    await t.store.revokeGrant(String(claims['grant_id']), t.clock.now);
    expect(await t.server.isLive(claims as never)).toBe(false);
    expect((await t.exchange(t.token, FILES)).body['error']).toBe('invalid_request');
  });

  it('the exchanged token ends with the client that holds it, and the token of the user does not', async () => {
    const t = await setScene();
    const { body } = await t.exchange(t.token, FILES);
    const restart = async (clients: AuthorizationServerOptions['clients']) => {
      const server = await createAuthorizationServer({
        issuer: ISSUER,
        store: t.store,
        masterKey: MASTER_KEY,
        clients,
        resources: OPTIONS.resources.map(({ resource, name, scopes }) => ({ resource, name, scopes })),
        clock: () => t.clock.now,
      });
      onTestFinished(() => server.close());
      return (token: unknown) => server.isLive(claimsOf(token) as never);
    };
    const before = t.snapshot();
    const same = await restart(OPTIONS.clients);
    expect([await same(t.token), await same(body['access_token'])]).toEqual([true, true]);
    const without = await restart(
      OPTIONS.clients.filter((one) => !JSON.stringify(one).includes('notes-server')),
    );
    expect([await without(t.token), await without(body['access_token'])]).toEqual([true, false]);
    expect(t.snapshot()).toBe(before);
  });

  it.each<[string, string, Record<string, string>, string, string]>([
    ['a resource that is no target', MAIL, {}, 'notes-server', 'invalid_target'],
    ['its own resource', NOTES, {}, 'notes-server', 'invalid_target'],
    [
      'more scope than the subject token has there',
      FILES,
      { scope: 'notes:write' },
      'notes-server',
      'invalid_scope',
    ],
    ['a token of another resource', NOTES, {}, 'files-server', 'invalid_request'],
  ])('rejects %s, and changes nothing', async (_what, target, form, as, error) => {
    const t = await setScene();
    const before = t.snapshot();
    const { status, body } = await t.exchange(t.token, target, form, as);
    expect([status, body['error']]).toEqual([400, error]);
    expect(t.snapshot()).toBe(before);
    expect((await t.exchange(t.token, FILES)).status).toBe(200);
  });

  it('a server gets no scope beyond the maximum scope of its client', async () => {
    const hierarchy = { 'notes:all': ['notes:read'] };
    const files = { ...OPTIONS.resources[1], scopes: { ...scopes, 'notes:all': 'All' }, hierarchy };
    const resources = OPTIONS.resources.map((one) => (one.resource === FILES ? files : one));
    const limited = (scope: string) =>
      setScene({
        resources,
        clients: OPTIONS.clients.map((one) =>
          'client_id' in one && one.client_id === 'notes-server' ? { ...one, scope } : one,
        ),
      });
    const t = await limited('notes:read');
    const before = t.snapshot();
    const refused = await t.exchange(t.token, FILES, { scope: 'notes:write' });
    expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_scope']);
    expect(t.snapshot()).toBe(before);
    expect((await t.exchange(t.token, FILES)).body['scope']).toBe('notes:read');
    const wider = await limited('notes:read notes:write');
    expect((await wider.exchange(wider.token, FILES)).body['scope']).toBe('notes:read notes:write');
    const including = await limited('notes:all');
    expect((await including.exchange(including.token, FILES)).body['scope']).toBe('notes:read');
    const other = await setScene({ resources });
    expect((await other.exchange(other.token, FILES)).body['scope']).toBe('notes:read notes:write');
  });

  it.each<[readonly string[], Record<string, unknown>]>([
    [[], {}],
    [['groups'], { groups: ['admins'] }],
  ])(
    'the exchanged token has no claim about the user that the subject token does not have: %j',
    async (claims, expected) => {
      const [notes, files, mail] = OPTIONS.resources;
      const resources = [
        { ...notes, claims },
        { ...files, claims: ['name', 'groups'], scopeClaims: { 'notes:read': ['email'] } },
        mail,
      ];
      const t = await setScene({ resources });
      await t.server.accounts.describe(ACCOUNT, { name: 'Ada Lovelace', groups: ['admins'] });
      const { body } = await t.signIn();
      const userClaims = (token: unknown) => {
        const { email, name, groups } = claimsOf(token);
        return { email, name, groups };
      };
      expect(userClaims(body['access_token'])).toEqual(expected);
      const exchanged = (await t.exchange(body['access_token'], FILES)).body['access_token'];
      expect(userClaims(exchanged)).toEqual(expected);
      const further = await t.exchange(exchanged, FILES, {}, 'files-server');
      expect(userClaims(further.body['access_token'])).toEqual(expected);
      // The user's own client gets what the page of that resource lists.
      const own = await t.signIn({ resources: [FILES], scopes: ['notes:read'] });
      expect(userClaims(own.body['access_token'])).toEqual({
        email: 'ada@example.org',
        name: 'Ada Lovelace',
        groups: ['admins'],
      });
    },
  );

  it('an ID-JAG for an exchanged token names its actors as well', async () => {
    const [audience, resource] = ['https://chat.example', 'https://chat.example/mcp'];
    const t = await setScene({ assertionAudiences: [{ audience, clients: { 'notes-server': 'there' } }] });
    const { body } = await t.exchange(t.token, FILES);
    const form = { requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag', audience };
    const { body: issued } = await t.exchange(body['access_token'], resource, form);
    expect(claimsOf(issued['access_token'])['act']).toEqual({ sub: 'notes-server', act: { sub: 'desktop' } });
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'assertion.issued', actors: ['notes-server', 'desktop'] }),
    );
  });

  it('is rate-limited per grant', async () => {
    const t = await setScene({ rateLimits: { exchanges: { burst: 1, perMinute: 1 } } });
    expect((await t.exchange(t.token, FILES)).status).toBe(200);
    const refused = await t.exchange(t.token, FILES);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    t.clock.now += 60;
    expect((await t.exchange(t.token, FILES)).status).toBe(200);
  });

  it('a chain has at most five actors', async () => {
    const t = await setScene();
    let { body } = await t.exchange(t.token, FILES);
    for (let actors = 3; actors <= 5; actors += 1) {
      ({ body } = await t.exchange(body['access_token'], FILES, {}, 'files-server'));
      expect(body).toHaveProperty('access_token');
    }
    const beyond = await t.exchange(body['access_token'], FILES, {}, 'files-server');
    expect([beyond.status, beyond.body['error']]).toEqual([400, 'invalid_request']);
  });
});
