/** The authorized fetch: where it sends the token, which requests it repeats, step-up, and when it gives up. */
import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../src/index.ts';
import { calls, codeOf, createWorld, openParty, type World } from './support/world.ts';

const authorizations = (world: World) =>
  calls(world).map(({ headers }) => headers.get('authorization') !== null);

describe('where the token goes', () => {
  it('[C-TOK-1 C-TOK-5] sends the token to the server and to no other origin', async () => {
    const world = await createWorld();
    const other = await openParty();
    const client = world.client();
    await client.fetch(world.serverUrl);
    // The same path at another origin is another server.
    for (const path of ['/', '/mcp', '/mcp/tools']) {
      other.on(`GET ${path}`, { body: 'hello' });
      expect(await (await client.fetch(`${other.origin}${path}`)).text()).toBe('hello');
    }
    expect(other.log.map(({ headers }) => headers.has('authorization'))).toEqual([false, false, false]);
    expect(authorizations(world)).toEqual([false, true]);
  });

  it('[C-BEAR-60] follows no redirect to another origin, neither with the token nor without it', async () => {
    const world = await createWorld();
    const other = await openParty();
    const client = world.client();
    await client.fetch(world.serverUrl);
    for (const path of ['/', '/mcp']) {
      other.on(path, { body: 'caught' });
      world.server.on('/mcp/away', { status: 307, headers: { location: `${other.origin}${path}` } });
      const sent = client.fetch(`${world.server.origin}/mcp/away`, { method: 'POST', body: 'private' });
      expect(await codeOf(sent)).toBe('redirected');
    }
    expect(other.log).toEqual([]);
  });

  it.each(['http://plain.example/', 'https://evil.example/', '//evil.example/', 'javascript:alert(1)'])(
    '[C-BEAR-60] not to %s',
    async (location) => {
      const world = await createWorld();
      world.server.on('/mcp/away', { status: 302, headers: { location } });
      expect(await codeOf(world.client().fetch(`${world.serverUrl}/away`))).toBe('redirected');
    },
  );

  it('follows redirects within the resource, keeping method and body where the status requires it', async () => {
    const world = await createWorld();
    world.server.on('/mcp/moved', { status: 307, headers: { location: '/mcp' } });
    world.server.on('/mcp/see', { status: 303, headers: { location: '/mcp' } });
    const client = world.client();
    await client.fetch(world.serverUrl);
    await client.fetch(`${world.serverUrl}/moved`, { method: 'POST', body: 'kept' });
    await client.fetch(`${world.serverUrl}/see`, { method: 'POST', body: 'left' });
    expect(
      calls(world)
        .slice(2)
        .map(({ method, body }) => [method, body]),
    ).toEqual([
      ['POST', 'kept'],
      ['GET', ''],
    ]);
    world.server.on('/mcp/round', { status: 302, headers: { location: '/mcp/round' } });
    expect(await codeOf(client.fetch(`${world.serverUrl}/round`))).toBe('redirected');
    const manual = await client.fetch(`${world.serverUrl}/round`, { redirect: 'manual' });
    expect(manual.status).toBe(302);
  });

  it.each([
    [301, 'POST', 'GET'],
    [301, 'DELETE', 'DELETE'],
    [302, 'post', 'GET'],
    [302, 'PUT', 'PUT'],
    [302, 'HEAD', 'HEAD'],
    [303, 'DELETE', 'GET'],
    [303, 'HEAD', 'HEAD'],
    [308, 'DELETE', 'DELETE'],
  ])('after a redirect with status %d, a %s request continues as %s', async (status, method, then) => {
    const world = await createWorld();
    world.server.on('/mcp/moved', { status, headers: { location: '/mcp' } });
    const client = world.client();
    await client.fetch(world.serverUrl);
    await client.fetch(`${world.serverUrl}/moved`, { method });
    expect(calls(world).map((call) => call.method)).toEqual(['GET', 'GET', then]);
  });

  it.each([
    [302, { accept: 'a' }],
    [307, { accept: 'a', 'content-type': 'text/plain', 'content-language': 'en' }],
  ])(
    'after a redirect with status %d, a POST request continues with the headers %j',
    async (status, then) => {
      const world = await createWorld();
      world.server.on('/mcp/moved', { status, headers: { location: '/mcp' } });
      const client = world.client();
      await client.fetch(world.serverUrl);
      const headers = { accept: 'a', 'Content-Type': 'text/plain', 'content-language': 'en' };
      await client.fetch(`${world.serverUrl}/moved`, { method: 'POST', body: 'text', headers });
      const sent = calls(world).at(-1)?.headers;
      const names = ['accept', 'content-type', 'content-language'];
      expect(
        Object.fromEntries(names.flatMap((name) => (sent?.has(name) ? [[name, sent.get(name)]] : []))),
      ).toEqual(then);
      expect(sent?.get('authorization')).toMatch(/^Bearer /);
    },
  );

  const fields = { authorization: 'Bearer of-another-user', DPoP: 'old', 'x-other': 'kept', accept: 'a, b' };
  const pairs = Object.entries(fields);
  it.each([
    ['a record', fields],
    ['pairs', pairs],
    ['Headers', new Headers(fields)],
    ['Headers that are not the platform’s', { [Symbol.iterator]: () => pairs.values() }],
  ])(
    'replaces the Authorization header of the caller and keeps the other headers: %s',
    async (_shape, headers) => {
      const world = await createWorld();
      const client = world.client();
      await client.fetch(world.serverUrl, { headers: headers as Headers });
      const sent = calls(world).map(({ headers: field }) => field.get('authorization'));
      expect(sent).toEqual([null, expect.stringMatching(/^Bearer at-/)]);
      for (const { headers: field } of calls(world)) {
        expect([field.get('dpop'), field.get('x-other'), field.get('accept')]).toEqual([
          null,
          'kept',
          'a, b',
        ]);
      }
    },
  );
});

describe('what is repeated', () => {
  it.each([
    ['text', () => ['x', { method: 'POST', body: 'text' }] as const],
    ['bytes', () => ['x', { method: 'POST', body: new TextEncoder().encode('text') }] as const],
    [
      'a stream',
      () =>
        ['x', { method: 'POST', duplex: 'half', body: new Blob(['text']).stream() } as RequestInit] as const,
    ],
    ['a Request', () => ['request', { method: 'POST', body: 'text' }] as const],
  ])('[C-FLOW-A8] repeats a request whose body is %s completely', async (_what, make) => {
    const world = await createWorld();
    const [kind, init] = make();
    const input = kind === 'request' ? new Request(world.serverUrl, init) : world.serverUrl;
    const response = await world.client().fetch(input, kind === 'request' ? undefined : init);
    expect(response.status).toBe(200);
    expect(calls(world).map(({ method, body }) => [method, body])).toEqual([
      ['POST', 'text'],
      ['POST', 'text'],
    ]);
  });

  it('accepts a URL object', async () => {
    const world = await createWorld();
    expect((await world.client().fetch(new URL(world.serverUrl))).status).toBe(200);
  });
});

describe('giving up', () => {
  it('[C-BEAR-61] refreshes once, then signs in once, then returns the 401 response', async () => {
    const world = await createWorld();
    const client = world.client();
    await client.fetch(world.serverUrl);
    world.server.on('/mcp', { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' } });
    expect((await client.fetch(world.serverUrl)).status).toBe(401);
    expect(world.as.asked('/token').map(({ form }) => form.get('grant_type'))).toEqual([
      'authorization_code',
      'refresh_token',
      'authorization_code',
    ]);
    expect(world.user.opened).toHaveLength(2);
  });

  it('[S-HTTP-30] returns a 403 response that is not about scopes unchanged', async () => {
    const world = await createWorld();
    const client = world.client();
    await client.fetch(world.serverUrl);
    for (const headers of [{}, { 'www-authenticate': 'Bearer error="access_denied", scope="x"' }]) {
      world.server.on('/mcp', { status: 403, headers, body: 'no' });
      const response = await client.fetch(world.serverUrl);
      expect([response.status, await response.text()]).toEqual([403, 'no']);
    }
    expect(world.user.opened).toHaveLength(1);
  });
});

describe('step-up', () => {
  /** A server whose POST needs more than its GET; `needs` is what it says. */
  async function demanding(
    needs: (round: number) => string,
    settings: Parameters<typeof createWorld>[0] = {},
  ) {
    const world = await createWorld({ challengeScopes: 'read', ...settings });
    let round = 0;
    world.server.on('POST /mcp', ({ headers }) => {
      const granted = world.tokens.get(headers.get('authorization')?.replace('Bearer ', '') ?? '');
      if (granted === undefined)
        return { status: 401, headers: { 'www-authenticate': 'Bearer scope="read"' } };
      const needed = needs(round);
      if (needed.split(' ').every((scope) => granted.split(' ').includes(scope))) return { body: 'done' };
      round += 1;
      return {
        status: 403,
        headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${needed}"` },
        body: { error: 'insufficient_scope' },
      };
    });
    const client = world.client();
    await client.fetch(world.serverUrl);
    return { world, client };
  }
  const requested = (world: World) => world.user.opened.map(({ searchParams }) => searchParams.get('scope'));

  it('[C-STEP-20 C-STEP-21 C-STEP-23 C-STEP-30 C-SCOPE-30] requests the earlier and the missing scopes, and repeats the call', async () => {
    const { world, client } = await demanding(() => 'write');
    const response = await client.fetch(world.serverUrl, { method: 'POST', body: 'call' });
    expect(await response.text()).toBe('done');
    expect(requested(world)).toEqual(['read', 'read write']);
    expect(world.events.find(({ type }) => type === 'step_up.requested')).toEqual({
      type: 'step_up.requested',
      added: ['write'],
    });
    expect(world.as.asked('/token').map(({ form }) => form.get('grant_type'))).not.toContain('refresh_token');
    expect((await client.session())?.scopes).toEqual(['read', 'write']);
  });

  it('requests only the scopes of the challenge in the revision that requires it', async () => {
    const world = await createWorld({ challengeScopes: 'read' });
    const client = world.client({ revision: '2025-11-25' });
    await client.fetch(world.serverUrl);
    world.server.on('/mcp', ({ headers }) => {
      const granted = world.tokens.get(headers.get('authorization')?.replace('Bearer ', '') ?? '') ?? '';
      if (granted.includes('write')) return { body: 'done' };
      return {
        status: 403,
        headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="write"' },
      };
    });
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(requested(world)).toEqual(['read', 'write']);
  });

  it('opens the browser ten times in ten minutes at most for a server that requires another scope each time', async () => {
    const { world, client } = await demanding((round) => `s${round}`);
    const call = () => client.fetch(world.serverUrl, { method: 'POST', body: 'call' });
    // Two for each call; the first sign-in was another one.
    for (let calls = 0; calls < 4; calls += 1) expect((await call()).status).toBe(403);
    expect(await codeOf(call())).toBe('sign_in_needed');
    const before = await client.session();
    world.advance(60_000);
    expect(await codeOf(call())).toBe('sign_in_needed');
    expect(world.user.opened).toHaveLength(10);
    expect(await client.session()).toEqual(before);
    world.advance(600_000);
    expect((await call()).status).toBe(403);
    expect(world.user.opened).toHaveLength(12);
  });

  it('signs in after the clock was ahead, whatever failed and was limited meanwhile', async () => {
    const { world, client } = await demanding((round) => `s${round}`);
    const call = () => client.fetch(world.serverUrl, { method: 'POST', body: 'call' });
    for (let calls = 0; calls < 4; calls += 1) await call();
    expect(await codeOf(call())).toBe('sign_in_needed');
    world.advance(-6 * 3_600_000);
    expect((await call()).status).toBe(403);
    expect(world.user.opened).toHaveLength(12);
  });

  it('scopes that the user requests are no automatic sign-in', async () => {
    const { world, client } = await demanding((round) => `s${round}`);
    const call = () => client.fetch(world.serverUrl, { method: 'POST', body: 'call' });
    for (let calls = 0; calls < 4; calls += 1) await call();
    expect(await codeOf(call())).toBe('sign_in_needed');
    expect(await codeOf(client.signIn({ scopes: ['more'], automatic: true }))).toBe('sign_in_needed');
    expect(world.user.opened).toHaveLength(10);
    expect((await client.signIn({ scopes: ['more'] })).scopes).toContain('more');
    expect(world.user.opened).toHaveLength(11);
  });

  it('opens the browser ten times in ten minutes at most for a server that accepts no token twice, unless the user requests a sign-in', async () => {
    const world = await createWorld({ refresh: false });
    const client = world.client();
    const call = async () => {
      world.tokens.clear();
      return client.fetch(world.serverUrl);
    };
    for (let calls = 0; calls < 10; calls += 1) expect((await call()).status).toBe(200);
    expect(await codeOf(call())).toBe('sign_in_needed');
    expect(world.user.opened).toHaveLength(10);
    await client.signIn();
    expect((await call()).status).toBe(200);
    expect(world.user.opened).toHaveLength(12);
  });

  it('does not step up in the first two revisions', async () => {
    const { world } = await demanding(() => 'write');
    const client = world.client({ revision: '2025-06-18' });
    expect((await client.fetch(world.serverUrl, { method: 'POST' })).status).toBe(403);
    expect(requested(world)).toEqual(['read', null]);
  });

  it('[C-STEP-24 C-STEP-25] T122 steps up once for a server that keeps denying the call', async () => {
    const { world, client } = await demanding(() => 'write never');
    world.as.on('POST /token', () => ({
      body: { access_token: world.issue('read write'), token_type: 'Bearer', scope: 'read write' },
    }));
    const response = await client.fetch(world.serverUrl, { method: 'POST' });
    expect([response.status, await response.json()]).toEqual([403, { error: 'insufficient_scope' }]);
    expect(requested(world)).toHaveLength(2);
    expect((await client.fetch(world.serverUrl, { method: 'POST' })).status).toBe(403);
    expect(requested(world)).toHaveLength(2);
  });

  it('[C-STEP-24] T122 gives up on a server that requires more scopes each time', async () => {
    const { world, client } = await demanding((round) => `scope${round}`);
    expect((await client.fetch(world.serverUrl, { method: 'POST' })).status).toBe(403);
    expect(requested(world)).toEqual(['read', 'read scope0', 'read scope0 scope1']);
  });

  it('T122 ignores scopes with invalid characters', async () => {
    const { world, client } = await demanding((round) => (round === 0 ? 'write "bad" a\\\\b' : 'write'));
    await client.fetch(world.serverUrl, { method: 'POST' });
    expect(requested(world)[1]).toBe('read write');
  });

  it('T122 lets the host decline additional scopes', async () => {
    const { world } = await demanding(() => 'write');
    const asked: (readonly string[])[] = [];
    const client = world.client({
      confirmStepUp: async (added) => {
        asked.push(added);
        return false;
      },
    });
    expect((await client.fetch(world.serverUrl, { method: 'POST' })).status).toBe(403);
    expect(asked).toEqual([['write']]);
    expect(requested(world)).toEqual(['read', 'read']);
  });

  it('asks the user once for concurrent calls that lack the same scopes', async () => {
    const { world, client } = await demanding(() => 'write');
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => client.fetch(world.serverUrl, { method: 'POST' })),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(requested(world)).toHaveLength(2);
  });

  it('requests a scope that was not granted before only with retryStepUp, and once', async () => {
    const { world } = await demanding(() => 'write');
    world.as.on('POST /token', () => ({
      body: { access_token: world.issue('read'), token_type: 'Bearer', scope: 'read' },
    }));
    const cautious = world.client();
    await cautious.fetch(world.serverUrl, { method: 'POST' });
    const before = world.user.opened.length;
    expect((await cautious.fetch(world.serverUrl, { method: 'POST' })).status).toBe(403);
    expect(world.user.opened).toHaveLength(before);

    const client = world.client({ store: await declined(world), retryStepUp: true });
    for (let round = 0; round < 2; round += 1)
      expect((await client.fetch(world.serverUrl, { method: 'POST' })).status).toBe(403);
    expect(requested(world).slice(before)).toEqual(['read', 'read write', 'read write']);
  });

  /** A store whose session has asked for `write` in another process, and was not granted it. */
  async function declined(world: World) {
    const store = createMemoryStore();
    const client = world.client({ store });
    await client.fetch(world.serverUrl);
    await client.fetch(world.serverUrl, { method: 'POST' });
    return store;
  }
});

describe('an operation that demands another sign-in', () => {
  async function demanding(demand: string, met: (opened: number) => boolean) {
    const world = await createWorld({ challengeScopes: 'read' });
    world.server.on('POST /mcp', ({ headers }) => {
      if (!headers.has('authorization'))
        return { status: 401, headers: { 'www-authenticate': 'Bearer scope="read"' } };
      if (met(world.user.opened.length)) return { body: 'done' };
      const challenge = `Bearer error="insufficient_user_authentication", ${demand}`;
      return { status: 401, headers: { 'www-authenticate': challenge } };
    });
    const reasons: string[] = [];
    const client = world.client({
      onEvent: (event) => void (event.type === 'sign_in.started' && reasons.push(event.reason)),
    });
    const response = await client.fetch(world.serverUrl, { method: 'POST', body: 'call' });
    return { world, response, reasons };
  }

  it('signs in again as the challenge demands, without a refresh, and repeats the call', async () => {
    const { world, response, reasons } = await demanding(
      'acr_values="2fa", max_age="300"',
      (opened) => opened === 2,
    );
    expect(await response.text()).toBe('done');
    expect(reasons).toEqual(['no_tokens', 'insufficient_user_authentication']);
    const [first, second] = world.user.opened.map(({ searchParams }) => searchParams);
    expect([first?.get('acr_values'), first?.get('max_age')]).toEqual([null, null]);
    expect([second?.get('acr_values'), second?.get('max_age'), second?.get('scope')]).toEqual([
      '2fa',
      '300',
      'read',
    ]);
    expect(world.as.asked('/token').map(({ form }) => form.get('grant_type'))).toEqual([
      'authorization_code',
      'authorization_code',
    ]);
  });

  it('signs in again once only, and then returns the response', async () => {
    const { world, response } = await demanding('max_age="0"', () => false);
    expect(response.status).toBe(401);
    expect(world.user.opened.length).toBeLessThanOrEqual(2);
  });
});
