/** The pass-through path: what reaches a backend over HTTP, and what comes back. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { answerAll, json, startBackend, type TestBackend } from './support/backend.ts';
import { subscription } from './support/client.ts';
import { defineTestServers, startGateway, type TestGateway } from './support/gateway.ts';

const open: { close(): Promise<void> }[] = [];

async function started<A extends { close(): Promise<void> }>(starting: Promise<A>): Promise<A> {
  const one = await starting;
  open.push(one);
  return one;
}

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

type Respond = Parameters<typeof startBackend>[0];

async function behind(
  respond: Respond,
  more: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly backend: TestBackend; readonly gateway: TestGateway }> {
  const backend = await started(startBackend(respond));
  const gateway = await started(
    startGateway([{ path: '/mcp', name: 'Files', backend: { url: backend.url }, ...more }]),
  );
  return { backend, gateway };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a request to a server behind the gateway', () => {
  it('reaches the backend with its body, and its response comes back', async () => {
    const { backend, gateway } = await behind(answerAll);
    const response = await gateway.send('alice', { message: { jsonrpc: '2.0', id: 7, method: 'ping' } });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 7, result: {} });
    expect(response.headers.get('x-accel-buffering')).toBeNull();
    expect(backend.received).toMatchObject([{ method: 'POST', url: '/mcp' }]);
    expect(JSON.parse(backend.received[0]?.body ?? '')).toEqual({ jsonrpc: '2.0', id: 7, method: 'ping' });
  });

  it('gets a challenge without a token, and nothing reaches the backend', async () => {
    const { backend, gateway } = await behind(answerAll);
    const response = await gateway.send(null);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain(
      `${gateway.origin}/.well-known/oauth-protected-resource/mcp`,
    );
    expect(backend.received).toEqual([]);
  });

  it('leaves credentials, cookies, headers of this hop and claims about the client here', async () => {
    const { backend, gateway } = await behind(answerAll);
    await gateway.send('alice', {
      headers: {
        cookie: 'session=secret',
        dpop: 'proof',
        'proxy-authorization': 'Basic secret',
        'x-forwarded-for': '10.0.0.1',
        'x-forwarded-user': 'admin',
        'x-real-ip': '10.0.0.1',
        forwarded: 'for=10.0.0.1',
        'remote-user': 'admin',
        'x-api-key': 'secret',
        origin: gateway.origin,
        'mcp-protocol-version': '2025-06-18',
        'mcp-method': 'ping',
        traceparent: '00-1-1-00',
      },
    });
    const headers = backend.received[0]?.headers ?? {};
    const names = Object.keys(headers).sort();
    expect(names).toEqual([
      'accept',
      'accept-language',
      'connection',
      'content-length',
      'content-type',
      'host',
      'mcp-method',
      'mcp-protocol-version',
      'traceparent',
      'user-agent',
    ]);
    expect(headers['host']).toBe(new URL(backend.url).host);
  });

  it('forwards a further header that the configuration names', async () => {
    const backend = await started(startBackend(answerAll));
    const gateway = await started(
      startGateway([{ path: '/mcp', backend: { url: backend.url, forward: ['X-Tenant'] } }]),
    );
    await gateway.send('alice', { headers: { 'x-tenant': 'acme', 'x-other': 'no' } });
    expect(backend.received[0]?.headers).toMatchObject({ 'x-tenant': 'acme' });
    expect(backend.received[0]?.headers).not.toHaveProperty('x-other');
  });

  it.each(['Cookie', 'Mcp-Name', 'mcp-param-region'])(
    'has no header %s that a setting could forward',
    (name) => {
      const define = (forward: readonly string[]) =>
        defineTestServers(
          [{ path: '/mcp', backend: { url: 'http://127.0.0.1:9/mcp', forward } }],
          'https://a.example',
        );
      expect(() => define([name])).toThrow('must not name a header');
      expect(define(['x-tenant'])).toHaveLength(1);
    },
  );

  it('gets a response without the cookies, challenges and CORS headers of the backend', async () => {
    const { gateway } = await behind(({ body }, response) => {
      response.setHeader('set-cookie', ['a=b', 'c=d']);
      response.setHeader('access-control-allow-origin', '*');
      response.setHeader('clear-site-data', '"cookies"');
      response.setHeader('x-powered-by', 'Express');
      response.setHeader('x-request-id', 'r1');
      json(response, { id: JSON.parse(body).id, jsonrpc: '2.0', result: {} });
    });
    const response = await gateway.send('alice');
    expect(response.status).toBe(200);
    for (const name of ['set-cookie', 'access-control-allow-origin', 'clear-site-data', 'x-powered-by'])
      expect(response.headers.has(name)).toBe(false);
    expect(response.headers.get('x-request-id')).toBe('r1');
  });

  it('does not follow a redirect of the backend', async () => {
    const other = await started(startBackend(answerAll));
    const { gateway } = await behind((_received, response) => {
      response.writeHead(307, { location: other.url }).end();
    });
    const response = await gateway.send('alice');
    expect(response.status).toBe(502);
    expect(response.headers.has('location')).toBe(false);
    expect(await response.text()).toContain('Files redirects (307)');
    expect(other.received).toEqual([]);
  });

  it('does not see a challenge of the backend, which concerns the gateway', async () => {
    const { gateway } = await behind((_received, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    });
    const response = await gateway.send('alice');
    expect(response.status).toBe(502);
    expect(response.headers.has('www-authenticate')).toBe(false);
  });

  it.each([
    { description: 'a method that MCP does not use', init: { method: 'PUT' }, status: 405 },
    {
      description: 'a body in another format',
      init: { headers: { 'content-type': 'text/plain' } },
      status: 415,
    },
    {
      description: 'a body in another charset',
      init: { headers: { 'content-type': 'application/json; charset=utf-16' } },
      status: 415,
    },
    {
      description: 'a body in two charsets',
      init: { headers: { 'content-type': 'application/json; charset=utf-8; charset=utf-16' } },
      status: 415,
    },
    {
      description: 'a body in a charset inside another parameter',
      init: { headers: { 'content-type': 'application/json; a="; charset=utf-16"' } },
      status: 415,
    },
    { description: 'a compressed body', init: { headers: { 'content-encoding': 'gzip' } }, status: 415 },
    { description: 'a path below the endpoint', init: { path: '/mcp/admin' }, status: 404 },
    { description: 'a body over the limit', init: { message: 'x'.repeat(3000) }, status: 413 },
  ])('is refused for $description, and nothing reaches the backend', async ({ init, status }) => {
    const { backend, gateway } = await behind(answerAll, { limits: { body: 2048 } });
    expect((await gateway.send('alice', init)).status).toBe(status);
    expect(backend.received).toEqual([]);
    expect((await gateway.send('alice')).status).toBe(200);
  });
});

it.each([
  'application/json',
  'Application/JSON; charset="UTF-8"',
  'application/json;foo=bar',
  'application/json; foo=bar; charset=utf-8',
  'application/json;',
  'application/json; a="b;c"; charset=utf-8',
])('a body of the type %s is accepted', async (type) => {
  const { gateway } = await behind(answerAll);
  expect((await gateway.send('alice', { headers: { 'content-type': type } })).status).toBe(200);
});

it('a compressed body gets the content coding to use, and one of another type does not', async () => {
  const { gateway } = await behind(answerAll);
  const accepted = async (headers: Record<string, string>) =>
    (await gateway.send('alice', { headers })).headers.get('accept-encoding');
  expect(await accepted({ 'content-encoding': 'gzip' })).toBe('identity');
  expect(await accepted({ 'content-type': 'text/plain' })).toBeNull();
});

it.each(['GET', 'DELETE'])('a %s of revision 2026-07-28 gets 405 with POST alone', async (method) => {
  const { backend, gateway } = await behind(answerAll);
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-session-id': 'x' };
  const response = await gateway.send('alice', { method, headers });
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  expect(backend.received).toEqual([]);
  expect((await gateway.send('alice')).status).toBe(200);
});

describe('a session of a backend', () => {
  const withSession: Respond = ({ body, method, headers }, response) => {
    if (method === 'DELETE') return void response.writeHead(204).end();
    const { method: called, id } = JSON.parse(body || '{}');
    if (called !== 'initialize' && headers['mcp-session-id'] !== 'backend-id')
      return void response.writeHead(404).end();
    json(response, { jsonrpc: '2.0', id, result: {} }, { 'mcp-session-id': 'backend-id' });
  };
  const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: {} };

  async function openSession(gateway: TestGateway, user = 'alice'): Promise<string> {
    const response = await gateway.send(user, { message: initialize });
    return response.headers.get('mcp-session-id') ?? '';
  }

  it('has another id for the client, which works for its user and leads to the same session', async () => {
    const { backend, gateway } = await behind(withSession);
    const session = await openSession(gateway);
    expect(session).not.toContain('backend-id');
    const response = await gateway.send('alice', { headers: { 'mcp-session-id': session } });
    expect(response.status).toBe(200);
    expect(response.headers.get('mcp-session-id')).toBe(session);
    expect(backend.received.at(-1)?.headers['mcp-session-id']).toBe('backend-id');
  });

  it.each([
    { description: 'another user', user: 'mallory' },
    { description: 'another client of the same user', user: 'alice_other' },
  ])('is 404 for $description, whatever the method, and nothing reaches the backend', async ({ user }) => {
    const { backend, gateway } = await behind(withSession);
    const session = await openSession(gateway);
    for (const method of ['POST', 'GET', 'DELETE']) {
      const response = await gateway.send(user, { method, headers: { 'mcp-session-id': session } });
      expect(response.status).toBe(404);
    }
    expect(backend.received).toHaveLength(1);
    const ended = await gateway.send('alice', { method: 'DELETE', headers: { 'mcp-session-id': session } });
    expect(ended.status).toBe(204);
  });

  it('is 404 at another server of the same gateway, and under the id of the backend itself', async () => {
    const backend = await started(startBackend(withSession));
    const gateway = await started(
      startGateway([
        { path: '/mcp', backend: { url: backend.url } },
        { path: '/files', backend: { url: backend.url } },
      ]),
    );
    const session = await openSession(gateway);
    const elsewhere = { path: '/files', headers: { 'mcp-session-id': session } };
    expect((await gateway.send('alice', elsewhere)).status).toBe(404);
    expect((await gateway.send('alice', { headers: { 'mcp-session-id': 'backend-id' } })).status).toBe(404);
    expect(backend.received).toHaveLength(1);
  });

  it('is 404 once it was deleted, without another request to the backend, and others remain', async () => {
    const { backend, gateway } = await behind(withSession);
    const [session, other] = [await openSession(gateway), await openSession(gateway)];
    const send = (id: string, method: string) =>
      gateway.send('alice', { method, headers: { 'mcp-session-id': id } });
    expect((await send(session, 'DELETE')).status).toBe(204);
    const count = backend.received.length;
    for (const method of ['POST', 'GET', 'DELETE']) expect((await send(session, method)).status).toBe(404);
    expect(backend.received).toHaveLength(count);
    expect((await send(other, 'POST')).status).toBe(200);
  });

  it('remains where the backend does not delete it', async () => {
    const { gateway } = await behind((received, response) =>
      received.method === 'DELETE'
        ? void response.writeHead(405).end()
        : withSession(received, response, response.req),
    );
    const headers = { 'mcp-session-id': await openSession(gateway) };
    expect((await gateway.send('alice', { method: 'DELETE', headers })).status).toBe(405);
    expect((await gateway.send('alice', { headers })).status).toBe(200);
  });

  it('works at another process with the same master key', async () => {
    const shared = { masterKey: randomBytes(32), publicUrl: 'https://mcp.example' };
    const backend = await started(startBackend(withSession));
    const servers = [{ path: '/mcp', backend: { url: backend.url } }];
    const one = await started(startGateway(servers, shared));
    const two = await started(startGateway(servers, shared));
    const session = await openSession(one);
    const response = await two.send('alice', { headers: { 'mcp-session-id': session } });
    expect(response.status).toBe(200);
    expect(backend.received.at(-1)?.headers['mcp-session-id']).toBe('backend-id');
  });
});

describe('an event stream', () => {
  const streams: ServerResponse[] = [];
  const streaming: Respond = (_received, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('id: e1\ndata: {"id":"id: x"}\n\n');
    streams.push(response);
  };

  it('passes event by event, with ids that only its user can resume from', async () => {
    const { backend, gateway } = await behind(streaming);
    const response = await gateway.send('alice', { method: 'GET' });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const first = (await reader?.read())?.value ?? '';
    const [, id = ''] = /^id: (\S+)$/m.exec(first) ?? [];
    expect(id).not.toBe('e1');
    expect(first).toContain('data: {"id":"id: x"}');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    await reader?.cancel();
    const again = await gateway.send('alice', { method: 'GET', headers: { 'last-event-id': id } });
    await again.body?.cancel();
    expect(backend.received.at(-1)?.headers['last-event-id']).toBe('e1');
    const count = backend.received.length;
    for (const user of ['mallory', 'alice_other']) {
      const stolen = await gateway.send(user, { method: 'GET', headers: { 'last-event-id': id } });
      expect(stolen.status).toBe(404);
    }
    expect(backend.received).toHaveLength(count);
    const other = await behind(streaming);
    gateway.replaceServers([{ path: '/mcp', backend: { url: other.backend.url } }]);
    const moved = await gateway.send('alice', { method: 'GET', headers: { 'last-event-id': id } });
    expect([moved.status, other.backend.received.length]).toEqual([404, 0]);
  });

  it('ends at the backend when the client disappears', async () => {
    const { backend, gateway } = await behind(streaming);
    const leaving = new AbortController();
    const response = await gateway.send('alice', { method: 'GET', signal: leaving.signal });
    expect(response.status).toBe(200);
    leaving.abort();
    await until(() => backend.aborted() === 1);
    expect(gateway.gateway.health()).toEqual([{ server: '/mcp', status: 'up' }]);
  });

  it.each([
    ['GET', { method: 'GET' }],
    ['subscriptions/listen', subscription],
  ])(
    'of one user by %s is refused beyond the limit, while other users still get theirs',
    async (_what, request) => {
      const { backend, gateway } = await behind(streaming, { limits: { streamsPerUser: 2 } });
      const responses: Response[] = [];
      for (let count = 0; count < 3; count += 1) responses.push(await gateway.send('alice', request));
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(backend.received).toHaveLength(2);
      expect((await gateway.send('bob', request)).status).toBe(200);
      await responses[0]?.body?.cancel();
      await expect.poll(async () => (await gateway.send('alice', request)).status).toBe(200);
    },
  );

  it('does not run ahead of a client that reads slowly', async () => {
    let written = 0;
    const { gateway } = await behind((_received, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = Buffer.from(`data: ${'x'.repeat(64 * 1024)}\n\n`);
      const write = (): void => {
        while (written < 2000) {
          written += 1;
          if (!response.write(chunk)) return void response.once('drain', write);
        }
        response.end();
      };
      write();
    });
    const response = await gateway.send('alice', { method: 'GET' });
    let before = -1;
    while (before !== written) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // 128 MB are to be sent; a few are in the buffers on the way.
    expect(written).toBeLessThan(400);
    let length = 0;
    for await (const chunk of response.body ?? []) length += chunk.length;
    expect(length).toBe(2000 * (64 * 1024 + 8));
  });
});

describe('a backend that is down', () => {
  it('is answered with 503, its name and when to try again, and used as soon as it is back', async () => {
    const first = await startBackend(answerAll);
    const port = Number(new URL(first.url).port);
    const gateway = await started(
      startGateway([{ path: '/mcp', name: 'Files', backend: { url: first.url } }]),
    );
    expect((await gateway.send('alice')).status).toBe(200);
    await first.close();
    const response = await gateway.send('alice');
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('Files') } });
    expect(gateway.gateway.health()).toEqual([{ server: '/mcp', status: 'down' }]);
    await started(startBackend(answerAll, port));
    await expect.poll(async () => (await gateway.send('alice')).status).toBe(200);
    expect(gateway.events.map(({ type }) => type)).toEqual(['backend.failed', 'backend.recovered']);
  });

  it('is replaced by its next address, and its sessions stay with the address that knows them', async () => {
    const dead = await startBackend(answerAll);
    await dead.close();
    const backend = await started(
      startBackend(({ body }, response) => {
        json(response, { jsonrpc: '2.0', id: JSON.parse(body).id, result: {} }, { 'mcp-session-id': 's' });
      }),
    );
    const gateway = await started(
      startGateway([{ path: '/mcp', backend: { url: [dead.url, backend.url] } }]),
    );
    const response = await gateway.send('alice');
    expect(response.status).toBe(200);
    const session = response.headers.get('mcp-session-id') ?? '';
    expect((await gateway.send('alice', { headers: { 'mcp-session-id': session } })).status).toBe(200);
    expect(backend.received).toHaveLength(2);
  });

  it('that does not begin its response in time is answered with 503', async () => {
    const { gateway } = await behind(() => {}, { limits: { firstByte: 1 } });
    const response = await gateway.send('alice');
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('Files does not respond');
  });

  it('breaks off a document: the client gets an error, and nothing of it', async () => {
    const { gateway } = await behind((_received, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"jsonrpc":');
      setTimeout(() => response.destroy(), 20);
    });
    const response = await gateway.send('alice');
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32_603 } });
  });

  it('is spared further requests beyond its concurrency, which are answered with 503', async () => {
    const waiting: (() => void)[] = [];
    const { backend, gateway } = await behind(
      (received, response, request) => {
        waiting.push(() => void answerAll(received, response, request));
      },
      { limits: { concurrency: 2 } },
    );
    const two = [gateway.send('alice'), gateway.send('bob')];
    await until(() => waiting.length === 2);
    expect((await gateway.send('carol')).status).toBe(503);
    expect(backend.received).toHaveLength(2);
    for (const release of waiting) release();
    expect((await Promise.all(two)).map(({ status }) => status)).toEqual([200, 200]);
  });
});
