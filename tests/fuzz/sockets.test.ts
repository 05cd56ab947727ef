/** Raw bytes on real sockets: every response is complete, none is a server failure, and no connection stays open for ever. */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createAuthorizationServer } from '@portcullis/authorization-server';
import { listen } from '@portcullis/http/node';
import { createGuard, jwtVerifier } from '@portcullis/resource-server';
import { protectNode } from '@portcullis/resource-server/node';
import { openStore } from '@portcullis/store';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRandom, type Random } from '../resilience/random.ts';
import {
  ACCOUNT,
  CLIENTS,
  credentialsOf,
  ISSUER,
  MASTER_KEY,
  NOTES,
  RESOURCES,
} from '../resilience/world.ts';
import { mutate } from './mutate.ts';
import { bytesOf } from './targets.ts';

/** A server that reads HTTP by one of our translators. */
interface Listener {
  readonly port: number;
  /** What went wrong inside. */
  readonly failures: readonly unknown[];
}

async function serve(failures: unknown[]) {
  const store = await openStore(':memory:');
  const server = await createAuthorizationServer({
    issuer: ISSUER,
    store,
    masterKey: MASTER_KEY,
    resources: RESOURCES,
    clients: CLIENTS,
    rateLimits: false,
    auditRetention: false,
    metadataDocuments: false,
    events: (event) => {
      if (event.type === 'request.failed') failures.push(event);
    },
  });
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  await server.bootstrap(ACCOUNT.email, ACCOUNT.password);
  return server;
}

/** Clients that stop in the middle, or fall silent, are disconnected soon. */
const timeouts = {
  headersTimeout: 1000,
  requestTimeout: 1000,
  keepAliveTimeout: 50,
  connectionsCheckingInterval: 50,
};

/** The authorization server behind the listener of the command line. */
async function openServer(): Promise<Listener> {
  const failures: unknown[] = [];
  const server = await serve(failures);
  const listening = await listen(server.handleHttp, {
    port: 0,
    host: '127.0.0.1',
    timeouts,
    onError: (error) => failures.push(error),
  });
  onTestFinished(async () => void (await listening.close(0)));
  return { port: listening.port, failures };
}

/** An application of node:http behind the guard, which echoes what it got. */
async function openGuarded(): Promise<Listener> {
  const failures: unknown[] = [];
  const { jwks, isLive } = await serve(failures);
  const guard = createGuard({
    resource: NOTES,
    name: 'Notes',
    defaultScopes: ['notes:read'],
    verifier: jwtVerifier({ issuer: ISSUER, jwks, isLive }),
  });
  const application: Server = createServer(
    { ...timeouts },
    protectNode(guard, (request, response) => {
      request.pipe(response);
    }),
  );
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    application.closeAllConnections();
    await new Promise((resolve) => application.close(resolve));
  });
  return { port: (application.address() as AddressInfo).port, failures };
}

const form = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString();
const machine = form({ grant_type: 'client_credentials', ...credentialsOf('notes-server') });

/** A request as bytes. */
function rawRequest(line: string, headers: readonly string[], body = ''): string {
  return [line, ...headers, '', body].join('\r\n');
}

function posted(path: string, body: string, ...more: readonly string[]): string {
  const type = 'content-type: application/x-www-form-urlencoded';
  return rawRequest(`POST ${path} HTTP/1.1`, ['host: as.example', type, ...more], body);
}

const chunked = (...parts: readonly string[]) =>
  [...parts, ''].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('');

const HOST = 'host: as.example';
const METADATA = '/.well-known/oauth-authorization-server';

/** What is right, and what smugglers and old programs send. */
const SEEDS: readonly string[] = [
  rawRequest(`GET ${METADATA} HTTP/1.1`, [HOST]),
  rawRequest(`HEAD ${METADATA} HTTP/1.1`, [HOST, 'connection: close']),
  rawRequest(`GET ${METADATA} HTTP/1.0`, []),
  rawRequest('GET /authorize?client_id=web&response_type=code HTTP/1.1', [HOST, 'cookie: a=b; __Host-session=c']),
  rawRequest('GET http://as.example/jwks HTTP/1.1', [HOST]),
  rawRequest('GET //evil.example/jwks HTTP/1.1', [HOST]),
  rawRequest('GET http://user@as.example/jwks HTTP/1.1', [HOST]),
  rawRequest('OPTIONS * HTTP/1.1', [HOST]),
  rawRequest('CONNECT as.example:443 HTTP/1.1', [HOST]),
  rawRequest('GET /jwks HTTP/1.1', ['host: as.example:99999']),
  rawRequest('GET /jwks HTTP/1.1', [HOST, 'host: evil.example']),
  rawRequest('GET /jwks HTTP/1.1', [HOST, 'connection: upgrade, http2-settings', 'upgrade: h2c', 'http2-settings: AAMAAABkAAQAAP__']),
  rawRequest('OPTIONS /token HTTP/1.1', [HOST, 'origin: https://app.example', 'access-control-request-method: POST']),
  rawRequest('PRI * HTTP/2.0', [], 'SM\r\n\r\n'),
  posted('/token', machine, `content-length: ${machine.length}`),
  posted('/token', chunked(machine.slice(0, 9), machine.slice(9)), 'transfer-encoding: chunked'),
  posted('/token', machine, `content-length: ${machine.length}`, 'expect: 100-continue'),
  posted('/token', machine, `content-length: ${machine.length}`, 'expect: something'),
  posted('/token', `${machine}GET /jwks HTTP/1.1\r\n\r\n`, `content-length: ${machine.length}`, 'transfer-encoding: chunked'),
  posted('/token', machine, `content-length: ${machine.length + 7}`),
  posted('/token', machine, 'content-length: 99999999999'),
  posted('/token', machine, `content-length: ${machine.length}`, 'content-encoding: gzip'),
  posted('/introspect', 'token=a.b.c', 'content-length: 11', 'authorization: Basic !!!'),
  posted('/register', '{"redirect_uris":[]}', 'content-length: 20').replace('x-www-form-urlencoded', 'json'),
  rawRequest('POST /notes HTTP/1.1', ['host: mcp.example', 'authorization: Bearer a.b.c', 'content-length: 2'], '{}'),
  rawRequest('GET /notes?access_token=x HTTP/1.1', ['host: mcp.example', 'authorization: Bearer', 'authorization: Basic Og==']),
  rawRequest('GET /.well-known/oauth-protected-resource/notes HTTP/1.1', ['host: mcp.example']),
]; // biome-ignore format: a list

/** Milliseconds in which an answer is there or the connection closed, on a machine that is busy. */
const PATIENCE = 40_000;

/**
 * Sends bytes in two parts.
 * @param hangsUp whether it says then that nothing more will come, or waits
 * @returns all that came back until the other end closed
 */
function exchange(port: number, bytes: Uint8Array, split: number, hangsUp = false): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the connection was not closed; received ${JSON.stringify(received)}`));
    }, PATIENCE);
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
    });
    // Who sends nonsense may be cut off while it is sending.
    socket.on('error', () => {});
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(received);
    });
    socket.write(bytes.subarray(0, split));
    setImmediate(() => {
      socket.write(bytes.subarray(split));
      if (hangsUp) socket.end();
    });
  });
}

const statusesIn = (answer: string) =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

async function expectBearable({ port, failures }: Listener, input: string, random: Random): Promise<void> {
  const bytes = bytesOf(input);
  const split = Math.floor(random.next() * bytes.length);
  const answer = await exchange(port, bytes, split, random.next() < 0.2);
  // A transfer coding that is not read is answered with 501: that is the sender's error, although the status is 5xx.
  const failed = statusesIn(answer).filter((status) => status >= 500 && status !== 501);
  expect([input, failed, failures]).toEqual([input, [], []]);
  // Whatever is said is HTTP.
  if (answer !== '') expect(answer).toMatch(/^HTTP\/1\.1 \d{3} /);
}

describe.each([
  {
    listener: 'the command line',
    open: openServer,
    right: rawRequest(`GET ${METADATA} HTTP/1.1`, [HOST, 'connection: close']),
    status: 200,
  },
  {
    listener: 'the guard on node:http',
    open: openGuarded,
    right: rawRequest('GET /.well-known/oauth-protected-resource/notes HTTP/1.1', [
      'host: mcp.example',
      'connection: close',
    ]),
    status: 200,
  },
])('$listener', ({ open, right, status }) => {
  it('answers every known oddity, and fails at none', async () => {
    const listener = await open();
    const random = createRandom(1);
    await Promise.all(SEEDS.map((seed) => expectBearable(listener, seed, random)));
    expect(statusesIn(await exchange(listener.port, bytesOf(right), 9))).toEqual([status]);
  });

  it('answers or closes whatever comes, and serves others meanwhile and afterwards', async () => {
    const listener = await open();
    const random = createRandom();
    const inputs = Array.from({ length: 600 }, () => mutate(SEEDS, random));
    for (let first = 0; first < inputs.length; first += 200) {
      const some = inputs.slice(first, first + 200).map((input) => expectBearable(listener, input, random));
      const other = exchange(listener.port, bytesOf(right), 9);
      await Promise.all(some).catch((error: unknown) => {
        throw new Error(`SEED=${random.seed}`, { cause: error });
      });
      expect(statusesIn(await other)).toEqual([status]);
    }
  });

  it('answers several requests of one connection in their order', async () => {
    const { port } = await open();
    const keep = right.replace('connection: close', 'connection: keep-alive');
    const bytes = bytesOf(`${keep}${rawRequest('GET /nowhere HTTP/1.1', [HOST])}${right}`);
    const [first, second, third] = statusesIn(await exchange(port, bytes, 100));
    expect([first, second, third]).toEqual([status, expect.toBeOneOf([401, 404]), status]);
  });
});
