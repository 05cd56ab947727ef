/** The guarded outbound fetch, at the level of sockets: what is connected to, with what name, and where it stops. */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createOutboundFetch, OutboundError, type OutboundOptions } from '../src/outbound/outbound-fetch.ts';

const key = readFileSync(new URL('fixtures/key.pem', import.meta.url), 'utf8');
const certificate = readFileSync(new URL('fixtures/certificate.pem', import.meta.url), 'utf8');

const open: Server[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A server on this computer that counts its connections. */
async function listen(server: Server): Promise<{ port: number; connections: () => number }> {
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

const hello: RequestListener = (_request, response) => void response.end('hello');

/** Who resolves every name to the same addresses, and remembers having been asked. */
function resolver(...addresses: readonly string[]) {
  const asked: string[] = [];
  const resolve = async (hostname: string): Promise<readonly string[]> => {
    asked.push(hostname);
    return addresses;
  };
  return { resolve, asked };
}

async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof OutboundError) return error.reason;
    throw error;
  }
  return 'no error';
}

describe('addresses written into a URL', () => {
  const literals = [
    '127.0.0.1', '127.1', '0x7f000001', '2130706433', '0177.0.0.1', '0.0.0.0', '[::1]', '[::ffff:127.0.0.1]',
    '[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b:1::1]', '[2002:7f00:1::]',
    '[fe80::1]', '[fc00::1]', '[fec0::1]', '[ff02::1]', '[::]', '[2001:db8::1]', '100.64.0.1', '192.0.0.1', '198.18.0.1',
    '240.0.0.1', '255.255.255.255', '224.0.0.1', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254',
    '192.0.2.1', '198.51.100.1', '203.0.113.1', 'localhost', 'localhost.', 'x.localhost', 'metadata.google.internal',
    'printer.local', 'router.home.arpa', 'intranet',
  ]; // biome-ignore format: one table

  it.each(literals)(
    '[C-SSRF-42 AS-CIMD-31] T048 an outbound request does not connect to the address %s',
    async (host) => {
      const { port, connections } = await listen(createServer(hello));
      const { resolve, asked } = resolver('93.184.216.34');
      const fetch = createOutboundFetch({ resolve });
      for (const scheme of ['http', 'https']) {
        expect(await reasonOf(fetch(`${scheme}://${host}:${port}/`))).toBe('address');
      }
      expect(connections()).toBe(0);
      expect(asked).toEqual([]);
    },
  );

  it.each([
    'file:///etc/passwd',
    'gopher://x.example/',
    'ftp://x.example/',
    'http://x.example/',
    'https://a@x.example/',
    'https:\\\\x.example/',
    'x.example',
  ])('[C-SSRF-41] T103 an outbound request does not contact the URL %s', async (url) => {
    const { resolve, asked } = resolver('93.184.216.34');
    expect(await reasonOf(createOutboundFetch({ resolve })(url))).toBe('address');
    expect(asked).toEqual([]);
  });

  it('an outbound request connects to loopback if the policy allows it, and to no private address', async () => {
    const { port } = await listen(createServer(hello));
    const fetch = createOutboundFetch({ allowLoopback: true });
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('hello');
    expect(await reasonOf(fetch(`http://127.0.0.2:${port}/`))).toBe('address');
    expect(await reasonOf(fetch(`https://10.0.0.1:${port}/`))).toBe('address');
  });
});

describe('names', () => {
  const answers: readonly (readonly [string, readonly string[]])[] = [
    ['a private address', ['10.0.0.1']],
    ['a loopback address', ['127.0.0.1']],
    ['a public and a private address', ['93.184.216.34', '10.0.0.1']],
    ['a public IPv4 and a private IPv6 address', ['93.184.216.34', 'fc00::1']],
    ['a private IPv4-mapped address', ['::ffff:10.0.0.1']],
    ['no address', []],
    ['a malformed address', ['elsewhere.example']],
  ];

  it.each(answers)(
    '[C-SSRF-40 C-SSRF-45] T049 an outbound request does not connect when a name resolves to %s',
    async (_what, addresses) => {
      const { port, connections } = await listen(createServer(hello));
      const { resolve } = resolver(...addresses);
      expect(await reasonOf(createOutboundFetch({ resolve })(`https://mcp.example:${port}/`))).toBe(
        'address',
      );
      expect(connections()).toBe(0);
    },
  );

  it('an outbound request rejects a loopback name that does not resolve to loopback', async () => {
    const { resolve } = resolver('10.0.0.1');
    expect(await reasonOf(createOutboundFetch({ resolve, allowLoopback: true })('http://localhost:1/'))).toBe(
      'address',
    );
  });

  it('[C-SSRF-45] T049 an outbound request connects to the checked address, with the name in Host and in the TLS handshake', async () => {
    const seen: { host?: string | undefined; name?: unknown }[] = [];
    const secure = createSecureServer({ key, cert: certificate }, (request, response) => {
      seen.push({ host: request.headers.host, name: (request.socket as TLSSocket).servername });
      response.end('inside');
    });
    const { port } = await listen(secure);
    const { resolve, asked } = resolver('127.0.0.1');
    const origin = `https://inner.example:${port}`;
    const fetch = createOutboundFetch({
      resolve,
      allowedPrivateOrigins: [origin],
      certificateAuthorities: [certificate],
    });
    expect(await (await fetch(`${origin}/x?y=1`)).text()).toBe('inside');
    expect(seen).toEqual([{ host: `inner.example:${port}`, name: 'inner.example' }]);
    // Resolved once: what the name means a moment later does not matter.
    expect(asked).toEqual(['inner.example']);
  });

  it('[C-PRM-65] an outbound request fails if the certificate is invalid', async () => {
    const { port } = await listen(createSecureServer({ key, cert: certificate }, hello));
    const { resolve } = resolver('127.0.0.1');
    const origin = `https://inner.example:${port}`;
    expect(await reasonOf(createOutboundFetch({ resolve, allowedPrivateOrigins: [origin] })(origin))).toBe(
      'unreachable',
    );
  });
});

describe('the exchange', () => {
  async function fetchFrom(listener: RequestListener, options: OutboundOptions = {}, init?: RequestInit) {
    const { port } = await listen(createServer(listener));
    return createOutboundFetch({ allowLoopback: true, ...options })(
      `http://127.0.0.1:${port}/path?q=1`,
      init,
    );
  }

  it('an outbound request sends method, headers and body, and returns status, headers and body', async () => {
    const response = await fetchFrom(
      async (request, answer) => {
        let body = '';
        for await (const chunk of request) body += String(chunk);
        answer
          .writeHead(201, { 'x-seen': `${request.method} ${request.url} ${request.headers['x-a']}` })
          .end(body.toUpperCase());
      },
      {},
      { method: 'POST', headers: { 'x-a': 'b' }, body: 'grant' },
    );
    expect(response.status).toBe(201);
    expect(response.headers.get('x-seen')).toBe('POST /path?q=1 b');
    expect(await response.text()).toBe('GRANT');
  });

  it('[C-SSRF-43] T103 an outbound request returns a redirect and does not follow it', async () => {
    const inside = await listen(createServer(hello));
    const response = await fetchFrom((_request, answer) =>
      answer.writeHead(302, { location: `http://127.0.0.1:${inside.port}/` }).end(),
    );
    expect(response.status).toBe(302);
    expect(inside.connections()).toBe(0);
  });

  it('T051 accepts a response body up to the limit and not a byte more', async () => {
    const send =
      (bytes: number, length: boolean): RequestListener =>
      (_request, answer) => {
        if (length) answer.setHeader('content-length', bytes);
        answer.write('x'.repeat(bytes - 1));
        answer.end('x');
      };
    const options = { maxBytes: 5000 };
    expect((await (await fetchFrom(send(5000, false), options)).text()).length).toBe(5000);
    expect(await reasonOf(fetchFrom(send(6000, true), options))).toBe('size');
    const streamed = await fetchFrom(send(6000, false), options);
    expect(await reasonOf(streamed.text())).toBe('size');
  });

  it('T051 stops reading an endless response body at the limit', async () => {
    const response = await fetchFrom(
      (_request, answer) => {
        const timer = setInterval(() => answer.write('x'.repeat(65_536)), 1);
        answer.once('close', () => clearInterval(timer));
      },
      { maxBytes: 100_000 },
    );
    expect(await reasonOf(response.arrayBuffer())).toBe('size');
  });

  it('T051 rejects a response with a content encoding', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    expect(
      await reasonOf(
        fetchFrom((_request, answer) => void answer.setHeader('content-encoding', 'gzip').end(bomb)),
      ),
    ).toBe('encoding');
  });

  it('T051 aborts a response with slow headers or a slow body after the timeout', async () => {
    expect(await reasonOf(fetchFrom(() => undefined, { timeout: 100 }))).toBe('timeout');
    const response = await fetchFrom(
      (_request, answer) => {
        const timer = setInterval(() => answer.write('x'), 20);
        answer.once('close', () => clearInterval(timer));
      },
      { timeout: 3000 },
    );
    expect(await reasonOf(response.text())).toBe('timeout');
  });

  it('an outbound request times out when a name takes too long to resolve', async () => {
    const resolve = () => new Promise<readonly string[]>(() => undefined);
    expect(await reasonOf(createOutboundFetch({ resolve, timeout: 50 })('https://mcp.example/'))).toBe(
      'timeout',
    );
  });

  it('an outbound request ends when the caller aborts it', async () => {
    const abort = new AbortController();
    const work = fetchFrom(() => abort.abort(new Error('enough')), {}, { signal: abort.signal });
    await expect(work).rejects.toThrow('enough');
  });

  it('an outbound request reports an unreachable server', async () => {
    const { port } = await listen(createServer(hello));
    for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve));
    expect(await reasonOf(createOutboundFetch({ allowLoopback: true })(`http://127.0.0.1:${port}/`))).toBe(
      'unreachable',
    );
  });
});
