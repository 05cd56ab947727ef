/** Requests to the admin API: what is refused, what is changed, and what the audit log has of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, type Installation, startInstallation, stateOf } from './installation.ts';

let t: Installation;
let token: string;
beforeAll(async () => {
  const files = {
    path: '/files',
    backend: { url: 'http://127.0.0.1:9/mcp' },
    scopes: { 'files:read': 'Read your files' },
    tools: { '*': ['files:read'] },
  };
  t = await startInstallation({ servers: [files] });
  token = await t.machineToken('ops');
});
afterAll(() => t.stop());

let invited = 0;
/** @returns the identifier of a new account */
async function invite(): Promise<string> {
  invited += 1;
  const { body } = await call(t, token, 'POST /users', { email: `user${invited}@example.com` });
  return (body as { readonly user: { readonly id: string } }).user.id;
}

async function addClient(id: string): Promise<void> {
  const metadata = { client_id: id, redirect_uris: ['https://app.example/callback'] };
  expect((await call(t, token, 'POST /clients', { metadata })).status).toBe(201);
}

/** The latest change in the audit log. */
async function latestChange() {
  const change = async () => {
    const { body } = await call(t, token, 'GET /events?type=admin.changed&limit=1');
    return (body as { readonly items: readonly { readonly details: object }[] }).items[0];
  };
  return change();
}

describe('requests to the admin API', () => {
  it('a change is recorded with who made it, what was before and after, and why', async () => {
    const id = await invite();
    const body = { reason: 'left the company' };
    expect(await call(t, token, `POST /users/${id}/disable`, body)).toMatchObject({
      status: 200,
      body: { id, disabledAt: expect.any(String) },
    });
    await expect.poll(latestChange).toMatchObject({
      type: 'admin.changed',
      clientId: 'ops',
      userId: null,
      details: {
        operation: 'users.disable',
        target: id,
        before: { disabledAt: null },
        after: { disabledAt: expect.any(Number) },
        reason: 'left the company',
      },
    });
    expect((await call(t, token, `POST /users/${id}/enable`)).body).toMatchObject({ disabledAt: null });
  });

  it('sessions that an operator ends are recorded as ended by one', async () => {
    const id = await invite();
    const now = Math.floor(Date.now() / 1000);
    await t.onStore(async (store) => {
      const account = await store.findAccount(id);
      const times = { createdAt: now, expiresAt: now + 600 };
      const session = { hash: `session-${id}`, accountId: id, ...times, address: null, browser: null };
      await store.saveSession(session, account?.passwordHash ?? '');
    });
    expect((await call(t, token, `DELETE /users/${id}/sessions`)).status).toBe(200);
    const ended = async () => {
      const { body } = await call(t, token, `GET /events?type=session.ended&user=${id}`);
      return (body as { readonly items: readonly { readonly details: object }[] }).items;
    };
    await expect.poll(ended).toMatchObject([{ details: { count: 1, reason: 'operator' } }]);
  });

  it('an account is created whole: with its name, groups and role', async () => {
    const whole = { email: 'whole@example.com', name: 'Ada', groups: ['editors'], role: 'viewer' };
    expect((await call(t, token, 'POST /users', whole)).status).toBe(201);
    expect((await call(t, token, 'GET /users/whole@example.com')).body).toMatchObject(whole);
  });

  it.each([
    ['with two spaces in a row', ['ok', 'a  b']],
    ['with a line break', ['x\ny']],
    ['with a space at its start', [' lead']],
    ['that is empty', ['']],
    ['of a direction override', ['a\u202eb']],
    ['beyond 4,000 characters in all', Array.from({ length: 60 }, (_, n) => `${n}`.padEnd(100, 'x'))],
  ])('a group %s is refused, and nothing changes', async (_what, groups) => {
    const id = await invite();
    const whole = { email: 'refused@example.com', name: 'Eve' };
    const set = { name: 'Ada', groups: ['editors', 'editors', 'Größen (Süd)'] };
    expect((await call(t, token, `PATCH /users/${id}`, set)).status).toBe(200);
    const refused = {
      status: 400,
      body: { detail: expect.stringContaining('A user has at most 100 groups') },
    };
    expect(await call(t, token, 'POST /users', { ...whole, groups })).toMatchObject(refused);
    expect((await call(t, token, 'GET /users/refused@example.com')).status).toBe(404);
    expect(await call(t, token, `PATCH /users/${id}`, { name: 'Eve', role: 'viewer', groups })).toMatchObject(
      refused,
    );
    expect((await call(t, token, `GET /users/${id}`)).body).toMatchObject({
      ...{ name: 'Ada', role: null, groups: ['editors', 'Größen (Süd)'] },
    });
  });

  it('groups are changed, and with `now` every connection of a user who loses one ends', async () => {
    const id = await invite();
    let grants = 0;
    const end = async (body: object) => {
      expect((await call(t, token, `PATCH /users/${id}`, { groups: ['editors', 'leads'] })).status).toBe(200);
      const now = Math.floor(Date.now() / 1000);
      const grant = {
        ...{
          id: `grant_${now}_${grants++}`,
          clientId: 'app',
          accountId: id,
          workspace: null,
          consentDigest: 'x',
        },
        ...{ scopes: ['notes:read'], resources: [`${t.url}/mcp`], createdAt: now, expiresAt: now + 600 },
        ...{ lastUsedAt: now, lastUsedFrom: null },
      };
      await t.onStore((store) => store.saveManagedGrant(grant));
      expect(await call(t, token, `PATCH /users/${id}`, { groups: ['leads'], ...body })).toMatchObject({
        ...{ status: 200, body: { groups: ['leads'] } },
      });
      const { body: left } = await call(t, token, `GET /users/${id}/grants`);
      return (left as { readonly items: readonly unknown[] }).items.length;
    };
    expect([await end({}), await end({ now: true })]).toEqual([1, 0]);
  });

  it('verifies a client that registered itself, refuses one that an operator added, and takes it back', async () => {
    const registration = await fetch(`${t.url}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['https://app.example/cb'] }),
    });
    const { client_id: id } = (await registration.json()) as { readonly client_id: string };
    const etag = (await call(t, token, `GET /clients/${id}`)).headers.get('etag') ?? '';
    await addClient('trusted');
    const before = await stateOf(t);
    expect((await call(t, token, 'POST /clients/trusted/verify')).status).toBe(409);
    expect((await call(t, token, 'POST /clients/ops/verify')).status).toBe(409);
    expect((await call(t, token, `POST /clients/${id}/verify`, {}, { 'if-match': '"stale"' })).status).toBe(
      412,
    );
    expect(await stateOf(t)).toEqual(before);
    expect((await call(t, token, `POST /clients/${id}/verify`, {}, { 'if-match': etag })).body).toMatchObject(
      {
        verifiedAt: expect.any(String),
      },
    );
    await expect.poll(latestChange).toMatchObject({ details: { operation: 'clients.verify', target: id } });
    expect((await call(t, token, `POST /clients/${id}/unverify`)).body).toMatchObject({ verifiedAt: null });
  });

  it('refuses unknown members, and names each', async () => {
    const before = await stateOf(t);
    const refused = await call(t, token, 'POST /users', {
      email: 'x@example.com',
      id: 'user_mine',
      isAdmin: true,
    });
    expect(refused).toMatchObject({
      status: 400,
      body: { status: 400, issues: [{ at: 'body', message: expect.stringContaining('isAdmin') }] },
    });
    expect(refused.headers.get('content-type')).toBe('application/problem+json');
    const id = await invite();
    const after = await stateOf(t);
    expect((await call(t, token, `PATCH /users/${id}`, { passwordHash: 'x' })).status).toBe(400);
    expect((await call(t, token, 'GET /users?role=operator')).status).toBe(400);
    expect(await stateOf(t)).toEqual(after);
    expect(before).not.toEqual(after);
  });

  it.each(['limit=0', 'limit=201', 'limit=x', 'limit=1&limit=2', 'cursor=', 'cursor=bm90'])(
    'refuses a page of %s',
    async (query) => {
      expect((await call(t, token, `GET /users?${query}`)).status).toBe(400);
    },
  );

  it('pages list every account once', async () => {
    for (let count = 0; count < 3; count += 1) await invite();
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await call(t, token, `GET /users?limit=2${query}`);
      const page = body as {
        readonly items: readonly { readonly id: string }[];
        readonly next: string | null;
      };
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next;
    }
    const all = await t.onStore((store) => store.listAccounts('', 1000));
    expect(seen).toEqual(all.map(({ id }) => id));
  });

  it('pages of who may call a tool read so many accounts each, and list every user once', async () => {
    for (let count = 0; count < 3; count += 1) await invite();
    const ask = (query: string) => call(t, token, `GET /policy/who-can?server=/files&tool=read_page${query}`);
    const read = async (query: string) =>
      (await ask(query)).body as {
        readonly users: readonly { readonly id: string }[];
        readonly next: string | null;
      };
    const all = await read('');
    const seen: string[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const page: Awaited<ReturnType<typeof read>> = await read(
        `&limit=2${next === '' ? '' : `&cursor=${next}`}`,
      );
      expect(page.users.length).toBeLessThanOrEqual(2);
      seen.push(...page.users.map(({ id }) => id));
      next = page.next;
    }
    expect([all.next, all.users.length > 2, seen]).toEqual([null, true, all.users.map(({ id }) => id)]);
    expect((await ask('&cursor=none')).status).toBe(400);
  });

  it('a change that names a stale ETag is refused, and made with the current one', async () => {
    const id = await invite();
    const read = await call(t, token, `GET /users/${id}`);
    const etag = read.headers.get('etag') ?? '';
    expect(
      (await call(t, token, `PATCH /users/${id}`, { role: 'viewer' }, { 'if-match': etag })).status,
    ).toBe(200);
    const before = await stateOf(t);
    const stale = await call(t, token, `PATCH /users/${id}`, { role: 'operator' }, { 'if-match': etag });
    expect(stale).toMatchObject({ status: 412, body: { title: 'It has changed meanwhile' } });
    expect(await stateOf(t)).toEqual(before);
    const current = (await call(t, token, `GET /users/${id}`)).headers.get('etag') ?? '';
    const again = await call(t, token, `DELETE /users/${id}?reason=test`, undefined, { 'if-match': current });
    expect(again.status).toBe(200);
    expect((await call(t, token, `GET /users/${id}`)).status).toBe(404);
  });

  it('a request with the same Idempotency-Key is made once for each operator', async () => {
    const key = { 'idempotency-key': 'invite-1' };
    expect((await call(t, token, 'POST /users', { email: 'once@example.com' }, key)).status).toBe(201);
    const before = await stateOf(t);
    expect((await call(t, token, 'POST /users', { email: 'twice@example.com' }, key)).status).toBe(409);
    expect(await stateOf(t)).toEqual(before);
    const other = await t.machineToken('ops2');
    expect((await call(t, other, 'POST /users', { email: 'twice@example.com' }, key)).status).toBe(201);
  });

  it.each([
    'GET /users/user_unknown',
    'POST /users/user_unknown/disable',
    'DELETE /users/user_unknown/sessions',
    'GET /clients/unknown',
    'POST /clients/unknown/disable',
    'DELETE /clients/unknown',
    'GET /grants/grant_unknown',
    'DELETE /grants/grant_unknown',
    'GET /nothing',
  ])('%s is not found, and changes nothing', async (line) => {
    const before = await stateOf(t);
    const { status, body } = await call(t, token, line);
    expect([status, body['status']]).toEqual([404, 404]);
    expect(await stateOf(t)).toEqual(before);
  });

  it('disables, enables and removes a client', async () => {
    await addClient('by-name');
    const path = `/clients/${encodeURIComponent('by-name')}`;
    expect((await call(t, token, `POST ${path}/disable`)).body).toMatchObject({
      disabledAt: expect.any(String),
    });
    expect((await call(t, token, `POST ${path}/enable`)).body).toMatchObject({ disabledAt: null });
    expect((await call(t, token, `DELETE ${path}`)).status).toBe(200);
    expect((await call(t, token, `GET ${path}`)).status).toBe(404);
  });

  it('a client of the configuration is shown without its secret, and changed only there', async () => {
    const shown = await call(t, token, 'GET /clients/watcher');
    expect(shown.body).toMatchObject({ origin: 'configured', createdAt: null });
    expect(JSON.stringify(shown.body)).not.toContain('secret that only the tests');
    const before = await stateOf(t);
    const refused = await call(t, token, 'POST /clients/watcher/disable');
    expect(refused).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('configuration') },
    });
    expect(await stateOf(t)).toEqual(before);
  });

  it('a method that a path does not have is named with those that it has', async () => {
    expect(await call(t, token, 'PATCH /users')).toMatchObject({
      status: 405,
      body: { detail: 'This path supports GET, POST.' },
    });
  });

  it('events are found by type, user and time, the latest first', async () => {
    const id = await invite();
    const found = async () => {
      const { body } = await call(t, token, `GET /events?user=${id}&type=account.*`);
      return (body as { readonly items: readonly { readonly type: string }[] }).items.map(({ type }) => type);
    };
    await expect.poll(found).toEqual(['account.created']);
    expect((await call(t, token, 'GET /events?type=no.such')).status).toBe(400);
    expect((await call(t, token, 'GET /events/stream?type=no.such')).status).toBe(400);
    const future = await call(t, token, `GET /events?user=${id}&since=2099-01-01T00:00:00Z`);
    expect(future.body).toEqual({ items: [], next: null });
  });

  it('counts events by type over time', async () => {
    await invite();
    const counted = async () => {
      const { body } = await call(t, token, 'GET /statistics');
      const { items, isComplete } = body as {
        readonly items: readonly { readonly counts: readonly object[] }[];
        readonly isComplete: boolean;
      };
      return [isComplete, items.length, items.at(-1)?.counts];
    };
    await expect
      .poll(counted)
      .toEqual([
        true,
        24,
        expect.arrayContaining([{ type: 'account.created', count: expect.any(Number), allowed: 0 }]),
      ]);
    const days = await call(
      t,
      token,
      'GET /statistics?step=day&from=2026-01-01T00:00:00Z&to=2026-01-31T00:00:00Z',
    );
    expect(days.body).toMatchObject({ isComplete: true });
    expect((days.body as { readonly items: readonly object[] }).items).toHaveLength(30);
    expect((await call(t, token, 'GET /statistics?from=2020-01-01T00:00:00Z')).status).toBe(400);
  });

  it('a reset link is never made for a federated account, although a local one is named like it', async () => {
    const local = await invite();
    const federated = { id: 'user_named', emailKey: 'federated:named', passwordHash: '$argon2id$none' };
    await t.onStore((store) =>
      store.linkIdentity(
        { issuer: 'https://idp.example', subject: 'named', accountId: federated.id },
        { ...federated, email: local, createdAt: 0, disabledAt: null, role: null },
      ),
    );
    const before = await stateOf(t);
    const refused = await call(t, token, `POST /users/${federated.id}/reset-link`);
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      409,
      expect.stringContaining('signs in at an identity provider'),
    ]);
    expect(await stateOf(t)).toEqual(before);
    expect((await call(t, token, `POST /users/${local}/reset-link`)).status).toBe(201);
  });

  it('an invitation to the address of a federated user makes a local account with its role, and changes no other', async () => {
    const email = 'federated@example.com';
    const federated = 'user_federated';
    await t.onStore(async (store) => {
      await store.linkIdentity(
        { issuer: 'https://idp.example', subject: 'one', accountId: federated },
        {
          ...{
            id: federated,
            email: 'one (Acme)',
            emailKey: 'federated:one',
            passwordHash: '$argon2id$none',
          },
          ...{ createdAt: 0, disabledAt: null, role: null },
        },
      );
      await store.saveProfile(federated, { email, name: null, groups: [] });
    });
    const { status, body } = await call(t, token, 'POST /users', { email, role: 'viewer' });
    expect([status, body]).toMatchObject([201, { user: { email, kind: 'local', role: 'viewer' } }]);
    const before = await stateOf(t);
    // The address names two now.
    const line = `PATCH /users/${encodeURIComponent(email)}`;
    expect((await call(t, token, line, { role: 'operator' })).status).toBe(409);
    expect(await stateOf(t)).toEqual(before);
    expect(await t.onStore((store) => store.findAccount(federated))).toMatchObject({ role: null });
  });

  it('a stream has each new event, and ends with the connection', async () => {
    const ended = new AbortController();
    const response = await fetch(`${t.api}/events/stream?type=account.created`, {
      headers: { authorization: `Bearer ${token}` },
      signal: ended.signal,
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const id = await invite();
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes(id)) break;
    }
    ended.abort();
    const data = /^data: (.*)$/m.exec(text)?.[1] ?? '';
    expect(JSON.parse(data)).toMatchObject({ type: 'account.created', userId: id });
  });
});
