/** Hostile servers: whatever one sends, an outbound request ends within its time limit, and its socket is closed. */
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { createOutboundFetch, OutboundError } from '../src/outbound/outbound-fetch.ts';

const open: Server[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** A server that answers each connection's first bytes by `answer`. `closed` resolves when the client's socket is closed. */
async function listen(answer: (socket: Socket) => void) {
  const closed = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
    socket.once('close', () => closed.resolve());
  });
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/`, closed: closed.promise };
}

/** Sends what `piece` returns, for as long as the socket accepts it. */
function repeat(piece: (index: number) => string, socket: Socket): void {
  let index = 0;
  const timer = setInterval(() => {
    if (socket.destroyed || !socket.writable) return clearInterval(timer);
    for (let count = 0; count < 20; count += 1, index += 1) socket.write(piece(index));
  }, 1);
  socket.once('close', () => clearInterval(timer));
}

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

const hostile: readonly (readonly [string, (socket: Socket) => void, string])[] = [
  ['switches protocols', (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: h\r\nConnection: Upgrade\r\n\r\n'), 'unreachable'],
  ['switches protocols and goes on', (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: h\r\nConnection: Upgrade\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'), 'unreachable'],
  ['says 101 without an upgrade', (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'), 'unreachable'],
  ['never responds', () => {}, 'timeout'],
  ['closes at once', (socket) => socket.end(), 'unreachable'],
  ['closes within the header', (socket) => socket.end(`${OK}Content-`), 'unreachable'],
  ['closes within the body', (socket) => socket.end(`${OK}Content-Length: 10\r\n\r\nhalf`), 'unreachable'],
  ['resets within the body', (socket) => socket.write(`${OK}Content-Length: 10\r\n\r\nhalf`, () => setTimeout(() => socket.resetAndDestroy(), 20)), 'unreachable'],
  ['stalls after the header', (socket) => socket.write(`${OK}Content-Length: 10\r\n\r\n`), 'timeout'],
  ['stalls within the body', (socket) => socket.write(`${OK}Content-Length: 10\r\n\r\nhalf`), 'timeout'],
  ['drips the header', (socket) => { socket.write(OK); const timer = setInterval(() => socket.write('x'), 20); socket.once('close', () => clearInterval(timer)); }, 'timeout'],
  ['drips the body', (socket) => { socket.write(CHUNKED); const timer = setInterval(() => socket.write('1\r\nx\r\n'), 20); socket.once('close', () => clearInterval(timer)); }, 'timeout'],
  ['sends endless headers', (socket) => { socket.write(OK); repeat((index) => `x-${index}: ${'y'.repeat(100)}\r\n`, socket); }, 'unreachable'],
  ['sends endless 100 responses', (socket) => repeat(() => 'HTTP/1.1 100 Continue\r\n\r\n', socket), 'unreachable'],
  ['sends endless 103 responses', (socket) => repeat(() => 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n', socket), 'unreachable'],
  ['sends endless trailers', (socket) => { socket.write(`${CHUNKED}0\r\n`); repeat((index) => `x-${index}: ${"y".repeat(200)}\r\n`, socket); }, 'unreachable'],
  ['sends endless chunk extensions', (socket) => { socket.write(`${CHUNKED}1;`); repeat(() => 'x'.repeat(1000), socket); }, 'unreachable'],
  ['sends no HTTP', (socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n'), 'unreachable'],
]; // biome-ignore format: one table

it.each(hostile)(
  'an outbound request to a server that %s ends within its time limit',
  async (_what, answer, reason) => {
    const { url, closed } = await listen(answer);
    const fetch = createOutboundFetch({ allowLoopback: true, timeout: 300 });
    const error: unknown = await fetch(url)
      .then((response) => response.text())
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OutboundError);
    expect((error as OutboundError).reason).toBe(reason);
    await closed;
  },
);

it('an outbound request with a signal of its caller ends within its time limit, where combined signals are forgotten', async () => {
  // As Node 22.13 does once it has collected the signal of the time limit.
  const any = vi.spyOn(AbortSignal, 'any').mockImplementation(() => new AbortController().signal);
  try {
    const { url, closed } = await listen((socket) => socket.write(`${OK}Content-Length: 10\r\n\r\nhalf`));
    const fetch = createOutboundFetch({ allowLoopback: true, timeout: 300 });
    const response = await fetch(url, { signal: new AbortController().signal });
    await expect(response.text()).rejects.toMatchObject({ reason: 'timeout' });
    await closed;
  } finally {
    any.mockRestore();
  }
});

it('an outbound request accepts informational responses before the final one', async () => {
  const { url } = await listen((socket) =>
    socket.end(`HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${OK}Content-Length: 2\r\n\r\n{}`),
  );
  const fetch = createOutboundFetch({ allowLoopback: true, timeout: 100_000 });
  expect(await (await fetch(url)).text()).toBe('{}');
});

it('an outbound request accepts a response that advertises an upgrade', async () => {
  const { url } = await listen((socket) =>
    socket.end(`${OK}Upgrade: h2\r\nConnection: Upgrade, close\r\nContent-Length: 2\r\n\r\n{}`),
  );
  const fetch = createOutboundFetch({ allowLoopback: true, timeout: 100_000 });
  expect(await (await fetch(url)).text()).toBe('{}');
});

it('closes the socket of a response whose body is never read', async () => {
  const { url, closed } = await listen((socket) => {
    socket.write(`${OK}\r\n`);
    repeat(() => 'x', socket);
  });
  const fetch = createOutboundFetch({ allowLoopback: true, timeout: 3000 });
  expect((await fetch(url)).status).toBe(200);
  await closed;
});
