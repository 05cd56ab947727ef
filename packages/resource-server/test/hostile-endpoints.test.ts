/** Endpoints of an issuer that switch protocols, stall or flood: a guard responds 503 in time, and recovers by itself. */
import { createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createGuard, introspectionVerifier, jwtVerifier, type TokenVerifier } from '../src/index.ts';
import { createIssuer, goodClaims, ISSUER, NOW, RESOURCE } from './support/issuer.ts';

const TIMEOUT = 300;
const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n';

function repeat(text: string, socket: Socket, first = ''): void {
  if (first !== '') socket.write(first);
  const timer = setInterval(() => socket.write(text), 10);
  socket.once('close', () => clearInterval(timer));
}

const hostile: readonly (readonly [string, (socket: Socket) => unknown])[] = [
  ['switches protocols', (socket) => socket.write(SWITCH)],
  ['never responds', () => {}],
  ['stalls within the body', (socket) => socket.write(`${OK}Content-Length: 100\r\n\r\n{`)],
  ['drips the body', (socket) => repeat(`1\r\n \r\n`, socket, `${OK}Transfer-Encoding: chunked\r\n\r\n`)],
  ['sends endless 103 responses', (socket) => repeat('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n', socket)],
  ['closes within the body', (socket) => socket.end(`${OK}Content-Length: 100\r\n\r\n{`)],
]; // biome-ignore format: one table

/** An endpoint that is hostile until `serve` gives it a document. */
async function startEndpoint(answer: (socket: Socket) => unknown) {
  let document: unknown = null;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => {
      if (document === null) return answer(socket);
      const body = JSON.stringify(document);
      return socket.end(`${OK}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const serve = (served: unknown): void => {
    document = served;
  };
  return { url: `http://127.0.0.1:${port}/x`, serve };
}

it.each(hostile)('a guard survives an issuer that %s', async (_what, answer) => {
  const issuer = await createIssuer();
  const keys = await startEndpoint(answer);
  const introspection = await startEndpoint(answer);
  let now = NOW;
  const statusWith = (verifier: TokenVerifier) => {
    const guard = createGuard({ resource: RESOURCE, verifier, clock: () => now, events: () => {} });
    return async (token: string) => {
      const request = { method: 'GET', url: '/mcp', authorization: `Bearer ${token}` };
      const decision = await guard.authorize(request);
      return decision.authorized ? 200 : decision.response.status;
    };
  };
  const verifyJwt = statusWith(jwtVerifier({ issuer: ISSUER, jwksUri: keys.url, timeout: TIMEOUT }));
  const introspect = statusWith(
    introspectionVerifier({
      issuer: ISSUER, endpoint: introspection.url, clientId: 'guard', clientSecret: 'secret', timeout: TIMEOUT,
    }),
  ); // biome-ignore format: one list
  const token = await issuer.token();
  const statuses = await Promise.all([
    ...Array.from({ length: 5 }, () => verifyJwt(token)),
    introspect('opaque'),
  ]);
  expect(statuses).toEqual(new Array(6).fill(503));
  keys.serve({ keys: [issuer.publicJwk] });
  introspection.serve({ active: true, ...goodClaims(ISSUER) });
  // A healthy endpoint, too, may need more than the timeout on a busy machine.
  const recover = async () => {
    now += 60;
    return [await verifyJwt(token), await introspect('opaque')];
  };
  await expect.poll(recover).toEqual([200, 200]);
});
