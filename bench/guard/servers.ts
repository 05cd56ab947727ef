/** The servers that are compared: each responds with 60 bytes, with or without a guard. `servers.ts <name>`, as a child process. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createGuard, jwtVerifier } from '@portcullis/resource-server';
import * as forExpress from '@portcullis/resource-server/express';
import * as forFastify from '@portcullis/resource-server/fastify';
import { protect } from '@portcullis/resource-server/fetch';
import * as forHono from '@portcullis/resource-server/hono';
import { protectNode } from '@portcullis/resource-server/node';
import express from 'express';
import fastify from 'fastify';
import { type Context, Hono } from 'hono';
import { ISSUER, RESOURCE } from './tokens.ts';

const BODY = JSON.stringify({ message: 'sixty bytes of JSON, no more, no less.....' });
const HEADERS = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(BODY)) };

const guard = createGuard({
  resource: RESOURCE,
  scopes: ['notes:read'],
  verifier: jwtVerifier({ issuer: ISSUER, jwks: JSON.parse(process.env['BENCH_KEYS'] ?? '{"keys":[]}') }),
});

const plain: RequestListener = (_request, response) => {
  response.writeHead(200, HEADERS).end(BODY);
};

/** `empty` has middleware that does nothing, which shows the cost of the framework's own chain. */
type Kind = 'bare' | 'guarded' | 'middleware' | 'empty';

function expressApp(kind: Kind): RequestListener {
  const app = express();
  app.disable('etag').disable('x-powered-by');
  const answer: express.RequestHandler = (_request, response) => void response.type('json').send(BODY);
  if (kind === 'middleware') app.use(forExpress.protect(guard));
  if (kind === 'empty') app.use((_request, _response, next) => next());
  if (kind === 'guarded') app.get('/mcp', forExpress.protect(guard), answer);
  app.get('/mcp', answer);
  return app;
}

async function fastifyApp(guarded: boolean): Promise<RequestListener> {
  const app = fastify();
  if (guarded) app.addHook('onRequest', forFastify.protect(guard));
  app.get('/mcp', (_request, reply) => reply.header('content-type', 'application/json').send(BODY));
  await app.ready();
  return (request, response) => app.routing(request, response);
}

function honoApp(kind: Kind): RequestListener {
  const app = new Hono();
  if (kind === 'middleware') app.use(forHono.protect(guard));
  if (kind === 'empty') app.use((_context, next) => next());
  const answer = (context: Context): Response =>
    context.body(BODY, 200, { 'content-type': 'application/json' });
  app.get('/mcp', kind === 'guarded' ? forHono.guarded(guard, answer) : answer);
  return getRequestListener(app.fetch);
}

const servers: Readonly<Record<string, () => RequestListener | Promise<RequestListener>>> = {
  'node:http': () => plain,
  'node:http guarded': () => protectNode(guard, plain),
  'fetch on node:http': () => getRequestListener(async () => new Response(BODY, { headers: HEADERS })),
  'fetch on node:http guarded': () =>
    getRequestListener(protect(guard, () => new Response(BODY, { headers: HEADERS }))),
  express: () => expressApp('bare'),
  'express guarded': () => expressApp('guarded'),
  'express behind middleware': () => expressApp('middleware'),
  'express behind an empty middleware': () => expressApp('empty'),
  fastify: () => fastifyApp(false),
  'fastify guarded': () => fastifyApp(true),
  hono: () => honoApp('bare'),
  'hono guarded': () => honoApp('guarded'),
  'hono behind middleware': () => honoApp('middleware'),
  'hono behind an empty middleware': () => honoApp('empty'),
};

const make = servers[process.argv[2] ?? ''];
if (make === undefined)
  throw new Error(`There is no such server; there are ${Object.keys(servers).join(', ')}`);
const server = createServer(await make());
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpu: user + system, memory: process.memoryUsage.rss() });
});
process.on('disconnect', () => process.exit(0));
