/** Three processes of a gateway on PostgreSQL, restarted one after the other while a session is in use. */
import { randomBytes } from 'node:crypto';
import { createServer, type Server, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Postgres, startPostgres } from '../../support/postgres.ts';
import { type ProtectedProcess, startCommand } from '../../support/protect.ts';

const client = { client_id: 'robot', client_secret: 'a secret of the robot and its friends' };

let postgres: Postgres;
let backend: Server;
let balancer: Server;
let publicUrl: string;
let start: () => Promise<ProtectedProcess>;
let processes: ProtectedProcess[];
/** Session ids that reached the backend. */
const seen = new Set<string>();

const portOf = (server: Server) => (server.address() as AddressInfo).port;
const listen = (server: Server) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
const portIn = ({ output }: ProtectedProcess) => Number(/, port (\d+)/.exec(output())?.[1]);

beforeAll(async () => {
  postgres = await startPostgres();
  const database = await postgres.createDatabase();
  backend = createServer((incoming, outgoing) => {
    seen.add(String(incoming.headers['mcp-session-id']));
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} });
    incoming.resume().on('end', () => {
      outgoing
        .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'the-session' })
        .end(body);
    });
  });
  // Takes the processes in turn, and the next one if one is down.
  let turn = 0;
  balancer = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => forward(0));
    function forward(tries: number): void {
      turn += 1;
      const target = processes[turn % processes.length];
      const { url: path, method, headers } = incoming;
      const options = {
        port: target === undefined ? 0 : portIn(target),
        host: '127.0.0.1',
        path,
        method,
        headers,
      };
      send(options, (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      })
        .on('error', () => (tries < 3 ? forward(tries + 1) : outgoing.writeHead(502).end()))
        .end(Buffer.concat(chunks));
    }
  });
  await Promise.all([listen(backend), listen(balancer)]);
  publicUrl = `http://localhost:${portOf(balancer)}`;
  const settings = {
    PORTCULLIS_DATABASE: database,
    PORTCULLIS_KEY: randomBytes(32).toString('base64url'),
    PORTCULLIS_PUBLIC_URL: publicUrl,
    PORTCULLIS_DRAIN: '0',
    PORTCULLIS_CLIENTS: JSON.stringify([
      { ...client, grant_types: ['client_credentials'], scope: 'mcp:read mcp:write' },
    ]),
    PORTCULLIS_SERVERS: JSON.stringify([
      { path: '/mcp', backend: { url: `http://127.0.0.1:${portOf(backend)}/mcp` } },
    ]),
  };
  start = () => startCommand(['up', '--verbose'], settings);
  processes = [await start()];
  processes.push(...(await Promise.all([start(), start()])));
});

afterAll(async () => {
  for (const one of processes) expect(await one.stop()).toBe(0);
  for (const server of [backend, balancer]) {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
  await postgres.stop();
});

describe('a rolling restart of three processes on PostgreSQL', () => {
  it('loses no session of a backend, and no call', async () => {
    const response = await fetch(`${publicUrl}/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa(`${client.client_id}:${encodeURIComponent(client.client_secret)}`)}`,
      },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: `${publicUrl}/mcp` }),
    });
    const { access_token: token } = (await response.json()) as { readonly access_token: string };
    const call = (method: string, session?: string) =>
      fetch(`${publicUrl}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(session !== undefined && { 'mcp-session-id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} }),
      });
    const session = (await call('initialize')).headers.get('mcp-session-id') ?? '';
    expect(session).not.toBe('');

    let isOver = false;
    const statuses: number[] = [];
    const calling = (async () => {
      while (!isOver) statuses.push((await call('ping', session)).status);
    })();
    for (const index of processes.keys()) {
      const old = processes[index];
      expect(await old?.stop()).toBe(0);
      processes[index] = await start();
    }
    isOver = true;
    await calling;
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(statuses.length).toBeGreaterThan(10);
    expect(seen).toEqual(new Set(['undefined', 'the-session']));
  });
});
