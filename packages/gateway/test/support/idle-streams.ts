/** Many open streams that deliver nothing, through a gateway in this process. */
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { startBackend, type TestBackend } from './backend.ts';
import { startGateway, type TestGateway } from './gateway.ts';

const USERS = 50;

export interface IdleStreams {
  readonly gateway: TestGateway;
  readonly backend: TestBackend;
  /** Bytes of memory by which this process grew for each stream: those of the client and of the backend included. */
  readonly bytesEach: number;
  close(): Promise<void>;
}

/** Opens them, 50 at a time, each by its own connection. @throws Error if one is not opened */
export async function openIdleStreams(count: number): Promise<IdleStreams> {
  const backend = await startBackend(({ method, body }, response) => {
    if (method !== 'GET') {
      response.end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result: {} }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': open\n\n');
  });
  const limits = { streamsPerUser: Math.ceil(count / USERS), idle: 1 };
  const gateway = await startGateway([{ path: '/mcp', backend: { url: backend.url }, limits }]);
  const before = process.memoryUsage().rss;
  const requests: ClientRequest[] = [];
  for (let from = 0; from < count; from += USERS) {
    const some = Array.from({ length: Math.min(USERS, count - from) }, (_, index) =>
      openStream(gateway, `user${index}`),
    );
    requests.push(...(await Promise.all(some)));
  }
  return {
    gateway,
    backend,
    bytesEach: (process.memoryUsage().rss - before) / count,
    async close() {
      for (const request of requests) request.destroy();
      await gateway.close();
      await backend.close();
    },
  };
}

function openStream({ origin }: TestGateway, user: string): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${user}`, accept: 'text/event-stream' };
    const request = get(`${origin}/mcp`, { agent: false, headers }, (response: IncomingMessage) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      response.on('error', () => {}).once('data', () => resolve(request));
    });
    request.on('error', reject);
  });
}
