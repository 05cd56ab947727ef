/** The egress proxy: what it is asked to connect to, and that the SSRF guard checks the target all the same. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { usesProxy } from '../src/outbound/egress-proxy.ts';
import {
  createOutboundFetch,
  type EgressProxy,
  OutboundError,
  type OutboundOptions,
} from '../src/outbound/outbound-fetch.ts';

const key = readFileSync(new URL('fixtures/key.pem', import.meta.url), 'utf8');
const certificate = readFileSync(new URL('fixtures/certificate.pem', import.meta.url), 'utf8');

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** A target with a certificate for inner.example, and a proxy that connects everything to it. */
async function setScene(refuse?: (socket: Socket) => void) {
  const asked: IncomingMessage[] = [];
  const target = await listen(
    createSecureServer({ key, cert: certificate }, (_request, response) => void response.end('inside')),
  );
  const proxy = createServer();
  proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
    asked.push(request);
    socket.on('error', () => {});
    if (refuse !== undefined) return refuse(socket);
    const onward = connect(target, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('close', () => onward.destroy());
  });
  const proxyPort = await listen(proxy);
  const resolved: string[] = [];
  const fetchWith = (
    changes: Partial<EgressProxy> = {},
    options: OutboundOptions = {},
    address = '93.184.216.34',
  ) =>
    createOutboundFetch({
      certificateAuthorities: [certificate],
      proxy: { url: `http://127.0.0.1:${proxyPort}`, ...changes },
      timeout: 100_000,
      resolve: async (hostname) => {
        resolved.push(hostname);
        return [address];
      },
      ...options,
    });
  return { target, proxyPort, fetchWith, resolved, connected: () => asked.map(({ url }) => url), asked };
}

async function reasonOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  return error instanceof OutboundError ? error.reason : 'no error';
}

describe('an egress proxy', () => {
  it('[C-SSRF-45] connects to the address that was checked, with TLS to the host itself', async () => {
    const { fetchWith, connected, resolved, asked, proxyPort } = await setScene();
    const fetch = fetchWith({ url: `http://me:p%40ss@127.0.0.1:${proxyPort}` });
    expect(await (await fetch('https://inner.example/x')).text()).toBe('inside');
    expect(connected()).toEqual(['93.184.216.34:443']);
    expect(resolved).toEqual(['inner.example']);
    expect(asked[0]?.headers['proxy-authorization']).toBe(`Basic ${btoa('me:p@ss')}`);
  });

  it('resolves names only if the operator chose them', async () => {
    const { fetchWith, connected, resolved } = await setScene();
    const named = fetchWith({ mayResolve: (hostname) => hostname === 'inner.example' });
    expect(await (await named('https://inner.example:8443/')).text()).toBe('inside');
    const origin = 'https://inner.example:9443';
    expect(await (await fetchWith({}, { allowedPrivateOrigins: [origin] })(`${origin}/`)).text()).toBe(
      'inside',
    );
    expect(connected()).toEqual(['inner.example:8443', 'inner.example:9443']);
    expect(resolved).toEqual([]);
  });

  it.each(['127.0.0.1', '10.0.0.1', '169.254.169.254', 'fc00::1'])(
    '[C-SSRF-42 AS-CIMD-31] T049 is not asked for a name that resolves to %s',
    async (address) => {
      const { fetchWith, connected } = await setScene();
      expect(await reasonOf(fetchWith({}, {}, address)('https://inner.example/'))).toBe('address');
      expect(await reasonOf(fetchWith()('https://10.0.0.1/'))).toBe('address');
      expect(await reasonOf(fetchWith()('https://intranet/'))).toBe('address');
      expect(connected()).toEqual([]);
    },
  );

  it('is not used for loopback hosts, nor for those that bypass it', async () => {
    const { fetchWith, connected, target } = await setScene();
    const direct = { allowLoopback: true, allowedPrivateOrigins: [`https://inner.example:${target}`] };
    for (const pattern of ['inner.example', '.example', '*.example', '*']) {
      const fetch = fetchWith({ bypass: ['other.example', pattern] }, direct, '127.0.0.1');
      expect(await (await fetch(`https://inner.example:${target}/`)).text()).toBe('inside');
    }
    expect(await reasonOf(fetchWith({}, direct)('http://127.0.0.1:1/'))).toBe('unreachable');
    expect(connected()).toEqual([]);
  });

  it.each([
    ['https://inner.example/', 'inner.example:443', true],
    ['https://inner.example/', 'inner.example:8443', false],
    ['https://a.inner.example:8443/', '.inner.example:8443', true],
    ['http://10.1.2.3/', '10.0.0.0/8', true],
    ['http://10.1.2.3:8080/', '10.1.2.3:8080', true],
    ['http://10.1.2.3/', '10.1.2.3:8080', false],
    ['http://11.1.2.3/', '10.0.0.0/8', false],
    ['http://10.example/', '10.0.0.0/8', false],
    ['http://[fd00::1]/', 'fd00::/8', true],
    ['http://[fd00::1]:81/', '[fd00::1]:81', true],
    ['http://[fd00::1]/', '[fd00::1]:81', false],
    ['https://other.example/', 'inner.example', false],
  ])('for %s, %s in NO_PROXY means that it is bypassed: %s', (url, pattern, isBypassed) => {
    expect(usesProxy(new URL(url), { url: 'http://proxy.example', bypass: [pattern] })).toBe(!isBypassed);
  });

  const failures: readonly (readonly [string, (socket: Socket) => unknown, string])[] = [
    ['refuses the target', (socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'), 'unreachable'],
    ['does not reach the target', (socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'), 'unreachable'],
    ['asks for credentials', (socket) => socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'), 'egress'],
    ['closes the connection', (socket) => socket.destroy(), 'egress'],
    ['never responds', () => {}, 'timeout'],
    ['never lets TLS begin', (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'), 'timeout'],
    ['speaks first', (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nhello'), 'unreachable'],
  ]; // biome-ignore format: one table
  it.each(failures)('a proxy that %s fails the request in time', async (_what, refuse, reason) => {
    const { fetchWith } = await setScene(refuse);
    const fetch = fetchWith({}, reason === 'timeout' ? { timeout: 1000 } : {});
    expect(await reasonOf(fetch('https://inner.example/'))).toBe(reason);
  });

  it('a proxy that cannot be reached is a failure of this side', async () => {
    const { fetchWith } = await setScene();
    expect(await reasonOf(fetchWith({ url: 'http://127.0.0.1:1' })('https://inner.example/'))).toBe('egress');
  });

  it('does not make another certificate acceptable', async () => {
    const { fetchWith } = await setScene();
    expect(await reasonOf(fetchWith()('https://other.example/'))).toBe('unreachable');
  });
});
