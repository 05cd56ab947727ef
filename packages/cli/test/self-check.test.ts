/** The self-check of a real server through proxies that each break one thing. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { checkSelf } from '../src/server/self-check.ts';

const OAUTH = '/.well-known/oauth-authorization-server';
const OIDC = '/.well-known/openid-configuration';
const RESOURCE = '/.well-known/oauth-protected-resource/mcp';

/** A broken proxy in front of the server. */
interface Proxy {
  /** Responds itself instead of forwarding. */
  instead?(path: string, method: string): { status: number; location?: string; body?: string } | null;
  /** Changes forwarded headers. */
  onTheWay?(headers: IncomingHttpHeaders): void;
  onTheWayBack?(headers: IncomingHttpHeaders): void;
  /** Changes a body on the way back. */
  rewrite?(text: string): string;
}

let proxy: Proxy = {};
let front: Server;
let server: PortcullisHere;
let url: string;
let behind: number;

beforeAll(async () => {
  front = createServer((incoming, outgoing) => {
    const own = proxy.instead?.(incoming.url ?? '', incoming.method ?? '') ?? null;
    if (own !== null) {
      outgoing.writeHead(own.status, own.location === undefined ? {} : { location: own.location });
      outgoing.end(own.body);
      return;
    }
    const headers = { ...incoming.headers };
    proxy.onTheWay?.(headers);
    const onward = request(
      { port: behind, host: '127.0.0.1', path: incoming.url, method: incoming.method, headers },
      async (answer: IncomingMessage) => {
        const answered = { ...answer.headers };
        proxy.onTheWayBack?.(answered);
        const text = (await answer.setEncoding('utf8').toArray()).join('');
        const body = proxy.rewrite?.(text) ?? text;
        delete answered['content-length'];
        outgoing.writeHead(answer.statusCode ?? 502, answered).end(body);
      },
    );
    onward.once('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => front.listen(0, 'localhost', resolve));
  url = `http://localhost:${(front.address() as AddressInfo).port}`;
  server = await startPortcullisHere({ publicUrl: url });
  behind = server.port;
});
afterEach(() => {
  proxy = {};
});
afterAll(async () => {
  await server.stop();
  front.closeAllConnections();
  front.close();
});

async function check(broken: Proxy = {}): Promise<readonly string[]> {
  proxy = broken;
  const issues = await checkSelf({
    issuer: url,
    resources: [`${url}/mcp`],
    documents: [`${url}${OAUTH}`, `${url}${OIDC}`, `${url}${RESOURCE}`],
  });
  return issues.map((issue) => issue.replaceAll(url, ''));
}

/** A proxy that responds to some paths itself. */
const at = (paths: string | RegExp, status: number, more: { location?: string; body?: string } = {}): Proxy => ({
  instead: (path) => (typeof paths === 'string' ? path === paths : paths.test(path)) ? { status, ...more } : null,
}); // biome-ignore format: one condition

const NO_AUTHORIZATION = /does not receive the Authorization header/;

describe('the self-check', () => {
  it('the self-check reports nothing behind a correct proxy', async () => {
    expect(await check()).toEqual([]);
  });

  // biome-ignore format: a table
  it.each<[string, Proxy, readonly string[], RegExp]>([
    ['a path that is not passed on', at(OAUTH, 404), [OAUTH], /responds with 404 instead of 200: the proxy must forward this path/],
    ['a redirect', at(RESOURCE, 301, { location: '/' }), [RESOURCE], /redirect, which clients do not follow/],
    ['a page', at(OIDC, 200, { body: '<html>' }), [OIDC], /does not respond with JSON/],
    ['another server', at(OAUTH, 200, { body: '{"issuer":"http://inner:1/"}' }), [OAUTH], /Access-Control-Allow-Origin/],
    ['an issuer that was rewritten', { rewrite: (text) => text.replace(`"issuer":"${url}"`, '"issuer":"http://inner:1/"') }, [OAUTH, OIDC], /names "http:\/\/inner:1\/" instead of ""/],
    ['a resource that was rewritten', { rewrite: (text) => text.replace(`"resource":"${url}/mcp"`, '"resource":"http://inner:1/mcp"') }, [RESOURCE], /names "http:\/\/inner:1\/mcp" instead of "\/mcp"/],
    ['keys that are not passed on', at('/jwks', 403), ['/jwks'], /responds with 403 instead of 200/],
    ['pages that are not passed on', at('/authorize', 404), ['/authorize'], /responds with 404 instead of 400/],
    ['a sign-in of its own before the pages', at('/authorize', 302, { location: '/sso' }), ['/authorize'], /redirect/],
    ['a token endpoint that is not passed on', at('/token', 502), ['/token'], /responds with 502 instead of 401/],
    ['methods that are not passed on', { instead: (_path, method) => (method === 'POST' ? { status: 405 } : null) }, ['/mcp', '/introspect', '/register', '/revoke', '/token'], /responds with 405 instead of/],
    ['CORS of its own', { onTheWayBack: (headers) => { headers['access-control-allow-origin'] = 'https://console.example'; } }, [OAUTH, OIDC, RESOURCE], /responds without Access-Control-Allow-Origin/],
    ['credentials that are stripped', { onTheWay: (headers) => { delete headers.authorization; } }, ['/introspect', '/mcp', '/revoke', '/token'], NO_AUTHORIZATION],
    ['challenges that are stripped', { onTheWayBack: (headers) => { delete headers['www-authenticate']; } }, ['/introspect', '/mcp', '/revoke', '/token'], /WWW-Authenticate/],
    ['a challenge that was cut', { onTheWayBack: (headers) => { if (headers['www-authenticate']?.includes('resource_metadata') === true) headers['www-authenticate'] = 'Bearer error="invalid_token"'; } }, ['/mcp'], /lost resource_metadata/],
    ['a prefix that is removed', at('/mcp', 404), ['/mcp'], /instead of 401 to a request without a token: if the proxy removes a prefix, name it in strippedPrefix/],
    ['a login of its own', at('/mcp', 302, { location: '/sso' }), ['/mcp'], /\/mcp responds with 302 instead of 401/],
  ])('the self-check reports %s and nothing else', async (_what, broken, locations, says) => {
    const issues = await check(broken);
    expect(issues.map((issue) => issue.split(' ')[0]).toSorted()).toEqual(locations.toSorted());
    for (const issue of issues) expect(issue).toMatch(says);
    expect(await check()).toEqual([]);
  });

  // biome-ignore format: a table
  it.each<[string, { open?: number; challenge?: string; isStripped?: true }, RegExp | null]>([
    ['nothing', {}, null],
    ['a login of its own', { open: 302 }, /^\/shop responds with 302 instead of 415 to a request without a token$/],
    ['credentials that are stripped', { isStripped: true }, NO_AUTHORIZATION],
    ['a challenge that is stripped', { challenge: '' }, /^\/shop responds without WWW-Authenticate/],
    ['a challenge that was cut', { challenge: 'Bearer error="invalid_token"' }, /lost resource_metadata/],
  ])('the self-check of a server with public operations reports %s', async (_what, broken, says) => {
    const { open = 415, challenge = 'Bearer error="invalid_token", resource_metadata="http://a"', isStripped } = broken;
    const shop = createServer(({ headers }, response) => {
      const isOpen = headers.authorization === undefined || isStripped;
      response.writeHead(isOpen ? open : 401, isOpen || challenge === '' ? {} : { 'www-authenticate': challenge }).end();
    });
    await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void shop.close());
    const resource = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/shop`;
    const found = await checkSelf({ issuer: url, resources: [resource], publicResources: [resource], documents: [`${url}${OIDC}`] });
    const issues = found.map((issue) => issue.replace(new URL(resource).origin, ''));
    expect(issues).toEqual(says === null ? [] : [expect.stringMatching(says)]);
  });

  it('the self-check runs at each start and reports its result', async () => {
    await expect.poll(() => server.output()).toContain('self_check.passed');
    expect(server.errors()).not.toContain('self-check');
    const [before = '', during = ''] = (server.output().split('self_check.passed')[0] ?? '').split(
      'self_check.started expected="rejected requests, of this server itself"',
    );
    expect(before).not.toContain('request.rejected');
    expect(during).toContain('request.rejected');
    proxy = at('/token', 404);
    await server.restart();
    await expect.poll(() => server.errors()).toContain(`self-check: ${url}/token responds with 404`);
    await expect.poll(() => server.output()).toContain('self_check.failed');
  });

  it('the self-check says once how to trust the authority of a certificate', async () => {
    const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url));
    const certificate = { cert: fixture('localhost.pem'), key: fixture('localhost-key.pem') };
    const secure = createSecureServer(certificate).listen(0, '127.0.0.1');
    await once(secure, 'listening');
    onTestFinished(() => void secure.close());
    const issuer = `https://localhost:${(secure.address() as AddressInfo).port}`;
    const issues = await checkSelf({ issuer, resources: [`${issuer}/mcp`], documents: [issuer + OAUTH] });
    expect(issues).toEqual([
      `${issuer}${OAUTH} and 1 more cannot be reached from here: its certificate was issued by an unknown authority: add that authority with NODE_EXTRA_CA_CERTS`,
    ]);
  });

  it('the self-check reports an unreachable server', async () => {
    const issuer = 'http://localhost:9';
    const issues = await checkSelf({ issuer, resources: [`${issuer}/mcp`], documents: [] });
    // One sentence for all addresses with the same reason.
    expect(issues).toEqual([expect.stringMatching(/\/jwks and 1 more cannot be reached from here: /)]);
  });
});
