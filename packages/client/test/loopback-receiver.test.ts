/** The loopback receiver: which requests it accepts, how it responds, and when it closes. */
import { once } from 'node:events';
import { request as sendRequest } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import type { RedirectListener } from '../src/index.ts';
import { createLoopbackReceiver, createNodeClient } from '../src/node.ts';
import { codeOf, createWorld } from './support/world.ts';

const open: RedirectListener[] = [];

afterEach(async () => {
  for (const reception of open.splice(0)) await reception.close();
});

async function listen(preferred: readonly string[] = [], options = {}): Promise<RedirectListener> {
  const reception = await createLoopbackReceiver(options).listen(preferred);
  open.push(reception);
  return reception;
}

/** A raw request, with any Host. */
function ask(port: number, path: string, options: { method?: string; host?: string } = {}) {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>(
    (resolve, reject) => {
      const { method = 'GET', host = `127.0.0.1:${port}` } = options;
      const request = sendRequest(
        { host: '127.0.0.1', port, path, method, headers: { host } },
        async (response) => {
          let body = '';
          for await (const chunk of response) body += String(chunk);
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
        },
      );
      request.on('error', reject);
      request.end();
    },
  );
}

const portOf = ({ redirectUri }: RedirectListener): number => Number(new URL(redirectUri).port);

/** Whether anybody accepts a connection there. */
function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 500 });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}

describe('the loopback listener', () => {
  it('[C-REDIR-20] T119 listens on 127.0.0.1 only, by its IP address', async () => {
    const reception = await listen();
    expect(reception.redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect(await accepts('127.0.0.1', portOf(reception))).toBe(true);
    const others = Object.values(networkInterfaces()).flatMap((list = []) =>
      list.filter(({ internal, family }) => !internal && family === 'IPv4'),
    );
    for (const { address } of others) expect(await accepts(address, portOf(reception))).toBe(false);
    expect(await accepts('127.0.0.2', portOf(reception))).toBe(false);
  });

  it('[C-REDIR-20] T119 accepts one authorization response and closes', async () => {
    const reception = await listen();
    const port = portOf(reception);
    const arriving = reception.waitForRedirect('s1', Promise.resolve());
    const page = ask(port, '/callback?code=c&state=s1&iss=https%3A%2F%2Fas.example');
    const { query, respond: finish } = await arriving;
    expect(Object.fromEntries(query)).toEqual({ code: 'c', state: 's1', iss: 'https://as.example' });
    expect(await accepts('127.0.0.1', port)).toBe(false);
    await finish({ ok: true, message: 'Done.' });
    expect(await page).toMatchObject({ status: 200, body: expect.stringContaining('Done.') });
  });

  it.each([
    ['no state', '/callback?code=c', {}, 400],
    ['another state', '/callback?code=c&state=s2', {}, 400],
    ['two states', '/callback?code=c&state=s1&state=s1', {}, 400],
    ['another path', '/other?code=c&state=s1', {}, 404],
    ['the name of another host', '/callback?code=c&state=s1', { host: 'evil.example' }, 404],
    ['the name localhost', '/callback?code=c&state=s1', { host: 'localhost' }, 404],
    ['POST', '/callback?code=c&state=s1', { method: 'POST' }, 404],
    ['HEAD', '/callback?code=c&state=s1', { method: 'HEAD' }, 404],
  ])(
    '[C-STATE-2] T119 rejects a request with %s and keeps listening',
    async (_what, path, options, status) => {
      const reception = await listen();
      const arriving = reception.waitForRedirect('s1', Promise.resolve());
      expect((await ask(portOf(reception), path, options)).status).toBe(status);
      const page = ask(portOf(reception), '/callback?code=good&state=s1');
      const { query, respond: finish } = await arriving;
      expect(query.get('code')).toBe('good');
      await finish({ ok: true, message: 'x' });
      await page;
    },
  );

  it('T119 accepts nothing before the state is known', async () => {
    const reception = await listen();
    expect((await ask(portOf(reception), '/callback?code=c&state=')).status).toBe(400);
    expect((await ask(portOf(reception), '/callback?code=c')).status).toBe(400);
  });

  it('[C-REDIR-21 C-URL-44] T119 shows a static, escaped page that loads, runs and follows nothing', async () => {
    const reception = await listen();
    const arriving = reception.waitForRedirect('s1', Promise.resolve());
    const page = ask(
      portOf(reception),
      '/callback?state=s1&error=%3Cscript%3E&next=https%3A%2F%2Fevil.example',
    );
    const { respond: finish } = await arriving;
    await finish({ ok: false, message: 'Refused: <script>alert(1)</script> "\'&' });
    const { status, headers, body } = await page;
    expect(status).toBe(400);
    expect(body).toContain('Refused: &lt;script&gt;alert(1)&lt;/script&gt; &quot;&#39;&amp;');
    expect(body).not.toMatch(/<script|evil|http:|https:|src=|href=/);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    });
    expect(headers['location']).toBeUndefined();
  });

  it('T119 redirects from a short address that nothing but its own name finds', async () => {
    const reception = await listen();
    const short = reception.shorten?.('https://as.example/authorize?state=s1') ?? '';
    const { pathname, origin } = new URL(short);
    expect([origin, pathname]).toEqual([
      new URL(reception.redirectUri).origin,
      expect.stringMatching(/^\/[\w-]{12}$/),
    ]);
    const port = portOf(reception);
    expect(await ask(port, pathname)).toMatchObject({
      status: 302,
      headers: { location: 'https://as.example/authorize?state=s1', 'cache-control': 'no-store' },
    });
    const others = [
      ask(port, '/'),
      ask(port, `${pathname}x`),
      ask(port, pathname, { host: 'evil.example' }),
      ask(port, pathname, { method: 'POST' }),
    ];
    for (const { status, headers } of await Promise.all(others))
      expect([status, headers['location']]).toEqual([404, undefined]);
  });

  it('T119 redirects once from an address that works once, and then says that it was used', async () => {
    const reception = await listen();
    const target = 'https://as.example/authorize?state=s1';
    const [short, once] = [reception.shorten?.(target) ?? '', reception.shorten?.(target, true) ?? ''];
    expect(once).not.toBe(short);
    const port = portOf(reception);
    const open = async (address: string) => {
      const { status, headers, body } = await ask(port, new URL(address).pathname);
      return [status, headers['location'], body.includes('This address was opened before.')];
    };
    expect(await open(once)).toEqual([302, target, false]);
    expect(await open(once)).toEqual([404, undefined, true]);
    for (let time = 0; time < 2; time += 1) expect(await open(short)).toEqual([302, target, false]);
  });

  it.each([
    ['sends nothing', ''],
    ['sends half a request', 'GET / HTTP/1.1\r\nhost: x\r\n'],
  ])(
    'T119 closes a connection that %s, after the page was sent, so that the program can end',
    async (_what, start) => {
      const reception = await listen();
      const idle = connect({ host: '127.0.0.1', port: portOf(reception) });
      await once(idle, 'connect');
      idle.write(start);
      const arriving = reception.waitForRedirect('s1', Promise.resolve());
      const page = ask(portOf(reception), '/callback?code=c&state=s1');
      const { respond: finish } = await arriving;
      await finish({ ok: true, message: 'Done.' });
      expect(idle.destroyed).toBe(false);
      const closed = once(idle, 'close');
      await reception.close();
      await closed;
      expect(await page).toMatchObject({ status: 200, body: expect.stringContaining('Done.') });
    },
  );

  it('prefers a registered port, and uses another one when it is taken', async () => {
    const first = await listen();
    const again = await listen([first.redirectUri]);
    expect(again.redirectUri).not.toBe(first.redirectUri);
    await first.close();
    const third = await listen(['https://elsewhere.example/callback', first.redirectUri]);
    expect(third.redirectUri).toBe(first.redirectUri);
  });

  it('T119 reports that another program uses the configured port', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(listen([], { port })).rejects.toMatchObject({
      code: 'configuration_invalid',
      message: expect.stringContaining(String(port)),
    });
    other.close();
  });

  it('rejects on timeout and when it is closed', async () => {
    const late = await listen([], { timeout: 30 });
    await expect(late.waitForRedirect('s1', Promise.resolve())).rejects.toMatchObject({
      code: 'cancelled',
      message: 'The sign-in in the browser was not completed in time. Start again.',
    });
    const given = await listen();
    const arriving = given.waitForRedirect('s1', Promise.resolve());
    await given.close();
    expect(await codeOf(arriving)).toBe('cancelled');
    expect(await accepts('127.0.0.1', portOf(given))).toBe(false);
  });
});

/** There is no page for developers here, and nothing that fetches for others: of what such pages suffered this ear is all there is. */
describe('T150 the loopback receiver', () => {
  it.each([
    ['by a name that leads here (DNS rebinding)', { host: 'evil.example' }, 'state=right'],
    ['without the token of the one who waits', {}, ''],
    ['with a guessed one', {}, 'state=wrong'],
    ['by a form of another site', { method: 'POST' }, 'state=right'],
  ])('refuses a request %s and still accepts the right one', async (_what, options, query) => {
    const reception = await listen();
    const port = portOf(reception);
    const arriving = reception.waitForRedirect('right', Promise.resolve());
    expect((await ask(port, `/callback?code=injected&${query}`, options)).status).toBeGreaterThanOrEqual(400);
    const answered = ask(port, '/callback?code=c&state=right');
    const arrival = await arriving;
    expect(arrival.query.get('code')).toBe('c');
    await arrival.respond({ ok: true, message: 'done' });
    expect((await answered).status).toBe(200);
  });

  it('responds with 404 to every other path and is no proxy', async () => {
    const reception = await listen();
    const port = portOf(reception);
    for (const path of [
      '/',
      '/proxy?url=http://169.254.169.254/',
      'http://169.254.169.254/',
      '/callback/../x',
    ])
      expect((await ask(port, path)).status).toBe(404);
  });
});

it('[C-UA-1] completes a sign-in through the loopback receiver', async () => {
  const world = await createWorld();
  const pages: Promise<string>[] = [];
  const client = createNodeClient({
    serverUrl: world.serverUrl,
    registration: { clientName: () => 'Notes on laptop-7' },
    browser: {
      async open(url) {
        const { headers } = await fetch(url, { redirect: 'manual' });
        pages.push(fetch(headers.get('location') ?? '').then((response) => response.text()));
      },
    },
  });
  expect((await client.fetch(world.serverUrl)).status).toBe(200);
  expect(await Promise.all(pages)).toEqual([
    expect.stringMatching(/<p>Notes on laptop-7 is connected to 127\.0\.0\.1:\d+\/mcp\. You can close/),
  ]);
});

it('saves the tokens of a sign-in whose page the user closed before they were issued', async () => {
  const world = await createWorld();
  const redirected = Promise.withResolvers<Socket>();
  const client = createNodeClient({
    serverUrl: world.serverUrl,
    // It responds only after the page was closed.
    async fetch(input, init) {
      if (String(input).endsWith('/token')) {
        const page = await redirected.promise;
        await once(page.resume().end(), 'close');
      }
      return fetch(input, init);
    },
    browser: {
      async open(url) {
        const { headers } = await fetch(url, { redirect: 'manual' });
        const { port, host, pathname, search } = new URL(headers.get('location') ?? '');
        const page = connect({ host: '127.0.0.1', port: Number(port) });
        page.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
        redirected.resolve(page);
      },
    },
  });
  expect((await client.fetch(world.serverUrl)).status).toBe(200);
  expect(await client.session()).not.toBeNull();
});
