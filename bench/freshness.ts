/**
 * Measures what freshness costs a remote guard and its authorization server: local verification, introspection of each token, or
 * both, by tokens in use, requests per second and live grants. `node --conditions=portcullis-source bench/freshness.ts [live
 * grants] [requests per second] [tokens in use]…`. Seconds are simulated and pass as soon as their work is done; the result is CPU
 * time per simulated second. The server is a separate process on a SQLite file, over loopback.
 */
import { fork } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { createAuthorizationServer } from '@portcullis/authorization-server';
import { listen, serveFetch } from '@portcullis/http/node';
import {
  confirmVerifier,
  createGuard,
  introspectionVerifier,
  jwtVerifier,
  type TokenVerifier,
} from '@portcullis/resource-server';
import { openStore } from '@portcullis/store';
import { createAccessTokenFormat } from '../packages/authorization-server/src/keys/access-token-format.ts';
import { loadKeyRing } from '../packages/authorization-server/src/keys/key-ring.ts';
import { newIdentifier } from '../packages/authorization-server/src/secrets.ts';
import { createServerContext } from '../packages/authorization-server/src/server.ts';

const RESOURCE = 'http://localhost:1/mcp';
const START = Math.floor(Date.now() / 1000);
/** Simulated seconds of warm-up and of measurement. */
const [BEFORE, MEASURED] = [10, 20];
/** Concurrent requests. */
const AT_ONCE = 64;

interface Usage {
  /** Microseconds of CPU time. */
  readonly cpu: number;
  /** Bytes read from and written to sockets. */
  readonly network: number;
}

const network = { sockets: new Set<Socket>(), before: 0 };

/** The authorization server, whose clock is set by messages. */
async function serve(grants: number, inUse: number): Promise<void> {
  subscribe('net.server.socket', (message) => {
    const { socket } = message as { readonly socket: Socket };
    network.sockets.add(socket);
    socket.once('close', () => {
      network.before += socket.bytesRead + socket.bytesWritten;
      network.sockets.delete(socket);
    });
  });
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-freshness-'));
  const file = join(folder, 'store.db');
  const store = await openStore(file);
  let now = START;
  let handle: (request: Request) => Promise<Response> = async () => new Response();
  const { port } = await listen(
    serveFetch((request) => handle(request)),
    {
      port: 0,
      host: '127.0.0.1',
    },
  );
  const issuer = `http://127.0.0.1:${port}`;
  const options = {
    issuer,
    store,
    masterKey: new Uint8Array(32).fill(1),
    resources: [
      { resource: RESOURCE, name: 'Notes', scopes: { read: 'Read' }, introspectionClients: ['guard'] },
    ],
    clients: [{ client_id: 'guard', client_secret: 'guard-secret', grant_types: ['client_credentials'] }],
    rateLimits: false,
    auditRetention: false,
    clock: () => now,
  } as const;
  const server = await createAuthorizationServer(options);
  handle = (request) => server.handle(request);
  const context = createServerContext(options);
  const { sign } = createAccessTokenFormat(await loadKeyRing(context), context.options);
  const tokens = await Promise.all(fill(file, grants, inUse).map((grant) => sign(claimsFor(issuer, grant))));
  process.on('message', (message: number | 'usage' | 'end') => {
    if (message === 'end') {
      rmSync(folder, { recursive: true });
      process.exit();
    }
    if (message === 'usage') process.send?.(usage());
    else {
      now = message;
      process.send?.('set');
    }
  });
  process.send?.({ issuer, tokens });
}

/** Grants in use, spread evenly over all live grants, and one in a thousand that was revoked a minute ago. @returns those in use */
function fill(file: string, grants: number, inUse: number): readonly string[] {
  const database = new DatabaseSync(file);
  database.exec('BEGIN');
  const add =
    database.prepare(`INSERT INTO grants (id, client_id, account_id, scopes, resources, created_at, expires_at, last_used_at, consent_digest, revoked_at)
    VALUES (?, 'app', 'user', '["read"]', '[]', ${START}, ${START + 100_000}, ${START}, '', ?)`);
  const made = Array.from({ length: inUse }, (_, at) => `grant_${Math.floor((at * grants) / inUse)}`);
  for (const id of made) add.run(id, null);
  for (let at = 0; at < grants / 1000; at += 1) add.run(`revoked_${at}`, START - 60);
  database.exec('COMMIT');
  database.close();
  return made;
}

function claimsFor(issuer: string, grantId: string) {
  return {
    iss: issuer,
    sub: 'user',
    aud: RESOURCE,
    client_id: 'app',
    exp: START + 10_000,
    iat: START,
    jti: newIdentifier('token'),
    scope: 'read',
    grant_id: grantId,
  };
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  let bytes = network.before;
  for (const socket of network.sockets) bytes += socket.bytesRead + socket.bytesWritten;
  return { cpu: user + system, network: bytes };
}

interface Far {
  readonly issuer: string;
  readonly tokens: readonly string[];
  setClock(now: number): Promise<unknown>;
  usage(): Promise<Usage>;
  stop(): void;
}

async function start(grants: number, inUse: number): Promise<Far> {
  const child = fork(fileURLToPath(import.meta.url), ['serve', String(grants), String(inUse)]);
  const answer = <T>() =>
    new Promise<T>((resolve) => child.once('message', (message) => resolve(message as T)));
  const ask = <T>(message: number | 'usage'): Promise<T> => {
    const answered = answer<T>();
    child.send(message);
    return answered;
  };
  const begun = await answer<{ readonly issuer: string; readonly tokens: readonly string[] }>();
  return {
    ...begun,
    setClock: (now) => ask(now),
    usage: () => ask<Usage>('usage'),
    stop: () => void child.send('end'),
  };
}

let now = START;
const clock = () => now;

const ways: Readonly<Record<string, (issuer: string) => TokenVerifier>> = {
  'on the spot': (issuer) => jwtVerifier({ issuer }),
  asking: askingOf,
  'confirmed by asking': (issuer) => confirmVerifier(jwtVerifier({ issuer }), askingOf(issuer)),
};

function askingOf(issuer: string): TokenVerifier {
  const client = { clientId: 'guard', clientSecret: 'guard-secret' };
  return introspectionVerifier({ issuer, endpoint: `${issuer}/introspect`, ...client });
}

async function measure(way: string, far: Far, rate: number): Promise<object> {
  const verifier = ways[way]?.(far.issuer);
  if (verifier === undefined) throw new Error(`there is no way ${way}`);
  const guard = createGuard({ resource: RESOURCE, verifier, clock, clockTolerance: 5 });
  const fields = far.tokens.map((token) => `Bearer ${token}`);
  let next = 0;
  let refused = 0;
  const present = async (count: number) => {
    for (let left = count; left > 0; left -= 1) {
      next = (next + 1) % fields.length;
      const found = guard.authorize({ method: 'POST', url: '/mcp', authorization: fields[next] ?? '' });
      const decision = found instanceof Promise ? await found : found;
      if (!decision.authorized) refused += 1;
    }
  };
  const second = async () => {
    now += 1;
    await far.setClock(now);
    const workers = Math.min(AT_ONCE, rate);
    await Promise.all(Array.from({ length: workers }, (_, at) => present(Math.floor((rate + at) / workers))));
    await new Promise((resolve) => setTimeout(resolve, 1));
  };
  for (let passed = 0; passed < BEFORE; passed += 1) await second();
  const [here, there] = [usage(), await far.usage()];
  for (let passed = 0; passed < MEASURED; passed += 1) await second();
  const [hereAfter, thereAfter] = [usage(), await far.usage()];
  const each = (before: number, after: number) => (after - before) / MEASURED;
  return {
    way,
    'guard ms/s': round(each(here.cpu, hereAfter.cpu) / 1000),
    'server ms/s': round(each(there.cpu, thereAfter.cpu) / 1000),
    'network KB/s': round(each(there.network, thereAfter.network) / 1000),
    refused,
  };
}

function round(figure: number): number {
  return Math.round(figure * 100) / 100;
}

async function main(grants: number, rate: number, counts: readonly number[]): Promise<void> {
  for (const inUse of counts) {
    const far = await start(grants, inUse);
    const rows: object[] = [];
    for (const way of Object.keys(ways)) {
      now += 100;
      rows.push(await measure(way, far, rate));
    }
    far.stop();
    console.log(`${grants} live grants, ${rate} requests a second, ${inUse} tokens in use`);
    console.table(rows);
  }
}

const [first = '10000', second = '1000', ...rest] = process.argv.slice(2);
if (first === 'serve') await serve(Number(second), Number(rest[0]));
else await main(Number(first), Number(second), rest.length > 0 ? rest.map(Number) : [1, 100, 10_000]);
