/** The gateway as an attacker tries it from outside, and from behind: each refusal beside what is allowed. */
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { answerAll, json, startBackend, type TestBackend } from './support/backend.ts';
import { PING, startGateway, type TestGateway } from './support/gateway.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function behind(
  respond: Parameters<typeof startBackend>[0],
): Promise<{ readonly backend: TestBackend; readonly gateway: TestGateway }> {
  const backend = await startBackend(respond);
  const servers = ['/mcp', '/other'].map((path) => ({ path, backend: { url: backend.url } }));
  const gateway = await startGateway(servers);
  open.push(backend, gateway);
  return { backend, gateway };
}

/** Sends bytes as they are. @returns the status of each response, those after `count` if they follow soon */
function send(gateway: TestGateway, text: string, count = 1): Promise<readonly string[]> {
  const { port } = new URL(gateway.origin);
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    let received = '';
    let timer = setTimeout(() => finish(), 100_000);
    const statuses = () => [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = '']) => status);
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(statuses());
    };
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (statuses().length < count) return;
      clearTimeout(timer);
      timer = setTimeout(finish, 300);
    });
    socket.on('error', finish).on('end', finish);
    socket.write(text, 'latin1');
  });
}

/** A request of alice with a target and further headers. */
function request(
  { origin }: TestGateway,
  target: string,
  {
    headers = [],
    body = JSON.stringify(PING),
    user = 'alice',
  }: Partial<Record<'headers', readonly string[]>> & {
    readonly body?: string;
    readonly user?: string;
  } = {},
): string {
  const fields = [
    `Host: ${new URL(origin).host}`,
    `Authorization: Bearer ${user}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    ...headers,
    ...(headers.some((field) => /^(?:content-length|transfer-encoding)/i.test(field))
      ? []
      : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return `POST ${target} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n${body}`;
}

describe('a request that parsers read in different ways', () => {
  const chunked = `${JSON.stringify(PING).length.toString(16)}\r\n${JSON.stringify(PING)}\r\n0\r\n\r\n`;

  it.each([
    ['two lengths', ['Content-Length: 40', 'Content-Length: 3'], undefined],
    ['a length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked'], chunked],
    ['two transfer codings', ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], chunked],
    ['a space before the colon', ['Transfer-Encoding : chunked'], chunked],
    ['a length with a sign', ['Content-Length: +40'], undefined],
    ['a folded line', ['X-A: 1\r\n 2'], undefined],
    ['a line that ends with CR alone', ['X-A: 1\rX-B: 2'], undefined],
    ['a line that ends with LF alone', ['X-A: 1\nX-B: 2'], undefined],
  ])('reaches no backend: %s', async (_name, headers, body) => {
    const { backend, gateway } = await behind(answerAll);
    const statuses = await send(gateway, request(gateway, '/mcp', { headers, ...(body && { body }) }));
    expect(statuses).toEqual(['400']);
    expect(backend.received).toEqual([]);
  });

  it('is none of those that follow each other on one connection', async () => {
    const { backend, gateway } = await behind(answerAll);
    const both = request(gateway, '/mcp', { headers: ['Transfer-Encoding: chunked'], body: chunked });
    expect(await send(gateway, both + request(gateway, '/mcp'), 2)).toEqual(['200', '200']);
    expect(backend.received).toHaveLength(2);
  });

  it('is not followed by another one on its connection, whose client could not know that it was handled', async () => {
    const { backend, gateway } = await behind(answerAll);
    const refused = request(gateway, '/mcp', { body: `\0${JSON.stringify(PING)}` });
    expect(await send(gateway, refused + request(gateway, '/mcp'))).toEqual(['400']);
    expect(backend.received).toEqual([]);
  });
});

describe('a target', () => {
  it.each([
    '/mcp/../other',
    '/mcp/%2e%2e/other',
    '/mcp/..%2fother',
    '/mcp//',
    '//mcp',
    '/mcp/inner',
    '/%6dcp',
    '/MCP',
    '/mcp;x',
    '/mcp%00',
  ])('that is not written plainly reaches no backend: %s', async (target) => {
    const { backend, gateway } = await behind(answerAll);
    const [status = ''] = await send(gateway, request(gateway, target));
    expect(['400', '401', '404']).toContain(status);
    expect(backend.received).toEqual([]);
  });

  it('may be a whole URL, whose host is that of the request', async () => {
    const { backend, gateway } = await behind(answerAll);
    expect(await send(gateway, request(gateway, `${gateway.origin}/mcp`))).toEqual(['200']);
    expect(backend.received).toMatchObject([{ url: '/mcp' }]);
    expect(await send(gateway, request(gateway, 'http://other.example/mcp'))).toEqual(['404']);
    expect(backend.received).toHaveLength(1);
  });
});

describe('a request header', () => {
  it.each([
    ['another path', 'x-original-url', '/other'],
    ['another method', 'x-http-method-override', 'DELETE'],
    ['another host', 'x-forwarded-host', 'other.example'],
    ['another address', 'x-forwarded-for', '127.0.0.1'],
    ['another user', 'remote-user', 'root'],
    ['an upgrade', 'http2-settings', 'AAMAAABkAAQAAP__'],
    ['an argument, of a client whose revision repeats none', 'mcp-param-amount', '1'],
  ])('that claims %s does not reach the backend', async (_name, name, value) => {
    const { backend, gateway } = await behind(answerAll);
    expect((await gateway.send('alice', { headers: { [name]: value, traceparent: '00-1' } })).status).toBe(
      200,
    );
    expect(backend.received[0]?.headers).not.toHaveProperty([name]);
    expect(backend.received[0]?.headers).toHaveProperty('traceparent', '00-1');
  });

  it.each([
    ['keep-alive', '404', false],
    ['keep-alive, MCP-Custom ,mcp-session-id', '200', true],
  ])('that Connection names is for this hop alone: %s', async (connection, status, isRemoved) => {
    const { backend, gateway } = await behind(answerAll);
    const own = [`Connection: ${connection}`, 'Mcp-Custom: 1'];
    expect(await send(gateway, request(gateway, '/mcp', { headers: own }))).toEqual(['200']);
    expect(Object.hasOwn(backend.received[0]?.headers ?? {}, 'mcp-custom')).toBe(!isRemoved);
    const headers = [...own, 'Mcp-Session-Id: unknown'];
    expect(await send(gateway, request(gateway, '/mcp', { headers }))).toEqual([status]);
  });

  it.each(['a%0d%0aX-A: 1', '\u00ff\u00fe', '', 'a, b', `${'A'.repeat(8_000)}`])(
    'with a forged session id is a 404 that reaches nothing (%#)',
    async (id) => {
      const { backend, gateway } = await behind(answerAll);
      const headers = [`Mcp-Session-Id: ${id}`];
      expect(await send(gateway, request(gateway, '/mcp', { headers }))).toEqual(['404']);
      expect(backend.received).toEqual([]);
    },
  );
});

describe('a response of a backend', () => {
  const hostile = {
    'access-control-allow-credentials': 'true',
    'access-control-allow-origin': '*',
    'alt-svc': 'h3=":443"',
    'cache-control': 'public, max-age=9999',
    'clear-site-data': '"*"',
    'content-security-policy': 'default-src *',
    etag: '"a"',
    expires: 'Wed, 01 Jan 2031 00:00:00 GMT',
    link: '<https://evil.example>; rel=preload',
    location: 'https://evil.example',
    refresh: '0;url=https://evil.example',
    'service-worker-allowed': '/',
    'set-cookie': 'portcullis_session=1',
    'strict-transport-security': 'max-age=0',
    'www-authenticate': 'Bearer resource_metadata="https://evil.example"',
    'x-accel-redirect': '/internal',
    'x-frame-options': 'ALLOWALL',
    'x-powered-by': 'Express',
  };

  it('sets no header of this origin, of proxies or of caches, and may say when to retry', async () => {
    const { gateway } = await behind(({ body }, response) =>
      json(
        response,
        { jsonrpc: '2.0', id: JSON.parse(body).id, result: {} },
        { ...hostile, 'retry-after': '7', 'mcp-extension': 'x' },
      ),
    );
    const { status, headers } = await gateway.send('alice');
    expect(status).toBe(200);
    const { 'cache-control': _, ...others } = hostile;
    expect([...headers.keys()].filter((name) => name in others)).toEqual([]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'retry-after': '7',
      'mcp-extension': 'x',
    });
  });

  it.each([
    ['text/html', 'text/plain'],
    ['image/svg+xml', 'text/plain'],
    ['application/problem+json', 'application/problem+json'],
    ['Application/JSON; charset=utf-8', 'Application/JSON; charset=utf-8'],
  ])('of type %s is shown as %s', async (type, shown) => {
    const { gateway } = await behind((_received, response) => {
      response.writeHead(500, { 'content-type': type }).end('<script></script>');
    });
    const response = await gateway.send('alice');
    expect([response.status, response.headers.get('content-type')]).toEqual([500, shown]);
  });

  it('that is compressed without being asked is refused: its events could not be read', async () => {
    const { gateway } = await behind(
      (_received, response) =>
        void response
          .writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
          .end('id: raw\n\n'),
    );
    const response = await gateway.send('alice', { headers: { 'accept-encoding': 'gzip' } });
    expect(response.status).toBe(502);
    expect(await response.text()).not.toContain('raw');
  });
});
