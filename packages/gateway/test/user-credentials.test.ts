/** Accounts that users connect at a protected backend: during consent, later by a link, and never used for another grant. */
import { describe, expect, it } from 'vitest';
import {
  type BackendCredential,
  ConnectionRequired,
  createCredentialSource,
  createUserBackends,
  type GatewayServer,
} from '../src/index.ts';
import { browserOf, principalOfToken, registerClient, type Side, startSide } from './support/connections.ts';
import { defineTestServers } from './support/gateway.ts';

interface GatewayScene {
  readonly gateway: Side;
  readonly backend: Side;
  readonly server: GatewayServer;
  /** Configures another backend at the same path. */
  configure(backend: Side): GatewayServer;
}

async function setScene(): Promise<GatewayScene> {
  const backend = await startSide({
    users: ['ada', 'bob'],
    scopes: { call: 'Call it', more: 'Do more' },
  });
  let servers: readonly GatewayServer[] = [];
  const gateway = await startSide({
    users: ['ada', 'bob'],
    options: () => ({ backends: createUserBackends({ servers: () => servers, clientName: 'Gateway' }) }),
  });
  const configure: GatewayScene['configure'] = ({ origin }) => {
    const credentials = { as: 'user' } as const;
    const definition = { path: '/mcp', name: 'Hub', backend: { url: `${origin}/mcp`, credentials } };
    servers = defineTestServers([definition], gateway.origin);
    const [server] = servers;
    if (server === undefined) throw new Error('no server');
    return server;
  };
  return { gateway, backend, server: configure(backend), configure };
}

/** Sends a request to the backend with a credential. */
async function call(
  { backend }: Pick<GatewayScene, 'backend'>,
  { headers, sign }: BackendCredential,
): Promise<Response> {
  const url = `${backend.origin}/mcp`;
  const signed = sign === null ? {} : await sign('GET', url);
  return fetch(url, { headers: { ...headers, ...signed } });
}

describe('an account at a backend', () => {
  it('is connected during consent, which names the backend, and its token reaches the backend alone', async () => {
    const scene = await setScene();
    const { gateway, backend, server } = scene;
    const [ada, client] = [browserOf('ada'), await registerClient(gateway, 'App')];
    const login = await ada.open(client.authorizationUrl());
    const consent = await ada.submit(login, { email: 'ada@example.org', password: 'a gate of oak and iron' });
    expect(consent.html).toContain('This also needs');
    expect(consent.html).toContain(new URL(backend.origin).host);
    const page = await ada.allow(client.authorizationUrl());
    const { access_token: token } = await client.redeem(page);
    expect(ada.trail.some((url) => url.startsWith(`${backend.origin}/authorize`))).toBe(true);
    const principal = await principalOfToken(gateway, token);
    const source = createCredentialSource(gateway.server);
    const credential = await source.for(principal, server);
    expect(await (await call(scene, credential)).json()).toMatchObject({
      result: { user: backend.accounts['ada'] },
    });
    // Cached: nothing is waited for.
    expect(source.for(principal, server)).toBe(credential);
    expect(backend.tokens).not.toContain(token);
    expect(gateway.tokens).toEqual([token]);
  });

  it('belongs to one grant: each of two users with each of two clients uses their own', async () => {
    const scene = await setScene();
    const { gateway, backend, server } = scene;
    const source = createCredentialSource(gateway.server);
    const clients = [await registerClient(gateway, 'One'), await registerClient(gateway, 'Two')];
    const used: { readonly user: string; readonly token: string; readonly key: string }[] = [];
    for (const name of ['ada', 'bob']) {
      const browser = browserOf(name);
      for (const client of clients) {
        const { access_token: token } = await client.redeem(await browser.allow(client.authorizationUrl()));
        const credential = await source.for(await principalOfToken(gateway, token), server);
        expect((await call(scene, credential)).status).toBe(200);
        used.push({ user: name, token: backend.tokens.at(-1) ?? '', key: credential.key });
      }
    }
    expect(new Set(used.map(({ token }) => token)).size).toBe(4);
    expect(new Set(used.map(({ key }) => key)).size).toBe(4);
    // The log of the backend: no token but these, each of its own user.
    expect(backend.accepted.map(({ token, principal }) => [token, principal.subject])).toEqual(
      used.map(({ user, token }) => [token, backend.accounts[user]]),
    );
    expect(backend.tokens).toEqual(used.map(({ token }) => token));
    // One registration for each app, so that the backend asks about each, and none for each user.
    expect(backend.events.filter(({ type }) => type === 'client.registered')).toHaveLength(2);
  });

  it('is stored encrypted, and ends at the backend when the grant ends here', async () => {
    const scene = await setScene();
    const { gateway, backend, server } = scene;
    const [ada, client] = [browserOf('ada'), await registerClient(gateway, 'App')];
    const { access_token: token } = await client.redeem(await ada.allow(client.authorizationUrl()));
    const principal = await principalOfToken(gateway, token);
    const credential = await createCredentialSource(gateway.server).for(principal, server);
    expect((await call(scene, credential)).status).toBe(200);
    const [record] = await gateway.store.listConnectedAccounts(principal.grantId ?? '');
    const sent = backend.tokens.at(-1) ?? '';
    expect(Buffer.from(record?.encryptedTokens ?? []).includes(sent)).toBe(false);
    const listed = await ada.open(`${gateway.origin}/connections`);
    expect(listed.html).toContain('Uses your <bdi>Hub</bdi> account');
    const end = await ada.open(`${gateway.origin}/connections/end?connection=${principal.grantId}`);
    expect(end.html).toContain('Its access at <bdi>Hub</bdi> is revoked too.');
    await ada.submit(end, {}, '/connections/end');
    await expect.poll(async () => (await call(scene, credential)).status).toBe(401);
    await expect
      .poll(() => gateway.events.find(({ type }) => type === 'provider_token.revocation_finished'))
      .toMatchObject({ backend: '/mcp', grantId: principal.grantId, outcome: 'revoked' });
  });
});

describe('an account at a backend whose address has changed', () => {
  async function moved() {
    const scene = await setScene();
    const { gateway, configure } = scene;
    const [ada, client] = [browserOf('ada'), await registerClient(gateway, 'App')];
    const { access_token: token } = await client.redeem(await ada.allow(client.authorizationUrl()));
    const principal = await principalOfToken(gateway, token);
    const key = { grantId: principal.grantId ?? '', backend: '/mcp' };
    const other = await startSide({ users: ['ada'] });
    other.events.length = 0;
    return { ...scene, ada, principal, key, other, server: configure(other) };
  }

  it('is never used at the new one: the user gets a link, and connects another account there', async () => {
    const { gateway, backend, other, server, principal, key, ada, configure } = await moved();
    const source = createCredentialSource(gateway.server);
    const before = await gateway.store.findConnectedAccount(key);
    const required = await Promise.resolve(source.for(principal, server)).catch((error: unknown) => error);
    if (!(required instanceof ConnectionRequired)) throw new Error(String(required));
    expect(await gateway.server.connectedAccounts.replace(key.grantId, key.backend, 1)).toBeNull();
    expect(await gateway.store.findConnectedAccount(key)).toEqual(before);
    expect([other.tokens, other.events]).toEqual([[], []]);
    // Back at the address, it is used as before.
    const credential = await source.for(principal, configure(backend));
    expect((await call({ backend }, credential)).status).toBe(200);
    const current = configure(other);
    expect((await ada.allow(required.url)).html).toContain('Hub is connected');
    const response = await call({ backend: other }, await source.for(principal, current));
    expect(await response.json()).toMatchObject({ result: { user: other.accounts['ada'] } });
    expect(other.tokens).not.toContain(backend.tokens.at(-1));
  });

  it('is not revoked at the new one when its grant ends', async () => {
    const { gateway, other, key, principal } = await moved();
    const now = Math.floor(Date.now() / 1000);
    await gateway.server.accounts.disable(principal.subject);
    expect((await gateway.store.findGrant(key.grantId))?.grant.revokedAt).toBeGreaterThanOrEqual(now);
    await expect
      .poll(() => gateway.events.find(({ type }) => type === 'provider_token.revocation_finished'))
      .toMatchObject({ ...key, outcome: 'unsupported' });
    expect([other.tokens, other.events]).toEqual([[], []]);
  });
});

describe('a user who has not connected the backend', () => {
  /** Declines at the backend; the client gets its code all the same. */
  async function declined() {
    const scene = await setScene();
    const { gateway, backend, server } = scene;
    const [ada, client] = [browserOf('ada'), await registerClient(gateway, 'App')];
    let page = await ada.open(client.authorizationUrl());
    page = await ada.submit(page, { email: 'ada@example.org', password: 'a gate of oak and iron' });
    page = await ada.submit(page, { decision: 'allow' });
    expect(page.url.origin).toBe(backend.origin);
    page = await ada.submit(page, { email: 'ada@example.org', password: 'a gate of oak and iron' });
    const { access_token: token } = await client.redeem(await ada.submit(page, { decision: 'deny' }));
    const principal = await principalOfToken(gateway, token);
    const source = createCredentialSource(gateway.server);
    const required = await Promise.resolve(source.for(principal, server)).catch((error: unknown) => error);
    if (!(required instanceof ConnectionRequired))
      throw new Error(`expected a link, not ${String(required)}`);
    return { ...scene, ada, principal, source, url: required.url };
  }

  it('gets a link, connects the account there, and the same grant can use it', async () => {
    const scene = await declined();
    const { ada, source, principal, server, backend } = scene;
    const page = await ada.open(scene.url);
    expect(page.html).toContain('Connect your <bdi>Hub</bdi> account');
    expect(page.url.search).toBe('');
    expect((await ada.allow(scene.url)).html).toContain('Hub is connected');
    const credential = await source.for(principal, server);
    expect(await (await call(scene, credential)).json()).toMatchObject({
      result: { user: backend.accounts['ada'] },
    });
    // Single use.
    const again = await ada.open(scene.url);
    expect([again.status, again.html]).toEqual([403, expect.stringContaining('no longer works')]);
  });

  it('has to sign in to use the link, and no other user can use it', async () => {
    const { url, gateway, principal, ada } = await declined();
    const bob = browserOf('bob');
    expect((await bob.open(url)).url.pathname).toBe('/login');
    const page = await bob.allow(url);
    expect([page.status, page.html]).toEqual([403, expect.stringContaining('for another user')]);
    expect(await gateway.store.listConnectedAccounts(principal.grantId ?? '')).toEqual([]);
    expect((await ada.allow(url)).html).toContain('Hub is connected');
    expect(await gateway.store.listConnectedAccounts(principal.grantId ?? '')).toHaveLength(1);
  });

  it('cannot finish in another browser what was begun here (login CSRF)', async () => {
    const { url, ada, gateway, principal } = await declined();
    ada.buffered = '/connect/callback';
    const callback = await ada.allow(url);
    // Bob's browser gets Ada's authorization response.
    const bob = browserOf('bob');
    await bob.allow(`${gateway.origin}/connections`);
    expect((await bob.open(callback.url)).status).toBe(403);
    expect(await gateway.store.listConnectedAccounts(principal.grantId ?? '')).toEqual([]);
    ada.buffered = null;
    const done = await ada.open(callback.url);
    expect(done.html).toContain('Hub is connected');
  });

  it.each([
    { description: 'a changed link', change: (url: string) => `${url.slice(0, -4)}AAAA` },
    { description: 'no link', change: (url: string) => url.split('?')[0] ?? '' },
  ])('gets nowhere with $description', async ({ change }) => {
    const { url, ada } = await declined();
    const page = await ada.open(change(url));
    expect([page.status, page.html]).toEqual([403, expect.stringContaining('no longer works')]);
  });

  it('gets no link once the grant has ended', async () => {
    const { url, ada, gateway, principal } = await declined();
    await gateway.store.revokeAccountGrants(
      principal.subject,
      principal.grantId,
      Math.floor(Date.now() / 1000),
    );
    const page = await ada.open(url);
    expect([page.status, page.html]).toEqual([403, expect.stringContaining('no longer works')]);
    expect(await gateway.server.connectedAccounts.createLink(principal.grantId ?? '', '/mcp')).toBeNull();
  });
});

describe('a credential that the backend rejects', () => {
  async function connected() {
    const scene = await setScene();
    const [ada, client] = [browserOf('ada'), await registerClient(scene.gateway, 'App')];
    const { access_token: token } = await client.redeem(await ada.allow(client.authorizationUrl()));
    const principal = await principalOfToken(scene.gateway, token);
    let now = Date.now();
    const clock = { now: () => now, advance: (seconds: number) => (now += seconds * 1000) };
    const source = createCredentialSource(scene.gateway.server, clock.now);
    return { ...scene, ada, principal, source, clock };
  }
  const rejection = (url: string, status: number, challenge: string) => ({
    url,
    status,
    headers: new Headers({ 'www-authenticate': challenge }),
  });

  const revokeAtBackend = ({ store, accounts }: Side) =>
    store.revokeAccountGrants(accounts['ada'] ?? '', null, Math.floor(Date.now() / 1000));

  it('is followed by the identifier of its grant from the first tokens to the last', async () => {
    const { source, principal, server, backend, clock, gateway } = await connected();
    const answer = rejection(`${backend.origin}/mcp`, 401, 'Bearer error="invalid_token"');
    const reject = async () => {
      clock.advance(60);
      return source.rejected(principal, server, answer, await source.for(principal, server));
    };
    expect(await reject()).toBe('retry');
    await revokeAtBackend(backend);
    expect(await reject()).toBeInstanceOf(ConnectionRequired);

    const ofGrant = () =>
      gateway.events.filter(
        ({ type, grantId }) => type.startsWith('provider_token.') && grantId === principal.grantId,
      );
    await expect.poll(() => ofGrant().length).toBe(4);
    const about = { grantId: principal.grantId, accountId: principal.subject, backend: '/mcp' };
    expect(ofGrant()).toMatchObject([
      { type: 'provider_token.stored', ...about },
      { type: 'provider_token.refreshed', ...about },
      { type: 'provider_token.ended', ...about, reason: 'revoked_by_provider' },
      { type: 'provider_token.revocation_finished', ...about },
    ]);
    const names = gateway.events.filter((event) => 'identityProvider' in event);
    expect(names).toEqual([]);
    expect((await gateway.store.findGrant(principal.grantId ?? ''))?.grant.revokedAt).toBeNull();
  });

  it('is refreshed once, also by two calls at the same time, and then works', async () => {
    const scene = await connected();
    const { source, principal, server, backend, clock } = scene;
    const credential = await source.for(principal, server);
    clock.advance(60);
    const answer = rejection(`${backend.origin}/mcp`, 401, 'Bearer error="invalid_token"');
    const credentialNow = await source.for(principal, server);
    expect(credentialNow).toBe(credential);
    expect(
      await Promise.all([1, 2].map(() => source.rejected(principal, server, answer, credential))),
    ).toEqual(['retry', 'retry']);
    const next = await source.for(principal, server);
    expect(next.headers).not.toEqual(credential.headers);
    expect(next.key).toBe(credential.key);
    expect((await call(scene, next)).status).toBe(200);
    expect(backend.events.filter(({ type }) => type === 'refresh_token.rotated')).toHaveLength(1);
  });

  it('is refreshed once by two processes, and both use the new token', async () => {
    const scene = await connected();
    const { source, principal, server, backend, clock, gateway } = scene;
    const elsewhere = createCredentialSource(await gateway.startProcess(), clock.now);
    const credentials = [
      await source.for(principal, server),
      await elsewhere.for(principal, server),
    ] as const;
    clock.advance(20);
    const answer = rejection(`${backend.origin}/mcp`, 401, 'Bearer error="invalid_token"');
    expect(
      await Promise.all([
        source.rejected(principal, server, answer, credentials[0]),
        elsewhere.rejected(principal, server, answer, credentials[1]),
      ]),
    ).toEqual(['retry', 'retry']);
    const next = [await source.for(principal, server), await elsewhere.for(principal, server)];
    expect(next[0]?.headers).toEqual(next[1]?.headers);
    expect(next[0]?.headers).not.toEqual(credentials[0].headers);
    expect(backend.events.filter(({ type }) => type === 'refresh_token.rotated')).toHaveLength(1);
  });

  it('becomes a link when the refresh token has been revoked there, and the grant here lives on', async () => {
    const scene = await connected();
    const { source, principal, server, backend, clock, gateway, ada } = scene;
    const credential = await source.for(principal, server);
    await revokeAtBackend(backend);
    clock.advance(60);
    await source.for(principal, server);
    const answer = rejection(`${backend.origin}/mcp`, 401, 'Bearer error="invalid_token"');
    const required = await source.rejected(principal, server, answer, credential);
    if (!(required instanceof ConnectionRequired)) throw new Error(String(required));
    expect((await gateway.store.findGrant(principal.grantId ?? ''))?.grant.revokedAt).toBeNull();
    await expect(Promise.resolve(source.for(principal, server))).rejects.toThrow(ConnectionRequired);
    expect((await ada.allow(required.url)).html).toContain('Hub is connected');
    expect((await call(scene, await source.for(principal, server))).status).toBe(200);
  });

  it.each([0, 60])(
    'and was revoked there becomes a link for each of the requests that were sent with it, after %i seconds',
    async (seconds) => {
      const scene = await connected();
      const { source, principal, server, backend, clock } = scene;
      const credential = await source.for(principal, server);
      await revokeAtBackend(backend);
      clock.advance(seconds);
      const answer = rejection(`${backend.origin}/mcp`, 401, 'Bearer error="invalid_token"');
      const reject = () => source.rejected(principal, server, answer, credential);
      const together = await Promise.all([reject(), reject()]);
      for (const outcome of [...together, await reject()]) expect(outcome).toBeInstanceOf(ConnectionRequired);
    },
  );

  it('for missing scopes becomes a link that asks for them together with those it has', async () => {
    const scene = await connected();
    const { source, principal, server, backend, ada } = scene;
    const credential = await source.for(principal, server);
    const answer = rejection(`${backend.origin}/mcp`, 403, 'Bearer error="insufficient_scope", scope="more"');
    const required = await source.rejected(principal, server, answer, credential);
    if (!(required instanceof ConnectionRequired)) throw new Error(String(required));
    const page = await ada.open(required.url);
    expect(page.html).toContain('<code>more</code>');
    await ada.allow(required.url);
    const started = backend.events.findLast(({ type }) => type === 'authorization.started');
    expect(started).toMatchObject({ scopes: expect.arrayContaining(['call', 'more']) });
    const next = await source.for(principal, server);
    expect(next.headers).not.toEqual(credential.headers);
  });
});

describe('through the gateway', () => {
  const PING = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'look', arguments: {} } };

  type ServedScene = Pick<GatewayScene, 'gateway' | 'backend'>;

  async function setGateway(): Promise<ServedScene> {
    const backend = await startSide({ users: ['ada', 'bob'] });
    let servers: readonly GatewayServer[] = [];
    const define = (origin: string) => {
      const credentials = { as: 'user' } as const;
      servers = defineTestServers(
        [
          {
            path: '/mcp',
            name: 'Hub',
            backend: { url: `${backend.origin}/mcp`, credentials },
            scopes: { call: 'Call it' },
            tools: { '*': ['call'] },
            review: 'auto',
          },
        ],
        origin,
      );
      return servers;
    };
    const gateway = await startSide({
      users: ['ada', 'bob'],
      servers: define,
      options: () => ({ backends: createUserBackends({ servers: () => servers, clientName: 'Gateway' }) }),
    });
    return { gateway, backend };
  }

  const post = ({ gateway }: ServedScene, token: unknown) =>
    fetch(`${gateway.origin}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(PING),
    });

  it('each of two users with each of two clients reaches the backend as themselves, and no client token does', async () => {
    const scene = await setGateway();
    const { gateway, backend } = scene;
    const clients = [await registerClient(gateway, 'One'), await registerClient(gateway, 'Two')];
    const clientTokens: unknown[] = [];
    const users: string[] = [];
    for (const name of ['ada', 'bob']) {
      const browser = browserOf(name);
      for (const client of clients) {
        const { access_token: token } = await client.redeem(await browser.allow(client.authorizationUrl()));
        clientTokens.push(token);
        users.push(name);
        expect(await (await post(scene, token)).json()).toMatchObject({
          result: { user: backend.accounts[name] },
        });
      }
    }
    // In any order, the same.
    for (const [index, token] of clientTokens.entries())
      expect(await (await post(scene, token)).json()).toMatchObject({
        result: { user: backend.accounts[users[index] ?? ''] },
      });
    expect(new Set(backend.tokens).size).toBe(4);
    for (const token of clientTokens) expect(backend.tokens).not.toContain(token);
  });

  it('a user without an account there gets the link in the error of their request, and afterwards the answer', async () => {
    const scene = await setGateway();
    const { gateway, backend } = scene;
    const [ada, client] = [browserOf('ada'), await registerClient(gateway, 'App')];
    ada.buffered = '/connect/callback';
    const callback = await ada.allow(client.authorizationUrl());
    ada.buffered = null;
    const declined = new URL(callback.url);
    declined.searchParams.delete('code');
    declined.searchParams.set('error', 'access_denied');
    const { access_token: token } = await client.redeem(await ada.open(declined));
    const response = await post(scene, token);
    const answer = (await response.json()) as {
      readonly error: { readonly data: { readonly elicitations: readonly { readonly url: string }[] } };
    };
    expect(response.status).toBe(200);
    expect(answer).toMatchObject({
      id: 7,
      error: { code: -32042, data: { elicitations: [{ mode: 'url' }] } },
    });
    expect(backend.tokens).toEqual([]);
    expect((await ada.allow(answer.error.data.elicitations[0]?.url ?? '')).html).toContain(
      'Hub is connected',
    );
    expect(await (await post(scene, token)).json()).toMatchObject({
      result: { user: backend.accounts['ada'] },
    });
  });
});
