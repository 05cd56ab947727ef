/** Starts a protected server behind each adapter, for the shared suite. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { type Context, Hono } from 'hono';
import Koa from 'koa';
import * as forExpress from '../../src/adapters/express.ts';
import * as forFastify from '../../src/adapters/fastify.ts';
import { protect } from '../../src/adapters/fetch.ts';
import * as forHono from '../../src/adapters/hono.ts';
import * as forKoa from '../../src/adapters/koa.ts';
import { principalOf, protectMcp, protectMcpNode } from '../../src/adapters/mcp.ts';
import { protectNode } from '../../src/adapters/node.ts';
import type { Principal } from '../../src/index.ts';
import {
  type Application,
  listen,
  type Reply,
  received,
  type Seen,
  type Start,
  type Started,
} from './server.ts';

export const startFetch: Start = async (guard, application) =>
  send(protect(guard, (request, principal) => answer(application, request, principal)));

export const startNode: Start = (guard, application) =>
  listen(
    protectNode(guard, async (request, response, principal) => {
      reply(response, await application(await see(request, principal)));
    }),
  );

export const startExpress: Start = (guard, application) => {
  const app = express();
  app.use(forExpress.serveMetadata(guard));
  app.use(forExpress.protect(guard));
  app.use(async (request, response) => {
    reply(response, await application(await see(request, forExpress.principalOf(request))));
  });
  app.use(forExpress.errorHandler(guard));
  return listen(app);
};

export const startFastify: Start = async (guard, application) => {
  const app = fastify({ forceCloseConnections: true });
  app.addHook('onRequest', forFastify.serveMetadata(guard));
  app.addHook('onRequest', forFastify.protect(guard));
  app.setErrorHandler(forFastify.errorHandler(guard));
  // Reads any body as text, since bodies are compared byte for byte.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.all('*', async (request, reply) => {
    const principal = forFastify.principalOf(request);
    const body = typeof request.body === 'string' ? request.body : '';
    const fields = JSON.stringify([request.headers, request.raw.headers, request.raw.rawHeaders]);
    const made = await application({ method: request.method, body, principal, fields });
    return reply
      .code(made.status)
      .headers({ ...made.headers })
      .send(made.isOpen === true ? openStream(made.body) : made.body);
  });
  await app.ready();
  return listen((request, response) => app.routing(request, response));
};

export const startKoa: Start = (guard, application) => {
  const app = new Koa();
  app.silent = true;
  app.use(forKoa.serveMetadata(guard));
  app.use(forKoa.protect(guard));
  app.use(async (context) => {
    const made = await application(await see(context.req, forKoa.principalOf(context)));
    context.status = made.status;
    context.set({ ...made.headers });
    context.body = made.isOpen === true ? openStream(made.body) : made.body;
  });
  return listen(app.callback());
};

function honoApp(guard: Parameters<Start>[0], application: Application): Hono {
  const app = new Hono();
  app.onError(forHono.errorHandler(guard));
  app.use(forHono.serveMetadata(guard));
  app.use(forHono.protect(guard));
  app.all('*', (context) => answer(application, context.req.raw, forHono.principalOf(context)));
  return app;
}

export const startHono: Start = async (guard, application) => {
  const app = honoApp(guard, application);
  return send(async (request) => app.fetch(request));
};

export const startGuardedHono: Start = async (guard, application) => {
  const app = new Hono();
  app.onError(forHono.errorHandler(guard));
  app.use(forHono.serveMetadata(guard));
  const handler = forHono.guarded(guard, (context: Context, principal) =>
    answer(application, context.req.raw, principal),
  );
  app.all('*', handler);
  return send(async (request) => app.fetch(request));
};

export const startHonoOnNode: Start = (guard, application) =>
  listen(getRequestListener(honoApp(guard, application).fetch));

export const startMcp: Start = async (guard, application) =>
  send(
    protectMcp(guard, {
      fetch: (request, { authInfo }) => answer(application, request, principalOf(authInfo)),
    }),
  );

export const startMcpOnNode: Start = (guard, application) =>
  listen(
    protectMcpNode(guard, async (request, response) => {
      reply(response, await application(await see(request, principalOf(request.auth))));
    }),
  );

/** Sends requests to a web-standard handler, without a socket. */
function send(handle: (request: Request) => Promise<Response>): Started {
  return {
    async send({ method = 'GET', path = '/mcp', headers = [], body }) {
      const text = typeof body === 'object' ? body.join('') : body;
      const request = new Request(new URL(path, 'https://internal.example'), {
        method,
        headers: headers.map(([name, value]) => [name, value] as [string, string]),
        ...(text !== undefined && { body: text }),
      });
      const response = await handle(request);
      return received(response.status, response.headers, await response.text());
    },
    async close() {},
  };
}

async function answer(application: Application, request: Request, principal: Principal): Promise<Response> {
  const copies = [request, request.clone(), new Request(request.clone())];
  const fields = JSON.stringify(copies.map(({ headers }) => [...headers]));
  const seen: Seen = { method: request.method, body: await request.text(), principal, fields };
  const { status, headers, body, isOpen }: Reply = await application(seen);
  return new Response(isOpen === true ? openBody(body) : body, { status, ...(headers && { headers }) });
}

function reply(response: ServerResponse, { status, headers, body, isOpen }: Reply): void {
  response.writeHead(status, headers);
  if (isOpen === true) response.write(body);
  else response.end(body);
}

/** Creates a stream that stays open after its text. */
function openStream(text: string): PassThrough {
  const stream = new PassThrough();
  stream.write(text);
  return stream;
}

function openBody(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(text)) });
}

async function see(request: IncomingMessage, principal: Principal): Promise<Seen> {
  const fields = JSON.stringify([request.headers, request.rawHeaders, request.headersDistinct]);
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return { method: request.method ?? '', body, principal, fields };
}
