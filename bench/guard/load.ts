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
  const answer = await formOfAnswer(port, next());
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  return {
    async load(seconds) {
      const started = performance.now();
      const end = started + seconds * 1000;
      const answered = await Promise.all(sockets.map((socket) => keepAsking(socket, { next, answer, end })));
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
  { next, answer, end }: { readonly next: () => Buffer; readonly answer: AnswerForm; readonly end: number },
): Promise<number> {
  return new Promise((resolve, reject) => {
    let received = 0;
    let answered = 0;
    /** The last bytes of a chunked answer so far. */
    let tail = '';
    const take = (chunk: Buffer): void => {
      // "200" begins at index 9 of "HTTP/1.1 200 OK".
      if (received === 0 && chunk[9] !== 0x32) reject(new Error(chunk.toString().slice(0, 700)));
      received += chunk.length;
      if (answer.isChunked) {
        tail = (tail + chunk.toString('latin1', Math.max(0, chunk.length - LAST_CHUNK.length))).slice(
          -LAST_CHUNK.length,
        );
        if (!tail.endsWith(LAST_CHUNK)) return;
      } else if (received < answer.length) return;
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

/** What ends an answer: as many bytes as the first had (same headers, same body), or the last chunk. */
interface AnswerForm {
  readonly length: number;
  readonly isChunked: boolean;
}

const LAST_CHUNK = '\r\n0\r\n\r\n';

async function formOfAnswer(port: number, request: Buffer): Promise<AnswerForm> {
  const socket = await open(port);
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.write(request);
  await new Promise((resolve) => setTimeout(resolve, 200));
  socket.destroy();
  return { length: text.length, isChunked: /^transfer-encoding: *chunked\r$/im.test(text) };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}
