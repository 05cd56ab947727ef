/** An approved call whose server is killed: the approval is gone, the audit log says so, and the call runs at most once. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { openStore } from '@portcullis/store';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { machineClient, machineCredentials } from '../support/machine-client.ts';
import { type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { kinds, type Place } from './places.ts';

/** A backend that answers everything but one connection: it is silent to its handshake, so that no call is sent, or to its call. */
interface Backend {
  readonly url: string;
  /** The next connection that sends a handshake or a call gets no response. @returns what it sends */
  silence(): Promise<string>;
}

const fixture = (name: string) =>
  readFileSync(new URL(`../../packages/http/test/fixtures/${name}`, import.meta.url));

const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'files', version: '1' },
  },
  'tools/list': { tools: [{ name: 'delete', inputSchema: { type: 'object' } }] },
};

function answerAll(request: IncomingMessage, response: ServerResponse): void {
  request.setEncoding('utf8').on('data', (text: string) => {
    const { id, method } = JSON.parse(text) as { readonly id?: number; readonly method: string };
    // The call has a connection of its own.
    response.writeHead(id === undefined ? 202 : 200, {
      'content-type': 'application/json',
      connection: 'close',
    });
    response.end(
      id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, result: RESULTS[method] ?? {} }),
    );
  });
}

async function startBackend(scheme: 'http' | 'https'): Promise<Backend> {
  const server =
    scheme === 'http'
      ? createHttpServer(answerAll)
      : createHttpsServer({ key: fixture('key.pem'), cert: fixture('certificate.pem') }, answerAll);
  let report: ((text: string) => void) | null = null;
  const front = createServer((socket) => {
    socket.on('error', () => {});
    if (report === null) {
      server.emit('connection', socket);
      return;
    }
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      if (!text.startsWith('POST') || text.includes('tools/call')) report?.(text);
    });
  });
  await once(front.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void front.close());
  return {
    url: `${scheme}://127.0.0.1:${(front.address() as AddressInfo).port}/mcp`,
    silence: () =>
      new Promise((resolve) => {
        report = (text) => {
          report = null;
          resolve(text);
        };
      }),
  };
}

async function call({ url }: Pick<Portcullis, 'url'>, signal?: AbortSignal): Promise<Response> {
  const body = new URLSearchParams({
    ...machineCredentials,
    grant_type: 'client_credentials',
    resource: `${url}/files`,
  });
  const granted = await fetch(`${url}/token`, { method: 'POST', body });
  const { access_token: token } = (await granted.json()) as { readonly access_token: string };
  return fetch(`${url}/files`, {
    method: 'POST',
    ...(signal !== undefined && { signal }),
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete","arguments":{"path":"/a"}}}',
  });
}

const now = () => Math.floor(Date.now() / 1000);

async function withStore<T>(
  { location }: Place,
  read: (store: Awaited<ReturnType<typeof openStore>>) => Promise<T>,
): Promise<T> {
  const store = await openStore(location);
  try {
    return await read(store);
  } finally {
    await store.close();
  }
}

const pendingIds = (place: Place) =>
  withStore(place, async (store) =>
    (await store.listPendingApprovals({ all: true }, now(), 10)).map(({ id }) => id),
  );

const decision = { outcome: 'approved', decidedBy: 'operator', reason: null, isReusable: false } as const;

describe.each(kinds)('an approved call on $name', (kind) => {
  it.each<[string, 'http' | 'https', boolean]>([
    ['before the call is sent', 'https', false],
    ['while its backend executes it', 'http', true],
  ])(
    'has used its approval when its server is killed %s, and needs another one',
    async (_when, scheme, isSent) => {
      const place = await kind.make(onTestFinished);
      // The certificate of the backend is for another host.
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
      onTestFinished(() => void vi.unstubAllEnvs());
      const backend = await startBackend(scheme);
      const portcullis = await startPortcullis({
        database: place.location,
        clients: [{ ...machineClient, scope: 'files:write' }],
        servers: [
          {
            path: '/files',
            backend: { url: backend.url },
            scopes: { 'files:write': 'Change files' },
            tools: { '*': { scopes: ['files:write'], approval: { by: { groups: ['leads'] } } } },
            review: 'auto',
          },
        ],
      });
      onTestFinished(async () => void (await portcullis.stop()));

      const lost = call(portcullis).catch(() => null);
      await expect.poll(() => pendingIds(place)).toHaveLength(1);
      const [id = ''] = await pendingIds(place);
      const received = backend.silence();
      await withStore(place, (store) =>
        store.decideApproval(id, { ...decision, expiresAt: now() + 900 }, now()),
      );
      expect((await received).includes('tools/call')).toBe(isSent);
      await portcullis.restart(undefined, 'SIGKILL');
      expect(await lost).toBeNull();

      const events = await withStore(place, (store) => store.listLatestEvents(100));
      const types = events.map(({ type }) => type);
      expect(types.filter((type) => type === 'approval.consumed')).toHaveLength(1);
      expect(types).not.toContain('call.finished');
      const leaving = new AbortController();
      const again = call(portcullis, leaving.signal).catch(() => null);
      await expect.poll(() => pendingIds(place)).toHaveLength(1);
      expect(await pendingIds(place)).not.toContain(id);
      expect(await withStore(place, (store) => store.consumeApprovals([id], now()))).toBe(false);
      leaving.abort();
      expect(await again).toBeNull();
    },
    120_000,
  );
});
