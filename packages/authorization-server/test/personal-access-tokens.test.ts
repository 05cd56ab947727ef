/** Personal access tokens: created on the account pages, read by guards and introspection, ended with their grant. */
import { describe, expect, it } from 'vitest';
import { createPersonalAccessToken } from '../src/personal-access-tokens/personal-access-tokens.ts';
import { ACCOUNT, basic, FILES, ISSUER, NOTES, refreshing } from './server-under-test.ts';
import {
  EMAIL,
  type Fields,
  PASSWORD,
  permissionField,
  type Scene,
  type Sight,
  setScene,
  textOf,
} from './visitor.ts';

const PAGE = '/connections/new-token';
const FORM = /portcullis_pat_[\w-]{68}/;

const setUp = (more: object = {}) => setScene({ personalAccessTokens: true, ...more });

/** Opens the form, which needs a credential. */
async function openForm(t: Scene): Promise<Sight> {
  await t.visitor.submit(await t.visitor.open('/login?to=connections'), { email: EMAIL, password: PASSWORD });
  return confirm(t);
}

const confirm = async ({ visitor }: Scene): Promise<Sight> =>
  visitor.submit(await visitor.open(PAGE), { password: PASSWORD });

const NOTES_READ = permissionField(NOTES, 'notes:read');
const CHOICE = { name: 'Nightly CI', resource: NOTES, [NOTES_READ]: 'yes', days: '30' };

/** Creates a token. @returns it, and the page */
async function create(t: Scene, fields: Fields = CHOICE): Promise<{ token: string; sight: Sight }> {
  const sight = await t.visitor.submit(await openForm(t), fields, PAGE);
  return { token: FORM.exec(sight.html)?.[0] ?? '', sight };
}

const introspect = async (t: Scene, token: string) =>
  (await t.post('/introspect', { token }, basic('notes-server', 'notes-server-secret'))).body;

describe('creating a personal access token', () => {
  it('shows the token once, stores only its hash, and lists it on the connections page', async () => {
    const t = await setUp();
    const { token, sight } = await create(t);
    expect(token).toMatch(FORM);
    expect(sight.headers.get('cache-control')).toContain('no-store');
    expect(t.snapshot()).not.toContain(token);
    expect(JSON.stringify(t.events)).not.toContain(token);
    const list = await t.visitor.open('/connections');
    expect(list.html).not.toContain(token);
    expect(textOf(list)).toContain('Nightly CI');
    expect(textOf(list)).toContain('personal access token, valid until');
    expect(t.events).toContainEqual(
      expect.objectContaining({
        type: 'personal_access_token.created',
        accountId: ACCOUNT,
        resource: NOTES,
        scopes: ['notes:read'],
      }),
    );
  });

  it('asks for a credential: a copied session alone creates none', async () => {
    const t = await setUp();
    const form = await openForm(t);
    const before = t.snapshot();
    const thief = t.newVisitor('203.0.113.9');
    for (const [name, value] of t.visitor.cookies) thief.cookies.set(name, value);
    const asked = await thief.open(PAGE);
    for (const fields of [CHOICE, { ...CHOICE, proof: '9999999999.forged' }, { ...CHOICE, proof: '' }]) {
      const refused = await thief.submit(asked, fields, PAGE);
      expect(refused.html).not.toMatch(FORM);
    }
    t.clock.now += 601;
    expect((await t.visitor.submit(form, CHOICE, PAGE)).html).not.toMatch(FORM);
    expect(t.snapshot()).toBe(before);
  });

  it.each([
    ['no name', { ...CHOICE, name: ' ' }],
    ['no permission', { ...CHOICE, [NOTES_READ]: 'no' }],
    ['a permission of another server only', { ...CHOICE, resource: FILES }],
    ['an unknown server', { ...CHOICE, resource: 'https://other.example/' }],
    ['more days than the operator allows', { ...CHOICE, days: '365' }],
  ])('rejects a form with %s and stores nothing', async (_what, fields) => {
    const t = await setUp();
    const form = await openForm(t);
    const before = t.snapshot();
    const refused = await t.visitor.submit(form, fields, PAGE);
    expect([refused.status, FORM.test(refused.html)]).toEqual([400, false]);
    expect(t.snapshot()).toBe(before);
  });

  it('a permission counts for its own server, though the page offers another one no more', async () => {
    const [first, second] = ['https://mcp.example/first', 'https://mcp.example/second'];
    const gone = new Set<string>();
    const t = await setUp({
      resources: [first, second].map((resource) => ({
        ...{ resource, name: resource, scopes: { read: 'Read', write: 'Write' } },
      })),
      workspaces: async (_accountId: string, resource: string) =>
        gone.has(resource) ? [{ id: 'team', name: 'Team' }] : [],
    });
    const form = await openForm(t);
    const offered = [...form.html.matchAll(/name="(scope-[^"]+)"/g)].map(([, name = '']) => name);
    expect(offered).toHaveLength(4);
    gone.add(first);
    const [firstRead = '', firstWrite = '', secondRead = ''] = offered;
    const before = t.snapshot();
    const chosen = { name: 'CI', resource: second, days: '30', [firstRead]: 'yes', [firstWrite]: 'yes' };
    const refused = await t.visitor.submit(form, chosen, PAGE);
    expect([refused.status, FORM.test(refused.html)]).toEqual([400, false]);
    expect(t.snapshot()).toBe(before);
    const { html } = await t.visitor.submit(form, { ...chosen, [secondRead]: 'yes' }, PAGE);
    expect(await t.server.readPersonalAccessToken(FORM.exec(html)?.[0] ?? '')).toMatchObject({
      aud: second,
      scope: 'read',
    });
  });

  it('is limited to fifty live tokens of a user', async () => {
    const t = await setUp();
    const form = await openForm(t);
    const { store } = t;
    const context = { store, clock: () => t.clock.now, events: () => {} };
    const wanted = {
      accountId: ACCOUNT,
      name: 'CI',
      resource: NOTES,
      scopes: ['notes:read'],
      lifetime: 86_400,
    };
    for (let count = 0; count < 49; count += 1) await createPersonalAccessToken(context, wanted);
    expect((await t.visitor.submit(form, CHOICE, PAGE)).html).toMatch(FORM);
    const refused = await t.visitor.submit(await confirm(t), CHOICE, PAGE);
    expect([refused.status, textOf(refused)]).toEqual([400, expect.stringContaining('maximum number')]);
  });

  it('a confirmation makes one token, however its proof is written the second time', async () => {
    const t = await setUp();
    const form = await openForm(t);
    const proof = /name="proof" value="([^"]+)"/.exec(form.html)?.[1] ?? '';
    expect((await t.visitor.submit(form, CHOICE, PAGE)).html).toMatch(FORM);
    const before = t.snapshot();
    for (const again of [proof, `${proof}=`, `${proof}.x`]) {
      const refused = await t.visitor.submit(form, { ...CHOICE, proof: again }, PAGE);
      expect(refused.html).not.toMatch(FORM);
      expect(t.snapshot()).toBe(before);
    }
    expect((await t.visitor.submit(await confirm(t), CHOICE, PAGE)).html).toMatch(FORM);
  });

  it('is off by default', async () => {
    const t = await setScene();
    await t.visitor.submit(await t.visitor.open('/login?to=connections'), {
      email: EMAIL,
      password: PASSWORD,
    });
    expect((await t.visitor.open(PAGE)).status).toBe(404);
    expect((await t.visitor.open('/connections')).html).not.toContain(PAGE);
  });
});

describe('a personal access token', () => {
  it('is active at introspection for the clients of its resource only', async () => {
    const t = await setUp();
    const { token } = await create(t);
    expect(await introspect(t, token)).toMatchObject({
      active: true,
      sub: ACCOUNT,
      aud: NOTES,
      client_id: 'personal-access-token',
      scope: 'notes:read',
      exp: t.clock.now + 30 * 86_400,
    });
    expect(await introspect(t, `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`)).toEqual({
      active: false,
    });
  });

  it('is inactive for the clients of other resources', async () => {
    const t = await setUp();
    const { token } = await create(t, {
      ...CHOICE,
      resource: FILES,
      [permissionField(FILES, 'files:read')]: 'yes',
    });
    expect(await t.server.readPersonalAccessToken(token)).toMatchObject({ aud: FILES, scope: 'files:read' });
    expect(await introspect(t, token)).toEqual({ active: false });
  });

  it('records its use at most once an hour', async () => {
    const t = await setUp();
    const { token } = await create(t);
    const lastUse = async () => (await t.store.listGrants(ACCOUNT, t.clock.now, null, 10))[0]?.lastUsedAt;
    const made = t.clock.now;
    t.clock.now += 3599;
    await introspect(t, token);
    expect(await lastUse()).toBe(made);
    t.clock.now += 1;
    await introspect(t, token);
    expect(await lastUse()).toBe(made + 3600);
    // The clock was ahead.
    t.clock.now -= 61;
    await introspect(t, token);
    expect(await lastUse()).toBe(made + 3539);
  });

  it('cannot be refreshed, exchanged, or obtained by a client of its name', async () => {
    const t = await setUp();
    const { token } = await create(t);
    expect((await t.post('/token', refreshing(token, 'desktop'))).body['error']).toBe('invalid_grant');
    const exchange = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    };
    const refused = await t.post('/token', exchange, basic('notes-server', 'notes-server-secret'));
    expect(refused.status).toBeGreaterThanOrEqual(400);
    await expect(
      t.server.clients.add({ client_id: 'personal-access-token', redirect_uris: ['https://a.example/'] }),
    ).rejects.toThrow(/personal access tokens/);
    expect(await introspect(t, token)).toMatchObject({ active: true });
  });

  const ENDINGS: readonly (readonly [string, (t: Scene) => Promise<unknown>])[] = [
    [
      'it expires',
      async (t) => {
        t.clock.now += 30 * 86_400;
      },
    ],
    [
      'its user ends it on the connections page',
      async (t) => {
        const [grant] = await t.store.listGrants(ACCOUNT, t.clock.now, null, 10);
        await t.visitor.submit(await t.visitor.open(`/connections/end?connection=${grant?.id}`), {});
      },
    ],
    ['its user ends all access', async (t) => t.visitor.submit(await t.visitor.open('/connections/end'), {})],
    ['the account is disabled', async (t) => t.server.accounts.disable(EMAIL)],
    ['the account is removed', async (t) => t.server.accounts.remove(EMAIL)],
  ];
  it.each(ENDINGS)('is refused at once when %s', async (when, end) => {
    // The guard itself checks the expiry of claims.
    const endsByTime = when === 'it expires';
    const t = await setUp();
    const { token } = await create(t);
    const claims = await t.server.readPersonalAccessToken(token);
    expect(claims).toMatchObject({ iss: ISSUER, sub: ACCOUNT, aud: NOTES, scope: 'notes:read' });
    const isLive = async () => claims !== null && (await t.server.isLive(claims));
    expect(await isLive()).toBe(true);
    await end(t);
    expect(await isLive()).toBe(endsByTime);
    expect(await introspect(t, token)).toEqual({ active: false });
    expect(await t.server.readPersonalAccessToken(token)).toBeNull();
  });
});
