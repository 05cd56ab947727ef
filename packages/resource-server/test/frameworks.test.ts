import { once } from 'node:events';
import { createServer as createHttp1Server, request as httpRequest, type RequestListener } from 'node:http';
import { connect, createServer } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { OAuthError } from '@portcullis/protocol';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import Koa from 'koa';
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import * as forExpress from '../src/adapters/express.ts';
import * as forFastify from '../src/adapters/fastify.ts';
import * as forHono from '../src/adapters/hono.ts';
import * as forKoa from '../src/adapters/koa.ts';
import { authInfoOf, principalOf } from '../src/adapters/mcp.ts';
import * as forNode from '../src/adapters/node.ts';
import { createGuard, type Guard } from '../src/index.ts';
import { createHolder } from './support/holder.ts';
import { createIssuer, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';
import { listen, received, type Sent, type Started } from './support/server.ts';

let issuer: TestIssuer;
let guard: Guard;
let started: Started | undefined;

beforeAll(async () => {
  issuer = await createIssuer();
  guard = createGuard({
    resource: RESOURCE,
    scopes: ['base'],
    scopesFor: ({ tool }) => (tool === 'write' ? ['write'] : []),
    verifier: issuer.verifier(),
    clock: () => NOW,
    events: () => {},
  });
});

afterEach(async () => {
  await started?.close();
  started = undefined;
});

const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write' } };

async function calling(scope: string, path = '/mcp'): Promise<Sent> {
  return {
    method: 'POST',
    path,
    body: JSON.stringify(CALL),
    headers: [
      ['authorization', `Bearer ${await issuer.token({ scope })}`],
      ['content-type', 'application/json'],
    ],
  };
}

/** Expects a request to be rejected without the scope of its operation, accepted with it, and its body parsed once. */
async function expectProtected({ send }: Started): Promise<void> {
  const refused = await send(await calling('base'));
  expect([refused.status, refused.json['scope']]).toEqual([403, 'base write']);
  const accepted = await send(await calling('base write'));
  expect([accepted.status, accepted.json]).toEqual([200, { subject: 'alice', body: CALL }]);
}

describe('Express', () => {
  const reply = (request: express.Request, response: express.Response): void => {
    response.json({ subject: forExpress.principalOf(request).subject, body: request.body });
  };

  it('parses the body behind the guard', async () => {
    const app = express();
    app.post('/mcp', forExpress.protect(guard), express.json(), reply);
    started = await listen(app);
    await expectProtected(started);
  });

  it('may have parsed the body before the guard', async () => {
    const app = express();
    app.use(express.json());
    app.post('/mcp', forExpress.protect(guard), reply);
    started = await listen(app);
    await expectProtected(started);
  });

  it('T096 checks the unread body, whatever poses as a parsed one', async () => {
    const app = express();
    const ran: unknown[] = [];
    // What parsers for forms leave of a request that is no form, in Express 4.
    app.use((request, _response, next) => {
      request.body = {};
      next();
    });
    app.post('/mcp', forExpress.protect(guard), async (request, response) => {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      ran.push(text);
      response.json({ subject: forExpress.principalOf(request).subject, body: JSON.parse(text) });
    });
    started = await listen(app);
    await expectProtected(started);
    expect(ran).toEqual([JSON.stringify(CALL)]);
  });

  it('T096 rejects a body in another character set, or compressed', async () => {
    const app = express();
    app.post('/mcp', forExpress.protect(guard), express.json(), reply);
    started = await listen(app);
    const sent = await calling('base');
    const authorization = sent.headers?.[0] ?? ['authorization', ''];
    // Here a text; in UTF-7 it ends, and a call follows.
    const hidden =
      '{"x":"+ACI-,+ACI-method+ACI-:+ACI-tools/call+ACI-,+ACI-params+ACI-:{+ACI-name+ACI-:+ACI-write+ACI-},+ACI-y+ACI-:+ACI-"}';
    for (const charset of ['utf-7', '"UTF-7"', 'utf-8; charset=utf-7', 'utf-7; charset=utf-8', 'utf-16']) {
      const type = ['content-type', `application/json; charset=${charset}`] as const;
      const response = await started.send({ ...sent, body: hidden, headers: [authorization, type] });
      expect([charset, response.status, response.json['error']]).toEqual([charset, 415, 'invalid_request']);
    }
    const packed = [...(sent.headers ?? []), ['content-encoding', 'br'] as const];
    expect((await started.send({ ...sent, body: '{}', headers: packed })).status).toBe(415);
    const plain = ['content-type', 'application/json; charset=UTF-8'] as const;
    const read = await started.send({ ...sent, body: hidden, headers: [authorization, plain] });
    expect([read.status, read.json['body']]).toEqual([200, JSON.parse(hidden)]);
  });

  it('reports a body that was consumed before the guard', async () => {
    const app = express();
    app.use(async (request, _response, next) => {
      for await (const _ of request);
      next();
    });
    app.post('/mcp', forExpress.protect(guard), reply);
    started = await listen(app);
    expect((await started.send(await calling('base write'))).status).toBe(500);
  });

  it('mounts the guard below a path, on routes with their own scopes, and leaves other routes unprotected', async () => {
    const app = express();
    app.use(forExpress.serveMetadata(guard));
    app.get('/health', (_request, response) => void response.send('ok'));
    app.get(
      '/.well-known/oauth-authorization-server',
      (_request, response) => void response.json({ mine: true }),
    );
    app.use('/mcp', forExpress.protect(guard));
    app.all('/mcp/admin', forExpress.protect(guard, { scopes: ['admin', 'root'] }), reply);
    app.all('/mcp', reply);
    app.get('/open', (request, response) => void response.json(forExpress.principalOf(request)));
    const complaints: string[] = [];
    app.use(((error, _request, response, _next) => {
      complaints.push(String(error));
      response.status(500).end();
    }) as express.ErrorRequestHandler);
    started = await listen(app);
    const { send } = started;
    expect((await send({ path: '/health' })).text).toBe('ok');
    expect((await send({ path: '/.well-known/oauth-authorization-server' })).json).toEqual({ mine: true });
    expect((await send({ path: '/.well-known/oauth-protected-resource/mcp' })).json['resource']).toBe(
      RESOURCE,
    );
    expect((await send({ path: '/mcp' })).status).toBe(401);
    const admin = await send(await calling('base write', '/mcp/admin'));
    expect([admin.status, admin.json['scope']]).toEqual([403, 'base admin root write']);
    const granted = await send(await calling('base write admin root', '/mcp/admin'));
    expect([granted.status, granted.json['subject']]).toEqual([200, 'alice']);
    expect((await send({ path: '/open' })).status).toBe(500);
    expect(complaints).toEqual([expect.stringContaining('No guard runs before this handler')]);
  });

  it('responds to preflights of the resource at the root, and leaves others to the application', async () => {
    const app = express();
    app.use(forExpress.serveMetadata(guard));
    app.options('/other', (_request, response) => void response.status(200).send('mine'));
    started = await listen(app);
    const headers = [
      ['origin', 'https://app.example'],
      ['access-control-request-method', 'POST'],
    ] as const;
    expect((await started.send({ method: 'OPTIONS', path: '/mcp', headers })).status).toBe(204);
    expect((await started.send({ method: 'OPTIONS', path: '/other', headers })).text).toBe('mine');
  });

  it('leaves errors other than OAuthError to the application', async () => {
    const app = express();
    app.post('/mcp', forExpress.protect(guard), () => {
      throw new Error('mine');
    });
    app.use(forExpress.errorHandler(guard));
    app.use(((error, _request, response, _next) => {
      response.status(418).send(error.message);
    }) as express.ErrorRequestHandler);
    started = await listen(app);
    const response = await started.send(await calling('base write'));
    expect([response.status, response.text]).toEqual([418, 'mine']);
  });
});

describe('HTTP/2', () => {
  /** Returns the response to a request whose body no header announces, and what the application read of it. */
  async function post(origin: string, scope: string, body: string, announce = false): Promise<unknown[]> {
    const session = connect(origin);
    onTestFinished(() => session.destroy());
    const stream = session.request({
      ':method': 'POST',
      ':path': '/mcp',
      ':authority': new URL(RESOURCE).host,
      authorization: `Bearer ${await issuer.token({ scope })}`,
      'content-type': 'application/json',
      ...(announce && { 'content-length': String(body.length) }),
    });
    const answered = once(stream, 'response');
    stream.end(body);
    const [headers] = (await answered) as [Record<string, unknown>];
    let text = '';
    for await (const chunk of stream) text += String(chunk);
    return [headers[':status'], text];
  }

  it('T096 checks a body that no header announces, and passes it on', async () => {
    const handler = forNode.protectNode(guard, async (request, response) => {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      response.end(text);
    });
    const server = createServer(handler as never);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const body = JSON.stringify({ ...CALL, padding: 'x'.repeat(100_000) });
    for (const announce of [false, true]) {
      expect((await post(origin, 'base', body, announce))[0]).toBe(403);
      expect(await post(origin, 'base write', body, announce)).toEqual([200, body]);
    }
    expect(await post(origin, 'base', '')).toEqual([200, '']);
  });
});

describe('node:http', () => {
  it.each([
    ['accepts', 'base', 200],
    ['rejects', 'other', 403],
  ])(
    'leaves a response alone that the application sent before the guard %s',
    async (_what, scope, status) => {
      const unhandled: unknown[] = [];
      const record = (error: unknown) => void unhandled.push(error);
      process.on('unhandledRejection', record);
      onTestFinished(() => void process.off('unhandledRejection', record));
      let isLate = true;
      let reached = 0;
      const decisions: unknown[] = [];
      const waiting: Guard = {
        ...guard,
        authorize(requestInfo) {
          const decision = guard.authorize(requestInfo);
          decisions.push(decision);
          return decision;
        },
      };
      const handler = forNode.protectNode(waiting, (_request, response) => {
        reached += 1;
        response.end('done');
      });
      started = await listen((request, response) => {
        handler(request, response);
        if (isLate) response.writeHead(503).end('late');
      });
      const get = async (): Promise<Sent> => ({
        headers: [['authorization', `Bearer ${await issuer.token({ scope })}`]],
      });
      const late = await started.send(await get());
      expect(await decisions[0]).toMatchObject({ authorized: status === 200 });
      // Node reports unhandled rejections before the next turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      expect([late.status, late.text, reached, unhandled]).toEqual([503, 'late', 0, []]);
      isLate = false;
      expect((await started.send(await get())).status).toBe(status);
      expect(reached).toBe(status === 200 ? 1 : 0);
    },
  );
});

describe('a decision that comes late', () => {
  /** How a server is started, and a request sent that can be cut. */
  const versions: readonly [
    string,
    (listener: RequestListener) => Server,
    (origin: string, headers: Readonly<Record<string, string>>) => () => void,
  ][] = [
    [
      'HTTP/1',
      createHttp1Server,
      (origin, headers) => {
        const request = httpRequest(`${origin}/mcp`, { headers }).on('error', () => {});
        request.end();
        return () => request.destroy();
      },
    ],
    [
      'HTTP/2',
      (listener) => createServer(listener as never),
      (origin, headers) => {
        const session = connect(origin);
        session.request({ ':path': '/mcp', ...headers }).on('error', () => {});
        return () => session.destroy();
      },
    ],
  ];

  it.each(versions)(
    'starts no handler for a client that has left (%s), but for one that stays',
    async (_version, create, send) => {
      const [arrived, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const [may, handled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let reached = 0;
      const authorize: Guard['authorize'] = async (requestInfo) => {
        const decision = await guard.authorize(requestInfo);
        arrived.resolve();
        await may.promise;
        return decision;
      };
      const handler = forNode.protectNode({ ...guard, authorize }, (_request, response) => {
        reached += 1;
        response.on('finish', () => handled.resolve()).end();
      });
      const server = create((request, response) => {
        response.on('close', () => left.resolve());
        handler(request, response);
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const headers = { authorization: `Bearer ${await issuer.token({ scope: 'base' })}` };
      const leave = send(origin, headers);
      await arrived.promise;
      leave();
      await left.promise;
      may.resolve();
      await new Promise((resolve) => setImmediate(resolve));
      expect(reached).toBe(0);
      const end = send(origin, headers);
      await handled.promise;
      end();
      expect(reached).toBe(1);
    },
  );
});

describe('Fastify', () => {
  it('may have parsed the body before the guard', async () => {
    const app = fastify();
    app.post('/mcp', { preHandler: forFastify.protect(guard) }, async (request) => ({
      subject: forFastify.principalOf(request).subject,
      body: request.body,
    }));
    await app.ready();
    started = await listen((request, response) => app.routing(request, response));
    await expectProtected(started);
  });

  it('parses the body behind the guard, and keeps scopes of routes', async () => {
    const app = fastify();
    const reply = (request: object & { readonly body: unknown }): unknown => ({
      subject: forFastify.principalOf(request).subject,
      body: request.body,
    });
    app.post('/mcp', { onRequest: forFastify.protect(guard) }, async (request) => reply(request));
    const admin = { onRequest: forFastify.protect(guard, { scopes: ['admin'] }) };
    app.post('/mcp/admin', admin, async (request) => reply(request));
    await app.ready();
    started = await listen((request, response) => app.routing(request, response));
    await expectProtected(started);
    const refused = await started.send(await calling('base', '/mcp/admin'));
    expect([refused.status, refused.json['scope']]).toEqual([403, 'base admin write']);
  });

  it('leaves errors other than OAuthError to the application', async () => {
    const app = fastify();
    app.setErrorHandler(forFastify.errorHandler(guard));
    app.post('/mcp', { onRequest: forFastify.protect(guard) }, async () => {
      throw new Error('mine');
    });
    await app.ready();
    started = await listen((request, response) => app.routing(request, response));
    const response = await started.send(await calling('base write'));
    expect([response.status, response.json['message']]).toEqual([500, 'mine']);
  });
});

describe('Koa', () => {
  /** An application that reads the body itself, behind the guard. */
  const reading: Koa.Middleware = async (context) => {
    let text = '';
    for await (const chunk of context.req) text += String(chunk);
    context.body = { subject: forKoa.principalOf(context).subject, body: JSON.parse(text) };
  };

  it('may have parsed the body before the guard', async () => {
    const app = new Koa();
    app.use(async (context, next) => {
      let text = '';
      for await (const chunk of context.req) text += String(chunk);
      Object.assign(context.request, { body: JSON.parse(text) });
      await next();
    });
    app.use(forKoa.protect(guard));
    app.use((context) => {
      const { body } = context.request as { body?: unknown };
      context.body = { subject: forKoa.principalOf(context).subject, body };
    });
    started = await listen(app.callback());
    await expectProtected(started);
  });

  it('T096 checks the unread body behind Koa, whatever poses as a parsed one', async () => {
    const app = new Koa();
    app.use(async (context, next) => {
      Object.assign(context.request, { body: {} });
      await next();
    });
    app.use(forKoa.protect(guard));
    app.use(reading);
    started = await listen(app.callback());
    await expectProtected(started);
  });

  it('reads the body behind the guard, and keeps scopes of routes', async () => {
    const app = new Koa();
    app.silent = true;
    app.use(forKoa.protect(guard));
    app.use(async (context, next) => {
      if (context.path === '/mcp/admin') await forKoa.protect(guard, { scopes: ['admin'] })(context, next);
      else await next();
    });
    app.use(reading);
    started = await listen(app.callback());
    await expectProtected(started);
    const refused = await started.send(await calling('base write', '/mcp/admin'));
    expect([refused.status, refused.json['scope']]).toEqual([403, 'base admin write']);
    expect((await started.send(await calling('base write admin', '/mcp/admin'))).status).toBe(200);
  });

  it('leaves errors other than OAuthError to the application', async () => {
    const app = new Koa();
    app.silent = true;
    app.use(forKoa.protect(guard));
    app.use(() => {
      throw new Error('mine');
    });
    started = await listen(app.callback());
    expect((await started.send(await calling('base write'))).status).toBe(500);
  });
});

describe('Hono', () => {
  const serve = (app: Hono): Started => ({
    async send({ path = '/mcp', headers = [], ...rest }) {
      const fields = headers.map(([name, value]) => [name, value] as [string, string]);
      const response = await app.request(path, { ...rest, headers: fields } as RequestInit);
      return received(response.status, response.headers, await response.text());
    },
    async close() {},
  });

  it('parses the body behind the guard, and keeps scopes of routes', async () => {
    const app = new Hono();
    app.post('/mcp', forHono.protect(guard), async (context) =>
      context.json({ subject: forHono.principalOf(context).subject, body: await context.req.json() }),
    );
    app.post('/mcp/admin', forHono.protect(guard, { scopes: ['admin'] }), (context) => context.text('never'));
    await expectProtected(serve(app));
    const refused = await serve(app).send(await calling('base', '/mcp/admin'));
    expect([refused.status, refused.json['scope']]).toEqual([403, 'base admin write']);
  });

  it('may have parsed the body before the guard', async () => {
    const app = new Hono();
    app.use(async (context, next) => {
      await context.req.json();
      await next();
    });
    app.post('/mcp', forHono.protect(guard), async (context) =>
      context.json({ subject: forHono.principalOf(context).subject, body: await context.req.json() }),
    );
    await expectProtected(serve(app));
  });
});

describe('several resources behind one router', () => {
  const PLAIN = '/mcp/admin/x';
  /** Spellings that one of these routers takes for the plain one. */
  const SPELLINGS = [
    '/mcp/%61dmin/x',
    '/mcp/admi%6E/x',
    '/%6Dcp/admin/x',
    '/mcp/./admin/x',
    '/mcp//admin/x',
    '/mcp/ADMIN/x',
    '/mcp/admin;/x',
    '/mcp/admin;x',
    '/mcp/admin%3bx',
    '/mcp/admin/x;y',
    '/mcp/admin/x;y=1/../z',
    '/mcp;/admin/x',
    '/mcp/admin/x%3by',
    '/mcp/admin%3B/x',
    '/mcp%2fadmin/x',
    '/mcp%5cadmin/x',
    '/mcp\\admin\\x',
    '/mcp%252fadmin/x',
    '/mcp/%2561dmin/x',
    '/mcp/x/../admin/x',
    '/mcp/x/%2e%2e/admin/x',
    '/mcp/x/.%2E/admin/x',
    '/mcp/%252e%252e/mcp/admin/x',
    '/mcp/admin%00/x',
    '/mcp/admin/x%3f',
    '/mcp/admin/x%23',
    '/mcp/admin/x/',
    '/MCP/admin/x/',
  ];

  function guardOfTwo(): Guard {
    return createGuard({
      resources: [{ resource: RESOURCE }, { resource: `${RESOURCE}/admin` }],
      verifier: issuer.verifier(),
      clock: () => NOW,
      events: () => {},
    });
  }

  const routers: readonly [string, (ran: string[]) => Promise<Started>][] = [
    [
      'Fastify',
      async (ran) => {
        const app = fastify({ routerOptions: { ignoreDuplicateSlashes: true } });
        app.addHook('onRequest', forFastify.protect(guardOfTwo()));
        for (const path of ['/mcp/admin', '/mcp/admin/x']) app.get(path, async () => ran.push('admin'));
        await app.ready();
        return listen((request, response) => app.routing(request, response));
      },
    ],
    [
      'Fastify, with path parameters and without case',
      async (ran) => {
        const routerOptions = {
          useSemicolonDelimiter: true,
          caseSensitive: false,
          ignoreTrailingSlash: true,
        };
        const app = fastify({ routerOptions });
        app.addHook('onRequest', forFastify.protect(guardOfTwo()));
        for (const path of ['/mcp/admin', '/mcp/admin/x']) app.get(path, async () => ran.push('admin'));
        await app.ready();
        return listen((request, response) => app.routing(request, response));
      },
    ],
    [
      'Express',
      async (ran) => {
        const app = express();
        app.use(forExpress.protect(guardOfTwo()));
        app.get('/mcp/admin/x', (_request, response) => response.send(String(ran.push('admin'))));
        return listen(app);
      },
    ],
    [
      'Hono',
      async (ran) => {
        const app = new Hono();
        app.use(forHono.protect(guardOfTwo()));
        app.get('/mcp/admin/x', (context) => context.text(String(ran.push('admin'))));
        return listen(getRequestListener(app.fetch));
      },
    ],
  ];

  it.each(routers)(
    'T087 never accepts a token for another resource by a different spelling of the path: %s',
    async (_name, start) => {
      const ran: string[] = [];
      started = await start(ran);
      const send = async (path: string, aud: string): Promise<number> => {
        const headers = [['authorization', `Bearer ${await issuer.token({ aud })}`]] as const;
        return (await started?.send({ path, headers }))?.status ?? 0;
      };
      for (const path of [PLAIN, ...SPELLINGS])
        expect([path, await send(path, RESOURCE)]).not.toEqual([path, 200]);
      expect(ran).toEqual([]);
      expect([await send(PLAIN, `${RESOURCE}/admin`), ran]).toEqual([200, ['admin']]);
    },
  );
});

describe('the handler of an outer resource', () => {
  it.each([
    ['/mcp/low', '/mcp/LOW'],
    ['/mcp/Low', '/mcp/low'],
    ['/mcp/l%C3%B6w', '/mcp/l%c3%b6w'],
  ])('T087 never runs with a token for %s where a router heeds case', async (inner, spelling) => {
    const ran: string[] = [];
    const app = new Hono();
    const resources = [{ resource: RESOURCE }, { resource: new URL(inner, RESOURCE).href }] as const;
    const [verifier, clock] = [issuer.verifier(), () => NOW];
    app.use(forHono.protect(createGuard({ resources: [...resources], verifier, clock, events: () => {} })));
    app.get('/mcp/*', (context) => {
      const { resource } = forHono.principalOf(context);
      return context.text(String(ran.push(resource)));
    });
    started = await listen(getRequestListener(app.fetch));
    const token = await issuer.token({ aud: resources[1].resource });
    const send = (path: string) => started?.send({ path, headers: [['authorization', `Bearer ${token}`]] });
    expect([(await send(spelling))?.status, ran]).toEqual([400, []]);
    expect([(await send(inner))?.status, ran]).toEqual([200, [resources[1].resource]]);
  });
});

describe('the paths of several resources', () => {
  const ADMIN = `${RESOURCE}/admin@keys`;
  const several = (): Guard =>
    createGuard({
      resources: [{ resource: RESOURCE }, { resource: ADMIN }],
      verifier: issuer.verifier(),
      clock: () => NOW,
      events: () => {},
    });

  async function statusOf(path: string, aud: string, of: Guard = several()): Promise<number> {
    const authorization = `Bearer ${await issuer.token({ aud })}`;
    const decision = await of.authorize({ method: 'GET', url: path, authorization });
    return decision.authorized ? 200 : decision.response.status;
  }

  it.each([
    '/mcp/admin@keys',
    '/mcp/admin@keys/',
    '/mcp/admin@keys/X%40?y=;',
    'https://api.example/mcp/admin@keys',
    'https://other.example/mcp/admin@keys#x',
  ])('T087 belong to the inner resource in this spelling: %s', async (path) => {
    expect([await statusOf(path, RESOURCE), await statusOf(path, ADMIN)]).toEqual([401, 200]);
  });

  it.each([
    // A router that heeds case, or does not decode, takes it for the outer resource.
    '/mcp/ADMIN@keys/x?y=;',
    '/mcp/admin%40keys/x',
    // A router that decodes and then lowers the case reads a Kelvin sign as k.
    '/mcp/admin@%E2%84%AAeys/x',
    '/mcp/admin@keys;x',
    '/mcp/admin@keys%3bx',
    '/mcp;x=/admin@keys',
    '/mcp/x/..;/admin@keys',
    '/mcp/admin@%2525keys%252f',
    '/mcp/admin@keys%09',
    '/mcp/admin@keys\t',
    '/mcp/admin@\u212aeys',
    '/mcp/admin@keys%7f',
    '/mcp/admin%u0040keys',
    '/mcp/x%c0%afadmin@keys',
    '/mcp/x%',
    '/mcp/x%zz',
  ])('T087 are refused in this spelling, with any token: %j', async (path) => {
    expect([await statusOf(path, RESOURCE), await statusOf(path, ADMIN)]).toEqual([400, 400]);
  });

  it.each([
    '/mcp/a%20b',
    '/mcp/%C3%BC',
    '/mcp/100%25',
    '/mcp/a+b,c=d&e',
    '/mcp/%5Ba%5D',
    '/mcp/x?y=a;b/../%2e',
  ])('belong to the outer resource with ordinary encoding: %s', async (path) => {
    expect([await statusOf(path, RESOURCE), await statusOf(path, ADMIN)]).toEqual([200, 401]);
  });

  it('may be written in any way if there is a single resource', async () => {
    const one = createGuard({
      resource: RESOURCE,
      verifier: issuer.verifier(),
      clock: () => NOW,
      events: () => {},
    });
    expect(await statusOf('/mcp/a;b//%2e', RESOURCE, one)).toBe(200);
  });

  it('must be plain themselves', () => {
    for (const path of ['/mcp;v=1', '/mcp//x', '/mcp/%61'])
      expect(() =>
        createGuard({
          resources: [{ resource: RESOURCE }, { resource: `https://api.example${path}` }],
          verifier: issuer.verifier(),
        }),
      ).toThrow('must be plain');
  });
});

describe('a guarded handler of Hono', () => {
  it('leaves errors other than OAuthError to the application', async () => {
    for (const fail of [
      () => Promise.reject(new Error('mine')),
      () => {
        throw new Error('mine');
      },
    ]) {
      const app = new Hono();
      app.onError((error, context) => context.text(error.message, 418));
      app.get('/mcp', forHono.guarded(guard, fail as () => Promise<Response>));
      const authorization = `Bearer ${await issuer.token({ scope: 'base' })}`;
      const response = await app.request('/mcp', { headers: { authorization } });
      expect([response.status, await response.text()]).toEqual([418, 'mine']);
    }
  });
});

describe('errors behind Hono', () => {
  const failing = (error: Error): Hono => {
    const app = new Hono();
    app.onError(forHono.errorHandler(guard));
    app.get('/mcp', () => {
      throw error;
    });
    return app;
  };

  it('keeps error responses that a Hono application created', async () => {
    const response = await failing(new HTTPException(418, { message: 'mine' })).request('/mcp');
    expect([response.status, await response.text()]).toEqual([418, 'mine']);
    const thrown = new Error('mine');
    await expect(async () => failing(thrown).request('/mcp')).rejects.toBe(thrown);
  });

  it.each(['DPoP', 'Bearer'])('challenges a late error with the scheme of the token: %s', async (scheme) => {
    const own = createGuard({ resource: RESOURCE, verifier: issuer.verifier(), clock: () => NOW, dpop: {} });
    const app = new Hono();
    app.onError(forHono.errorHandler(own));
    app.use('/mcp', forHono.protect(own));
    app.get('/mcp', () => {
      throw new OAuthError('insufficient_scope', 'More scopes are needed.', { scopes: ['write'] });
    });
    const holder = await createHolder();
    const token = await issuer.token(scheme === 'DPoP' ? { cnf: { jkt: holder.thumbprint } } : {});
    const dpop = await holder.prove(token, { iat: NOW, htm: 'GET' });
    const response = await app.request(RESOURCE, {
      headers: { authorization: `${scheme} ${token}`, ...(scheme === 'DPoP' && { dpop }) },
    });
    expect(response.status).toBe(403);
    expect(response.headers.get('www-authenticate')).toMatch(new RegExp(`^${scheme} .*insufficient_scope`));
  });
});

describe('authInfo of the MCP server packages', () => {
  it('[S-AUD-4] contains the principal, and never the token', async () => {
    const token = await issuer.token({ scope: 'base' });
    const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization: `Bearer ${token}` });
    if (!decision.authorized) throw new Error('refused');
    const authInfo = authInfoOf(decision.principal);
    expect(authInfo).toMatchObject({
      clientId: 'notes-app',
      scopes: ['base'],
      expiresAt: NOW + 600,
      resource: new URL(RESOURCE),
      resourceMetadataUrl: 'https://api.example/.well-known/oauth-protected-resource/mcp',
    });
    expect(JSON.stringify(authInfo)).not.toContain(token);
    expect(principalOf(authInfo)).toBe(decision.principal);
    const copies = [
      { ...decision.principal, subject: 'mallory' },
      structuredClone({ ...decision.principal }),
    ];
    for (const principal of [undefined, null, 'alice', ...copies])
      expect(() => principalOf({ extra: { principal } })).toThrow('not created by a guard');
    expect(() => principalOf(undefined)).toThrow('not created by a guard');
  });
});
