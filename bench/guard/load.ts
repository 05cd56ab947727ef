/** Load on a server of this computer: a number of connections, each with one request under way. */
import { connect, type Socket } from 'node:net';

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
}

/** Requests in turn; who asks again goes on where the last one stopped. */
export function inTurn(requests: readonly Buffer[]): () => Buffer {
  let next = 0;
  return () => {
    next = (next + 1) % requests.length;
    return requests[next] ?? Buffer.alloc(0);
  };
}

/** Sends requests, as they are given, until the time in seconds is over. Every answer must be a 200. */
export async function load(
  port: number,
  next: () => Buffer,
  seconds: number,
  connections = 64,
): Promise<LoadResult> {
  const length = await lengthOfAnswer(port, next());
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  let answered = 0;
  const started = performance.now();
  const end = started + seconds * 1000;
  await Promise.all(sockets.map(keepAsking));
  for (const socket of sockets) socket.destroy();
  return { requests: answered, seconds: (performance.now() - started) / 1000 };

  function keepAsking(socket: Socket): Promise<void> {
    return new Promise((resolve, reject) => {
      let received = 0;
      const ask = (): void => {
        socket.write(next());
      };
      socket.on('error', reject);
      socket.on('data', (chunk: Buffer) => {
        // "200" stands at the tenth place of "HTTP/1.1 200 OK".
        if (received === 0 && chunk[9] !== 0x32) reject(new Error(chunk.toString().slice(0, 300)));
        received += chunk.length;
        if (received < length) return;
        received = 0;
        answered += 1;
        if (performance.now() < end) ask();
        else resolve();
      });
      ask();
    });
  }
}

export function requestWith(token: string): Buffer {
  return Buffer.from(`GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
}

/** All answers of a server here are as long as the first: the same fields, the same body. */
async function lengthOfAnswer(port: number, request: Buffer): Promise<number> {
  const socket = await open(port);
  let length = 0;
  socket.on('data', (chunk: Buffer) => {
    length += chunk.length;
  });
  socket.write(request);
  await new Promise((resolve) => setTimeout(resolve, 200));
  socket.destroy();
  return length;
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}
