/**
 * Starts another gateway in front of a stdio server, as bench/gateway.ts starts its own proxies: it prints `ready <port>`, serves
 * streamable HTTP at `/mcp`, and ends with this process. Install them once: `npm ci --prefix bench/gateway/peers`.
 *
 * `node bench/gateway/peers.ts supergateway|mcp-proxy [command of the stdio server…]`
 *
 * Both translate stdio for anyone who reaches them; neither forwards to a server over HTTP. So they stand beside
 * `portcullis protect -- <command>`, not beside a reverse proxy.
 */
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The program and its options. */
type Words = (port: number, command: readonly string[]) => readonly string[];

const peers: Readonly<Record<string, Words>> = {
  supergateway: (port, command) => [
    file('peers/node_modules/supergateway/dist/index.js'),
    ...['--stdio', command.map((word) => JSON.stringify(word)).join(' ')],
    ...['--outputTransport', 'streamableHttp', '--stateful', '--port', String(port), '--logLevel', 'none'],
  ],
  'mcp-proxy': (port, command) => [
    file('peers/node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs'),
    ...['--port', String(port), '--host', '127.0.0.1', '--server', 'stream', '--', ...command],
  ],
};

const [name = '', ...given] = process.argv.slice(2);
const words = peers[name];
if (words === undefined) throw new Error(`One of: ${Object.keys(peers).join(', ')}`);
const command = given.length > 0 ? given : [process.execPath, file('stdio-backend.ts')];
const port = await freePort();
// In this process, so that its processor time and memory are those of the gateway.
const [program = '', ...options] = words(port, command);
process.argv.splice(1, process.argv.length, program, ...options);
await import(program);
while (!(await answers(port))) await sleep(100);
console.log(`ready ${port}`);

/** Neither of them says which port it took. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function answers(at: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${at}/mcp`, { method: 'OPTIONS' }).then(
    () => true,
    () => false,
  );
}
