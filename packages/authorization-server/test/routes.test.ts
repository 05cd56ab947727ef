/** Paths and methods: unknown paths answer in JSON, and internal errors reveal no reason. */
import { respond } from '@portcullis/http';
import { temporarilyUnavailable } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { createRouter } from '../src/http/router.ts';
import type { AuthorizationStore } from '../src/store/index.ts';
import { redemption, startServer } from './server-under-test.ts';

const OAUTH = '/.well-known/oauth-authorization-server';

describe('methods', () => {
  it.each([
    ['/token', ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH'], 'POST, OPTIONS'],
    ['/register', ['GET', 'PUT', 'DELETE'], 'POST, OPTIONS'],
    ['/revoke', ['GET', 'PUT'], 'POST, OPTIONS'],
    ['/introspect', ['GET', 'PUT'], 'POST, OPTIONS'],
    ['/jwks', ['POST', 'DELETE'], 'GET, HEAD, OPTIONS'],
    [OAUTH, ['POST', 'PUT'], 'GET, HEAD, OPTIONS'],
  ])('[AS-TOK-60 ALL-HTTP-60] %s answers %j with 405', async (path, methods, allow) => {
    const { send, snapshot } = await startServer();
    const before = snapshot();
    for (const method of methods) {
      const { status, headers } = await send(`${path}?grant_type=client_credentials`, { method });
      expect([method, status, headers.get('allow')]).toEqual([method, 405, allow]);
    }
    expect(snapshot()).toBe(before);
    expect((await send(path, { method: 'OPTIONS' })).headers.get('allow')).toBe(allow);
  });

  it('a page answers a wrong method with an error page in the browser’s language', async () => {
    const { send, snapshot } = await startServer();
    const before = snapshot();
    for (const path of ['/login/code', '/account/sessions', '/account/codes/off']) {
      const { status, headers, text } = await send(path, { headers: { 'accept-language': 'de' } });
      expect([status, headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
      expect(text).toContain('<h1>Seite nicht gefunden</h1>');
    }
    const { status, headers, text } = await send('/connections', { method: 'POST' });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect(text).toContain('<h1>Page not found</h1>');
    expect(text).toContain('<a class="button" href="/connections">Go to your connections</a>');
    expect(snapshot()).toBe(before);
    expect((await send('/login/code', { method: 'OPTIONS' })).status).toBe(204);
    expect((await send('/login')).status).toBe(200);
  });
});

describe('a server on this computer', () => {
  const LOCAL = 'http://localhost:8080';

  async function startLocal(issuer = LOCAL) {
    const t = await startServer({ issuer });
    const ask = async (
      host: string,
      { method, path }: { method: string; path: string },
      address?: string,
    ) => {
      const init = {
        method,
        ...(method === 'POST' && { body: '{}', headers: { 'content-type': 'application/json' } }),
      };
      const url = `${host}${path.replace('*', 'x')}`;
      return t.server.handle(new Request(url, init), address === undefined ? {} : { address });
    };
    return { ...t, ask };
  }

  it('T100 refuses requests for other hosts on every route, which pages send by DNS rebinding', async () => {
    const { server, ask, events, snapshot } = await startLocal();
    const before = snapshot();
    expect(server.routes.length).toBeGreaterThan(20);
    for (const host of [
      'http://evil.example:8080',
      'http://localhost.evil.example:8080',
      'http://127.0.0.1.nip.io',
    ])
      for (const address of [undefined, '127.0.0.1', '::1'])
        for (const route of [
          ...server.routes,
          { method: 'GET', path: '/nothing' },
          { method: 'OPTIONS', path: '/register' },
        ]) {
          const response = await ask(host, route, address);
          expect([route.path, response.status]).toEqual([route.path, 403]);
          expect(response.headers.get('access-control-allow-origin')).toBeNull();
          expect(response.headers.get('set-cookie')).toBeNull();
        }
    expect(snapshot()).toBe(before);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'request.rejected', reason: 'possible DNS rebinding' }),
    );
  });

  it.each([LOCAL, 'http://127.0.0.1:8080', 'http://[::1]:9', 'http://localhost'])(
    'T100 answers requests for this computer: %s',
    async (host) => {
      const { ask } = await startLocal();
      for (const path of ['/login', '/jwks', OAUTH])
        expect((await ask(host, { method: 'GET', path }, '127.0.0.1')).status).toBe(200);
    },
  );

  it('T100 refuses a host that begins like a name of this computer that it answered before', async () => {
    const { ask, snapshot } = await startLocal();
    const before = snapshot();
    const jwks = { method: 'GET', path: '/jwks' };
    expect((await ask('http://127.0.0.1', jwks, '127.0.0.1')).status).toBe(200);
    expect((await ask('http://127.0.0.1.nip.io', jwks, '127.0.0.1')).status).toBe(403);
    expect(snapshot()).toBe(before);
  });

  it('answers other computers under any name, such as containers beside it, and a public server any name', async () => {
    const { ask } = await startLocal();
    expect((await ask('http://issuer:8080', { method: 'GET', path: '/jwks' }, '172.18.0.3')).status).toBe(
      200,
    );
    const remote = await startLocal('https://as.example');
    expect((await remote.ask('http://10.0.0.7', { method: 'GET', path: '/jwks' }, '127.0.0.1')).status).toBe(
      200,
    );
  });
});

it('a failing page for a wrong method is an internal error', async () => {
  const events: string[] = [];
  const refuseMethod = () => Promise.reject(new Error('the page of an operator'));
  const router = createRouter(
    [
      {
        method: 'POST',
        path: '/login',
        handle: async () => respond(200, {}),
        respondMethodNotAllowed: refuseMethod,
      },
    ],
    (event) => events.push(`${event.type} ${'endpoint' in event ? event.endpoint : ''}`),
    true,
  );
  const ask = (method: string) => router.handle(new Request('https://as.example/login', { method }), {});
  expect((await ask('PATCH')).status).toBe(500);
  expect(events).toEqual(['request.failed /login']);
  expect((await ask('POST')).status).toBe(200);
});

describe('paths', () => {
  it.each(['/', '/tokens', '/token/', '/TOKEN', '/authorization', '/.well-known/other'])(
    'a path without a route answers 404: %s',
    async (path) => {
      const { send, server } = await startServer();
      const { status, body } = await send(path);
      expect([status, body['error']]).toEqual([404, 'invalid_request']);
      expect(server.owns(path)).toBe(false);
    },
  );

  it.each(['/token', '/register', '/revoke', '/introspect', '/jwks', OAUTH])(
    'the server owns %s',
    async (path) => {
      expect((await startServer()).server.owns(path)).toBe(true);
    },
  );

  it('paths below a wildcard belong to its route', async () => {
    const router = createRouter(
      [{ method: 'GET', path: '/assets/*', handle: async () => respond(200, {}, 'asset') }],
      () => {},
      true,
    );
    const statusOf = async (path: string) =>
      (await router.handle(new Request(`https://as.example${path}`), {})).status;
    expect(
      await Promise.all(['/assets/a.css', '/assets/b/c.css', '/assets', '/assetsx'].map(statusOf)),
    ).toEqual([200, 200, 404, 404]);
    expect(router.owns('/assets/x')).toBe(true);
  });
});

describe('cross-origin requests', () => {
  const preflight = {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, content-type, mcp-protocol-version',
    },
  };

  it.each(['/token', '/register', '/revoke', '/introspect', '/jwks', OAUTH])(
    '[ALL-CORS-60 ALL-CORS-61 ALL-CORS-62] T064 allows cross-origin calls of %s, without cookies',
    async (path) => {
      const { send } = await startServer();
      const asked = await send(path, preflight);
      expect(asked.status).toBe(204);
      expect(asked.headers.get('access-control-allow-origin')).toBe('*');
      expect(asked.headers.get('access-control-allow-headers')).toBe(
        'authorization, content-type, mcp-protocol-version',
      );
      for (const origin of ['https://evil.example', 'null']) {
        for (const method of ['GET', 'POST']) {
          const { headers } = await send(path, { method, headers: { origin } });
          expect(headers.get('access-control-allow-origin')).toBe('*');
          expect(headers.has('access-control-allow-credentials')).toBe(false);
        }
      }
    },
  );

  it('sends no CORS headers with pages', async () => {
    const router = createRouter(
      [{ method: 'GET', path: '/login', handle: async () => respond(200, {}, 'page') }],
      () => {},
      true,
    );
    for (const init of [preflight, { headers: { origin: 'https://app.example' } }]) {
      const { headers } = await router.handle(new Request('https://as.example/login', init), {});
      expect(headers).not.toHaveProperty('access-control-allow-origin');
    }
  });
});

describe('failures inside', () => {
  /** A store whose codes cannot be looked up. */
  async function brokenStore(error: Error): Promise<AuthorizationStore> {
    return { ...(await openEmptyStore()), findCode: () => Promise.reject(error) };
  }

  it('[ALL-HTTP-61] answers an internal error in JSON without the reason, which only the event has', async () => {
    const { post, events } = await startServer({ store: await brokenStore(new Error('secret reason')) });
    const { status, body, text, headers } = await post('/token', redemption('code', 'v'.repeat(43)));
    expect([status, body['error'], headers.get('cache-control')]).toEqual([500, 'server_error', 'no-store']);
    expect(text).not.toMatch(/secret reason|\.ts|at /);
    expect(events).toContainEqual({
      type: 'request.failed',
      endpoint: '/token',
      reason: expect.stringContaining('secret reason'),
    });
  });

  it('answers 503 with Retry-After when the store fails', async () => {
    const { post, events } = await startServer({
      store: await brokenStore(temporarilyUnavailable('the database is gone', 7)),
    });
    const { status, body, text, headers } = await post('/token', redemption('code', 'v'.repeat(43)));
    expect([status, body['error'], headers.get('retry-after')]).toEqual([
      503,
      'temporarily_unavailable',
      '7',
    ]);
    expect(text).not.toContain('database');
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'request.rejected', reason: 'the database is gone' }),
    );
  });
});
