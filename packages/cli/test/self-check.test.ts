/** The self-check, through proxies that break one thing each. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { checkSelf } from '../src/self-check.ts';

const OAUTH = '/.well-known/oauth-authorization-server';
const RESOURCE = '/.well-known/oauth-protected-resource/mcp';

type Break = (request: IncomingMessage, response: ServerResponse) => boolean;

let proxy: Server | undefined;
afterEach(() => {
  proxy?.closeAllConnections();
  proxy?.close();
});

/** What a public URL answers: all well, but for what is broken. */
async function check(breaks: Break = () => false): Promise<readonly string[]> {
  const server = createServer((request, response) => {
    const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
    if (breaks(request, response)) return;
    if (!response.hasHeader('x-stripped')) response.setHeader('access-control-allow-origin', '*');
    if (request.url === '/mcp') {
      response.statusCode = 401;
      response.setHeader('www-authenticate', `Bearer resource_metadata="${origin}${RESOURCE}"`);
      response.end();
    } else if (request.url === OAUTH) response.end(JSON.stringify({ issuer: origin }));
    else if (request.url === RESOURCE) response.end(JSON.stringify({ resource: `${origin}/mcp` }));
    else if (request.url === '/jwks') response.end(JSON.stringify({ keys: [] }));
    else response.writeHead(404).end();
  });
  proxy = server;
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const faults = await checkSelf({
    issuer,
    resource: `${issuer}/mcp`,
    documents: [`${issuer}${OAUTH}`, `${issuer}${RESOURCE}`],
  });
  return faults.map((fault) => fault.replaceAll(issuer, ''));
}

const at =
  (path: string, answer: (response: ServerResponse) => void): Break =>
  ({ url }, response) => {
    if (url !== path) return false;
    answer(response);
    return true;
  };

describe('the self-check', () => {
  it('says nothing when all is well', async () => {
    expect(await check()).toEqual([]);
  });

  it.each<[string, Break, RegExp]>([
    ['a path that is not passed on', at(OAUTH, (r) => r.writeHead(404).end()), /oauth-authorization-server is answered with 404: the proxy must pass/],
    ['a redirect', at(RESOURCE, (r) => r.writeHead(301, { location: '/' }).end()), /redirect, which clients do not follow/],
    ['a page', at(OAUTH, (r) => r.end('<html>')), /is not answered with JSON/],
    ['another server', at(OAUTH, (r) => r.end(JSON.stringify({ issuer: 'http://inner:1/' }))), /names "http:\/\/inner:1\/" instead of ""/],
    ['headers that are stripped', (_request, r) => void r.setHeader('x-stripped', '') === null, /arrives without Access-Control-Allow-Origin/],
    ['a challenge that is stripped', at('/mcp', (r) => r.writeHead(401).end()), /\/mcp arrives without WWW-Authenticate/],
    ['a challenge that was cut', at('/mcp', (r) => r.writeHead(401, { 'www-authenticate': 'Bearer' }).end()), /lost resource_metadata/],
    ['a login of its own', at('/mcp', (r) => r.writeHead(302, { location: '/sso' }).end()), /\/mcp is answered with 302 instead of 401/],
    ['a door that is shut', (request) => request.destroy() !== undefined, /cannot be reached from here/],
  ])('names %s', async (_what, breaks, says) => {
    const faults = await check(breaks);
    expect(faults.length).toBeGreaterThan(0);
    for (const fault of faults) expect(fault).toMatch(says);
  }); // biome-ignore format: a table

  it('waits for nobody who is not there', async () => {
    const issuer = 'http://localhost:9';
    const faults = await checkSelf({ issuer, resource: `${issuer}/mcp`, documents: [] });
    expect(faults).toHaveLength(2);
  });
});
