/**
 * One end of many streams, in a process with descriptors of its own: `stream-ends.ts backend`, or `stream-ends.ts clients <origin> <count>`.
 * The parent is sent what happened: the port, that all streams are open, how many are left. Ends with the parent.
 */
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Also opened at once. */
const USERS = 50;

function report(member: Readonly<Record<string, unknown>>): void {
  process.send?.(member);
}

function startBackend(): void {
  let open = 0;
  const server = createServer((request, response) => {
    if (request.method !== 'GET') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} }));
      return;
    }
    open += 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
    response.on('close', () => {
      open -= 1;
    });
  });
  process.on('message', () => report({ open }));
  server.listen(0, '127.0.0.1', () => report({ port: (server.address() as AddressInfo).port }));
}

function openStream(origin: string, user: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${user}`, accept: 'text/event-stream' };
    get(`${origin}/mcp`, { agent: false, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      response.on('error', reject).once('data', resolve);
    }).on('error', reject);
  });
}

async function openStreams(origin: string, count: number): Promise<void> {
  for (let opened = 0; opened < count; opened += USERS)
    await Promise.all(Array.from({ length: USERS }, (_, user) => openStream(origin, `user${user}`)));
  report({ opened: count });
}

process.on('disconnect', () => process.exit());
const [end, origin = '', count = ''] = process.argv.slice(2);
if (end === 'backend') startBackend();
else await openStreams(origin, Number(count));
