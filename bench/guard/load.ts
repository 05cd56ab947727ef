/** Load on a local server: a number of connections, each with one pending request. */
import { connect, type Socket } from 'node:net';

interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
}

/** Cycles through requests; each call continues where the last one stopped. */
export function inTurn(requests: readonly Buffer[]): () => Buffer {
  let next = 0;
  return () => {
    next = (next + 1) % requests.length;
    return requests[next] ?? Buffer.alloc(0);
  };
}

/** A number of connections that stay open between loads. */
export interface Connections {
  /** Sends requests for a number of seconds. Every response must be 200. */
  load(seconds: number): Promise<LoadResult>;
  close(): void;
}

/** Connects to a server. @param next returns the next request */
export async function connectTo(port: number, next: () => Buffer, connections = 64): Promise<Connections> {
  const length = await lengthOfAnswer(port, next());
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  return {
    async load(seconds) {
      const started = performance.now();
      const end = started + seconds * 1000;
      const answered = await Promise.all(sockets.map((socket) => keepAsking(socket, { next, length, end })));
      const requests = answered.reduce((sum, each) => sum + each, 0);
      return { requests, seconds: (performance.now() - started) / 1000 };
    },
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Sends one request after another until `end`, on the clock of `performance.now()`. @returns the number of responses */
function keepAsking(
  socket: Socket,
  { next, length, end }: { readonly next: () => Buffer; readonly length: number; readonly end: number },
): Promise<number> {
  return new Promise((resolve, reject) => {
    let received = 0;
    let answered = 0;
    const take = (chunk: Buffer): void => {
      // "200" begins at index 9 of "HTTP/1.1 200 OK".
      if (received === 0 && chunk[9] !== 0x32) reject(new Error(chunk.toString().slice(0, 700)));
      received += chunk.length;
      if (received < length) return;
      received = 0;
      answered += 1;
      if (performance.now() < end) socket.write(next());
      else stop();
    };
    const stop = (): void => {
      socket.off('data', take).off('error', reject);
      resolve(answered);
    };
    socket.on('data', take).on('error', reject);
    socket.write(next());
  });
}

export function requestWith(token: string): Buffer {
  return Buffer.from(`GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
}

/** All responses of a server here are as long as the first: same headers, same body. */
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
