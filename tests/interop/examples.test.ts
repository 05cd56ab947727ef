/** The examples of protected servers, run as documented, and called by the official clients. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reservePort } from '../support/ports.ts';
import { sourceFlags } from '../support/source-flags.ts';

/** A foreign issuer: metadata, keys, and tokens on demand. */
let issuer: { url: string; server: Server; privateKey: CryptoKey };

beforeAll(async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }];
  const server = createServer((request, response) => {
    const metadata = { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.url === '/jwks' ? { keys } : metadata));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, privateKey };
});

afterAll(() => {
  issuer.server.closeAllConnections();
  issuer.server.close();
});

function issue(resource: string, subject: string, scope: string): Promise<string> {
  return new SignJWT({ scope, client_id: 'client', jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'k' })
    .setIssuer(issuer.url)
    .setSubject(subject)
    .setAudience(resource)
    .setIssuedAt()
    .setExpirationTime('10m')
    .sign(issuer.privateKey);
}

async function run(
  example: string,
  port: number | null = null,
): Promise<{ child: ChildProcess; resource: string }> {
  const file = fileURLToPath(new URL(`../../examples/${example}/server.ts`, import.meta.url));
  const env = { ...process.env, PORT: String(port ?? (await reservePort())), ISSUER: issuer.url };
  const child = spawn(process.execPath, [...sourceFlags(), file], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const resource = await new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      said += chunk.toString();
      const ready = /^ready (\S+)$/m.exec(said)?.[1];
      if (ready !== undefined) resolve(ready);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('close', (code) => reject(new Error(`${example} ended with ${code}: ${said}`)));
  });
  return { child, resource };
}

const official = {
  '2.x': async (url: URL, token: string): Promise<string> => {
    const client = new Client({ name: 'test', version: '1' });
    const transport = new StreamableHTTPClientTransport(url, { requestInit: carrying(token) });
    await client.connect(transport);
    const result = await client.callTool({ name: 'greet' }).finally(() => client.close());
    return JSON.stringify(result.content);
  },
  '1.x': async (url: URL, token: string): Promise<string> => {
    const client = new Client1({ name: 'test', version: '1' });
    const transport = new Transport1(url, { requestInit: carrying(token) });
    await client.connect(transport as Parameters<Client1['connect']>[0]);
    const result = await client.callTool({ name: 'greet' }).finally(() => client.close());
    return JSON.stringify(result.content);
  },
};

const carrying = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });

describe.each(['express', 'fastify', 'hono'])('examples/%s', (example) => {
  let child: ChildProcess;
  let resource = '';

  beforeAll(async () => {
    ({ child, resource } = await run(example));
  });

  afterAll(() => {
    child.kill();
  });

  it('[S-401-1 S-PRM-1 S-FLOW-B1] the example sends a challenge, which leads to its metadata', async () => {
    const response = await fetch(resource, { method: 'POST', body: '{}' });
    expect(response.status).toBe(401);
    const location =
      /resource_metadata="([^"]+)"/.exec(response.headers.get('www-authenticate') ?? '')?.[1] ?? '';
    const document = await (await fetch(location)).json();
    expect(document).toMatchObject({
      resource,
      authorization_servers: [issuer.url],
      scopes_supported: ['greet'],
    });
  });

  it.each(['2.x', '1.x'] as const)(
    '[S-ROLE-2 S-AUD-1] the example serves the official client %s with a token for its own resource',
    async (version) => {
      const url = new URL(resource);
      expect(await official[version](url, await issue(resource, 'alice', 'greet'))).toContain('Hello alice');
      await expect(
        official[version](url, await issue(`${resource}/other`, 'alice', 'greet')),
      ).rejects.toThrow();
    },
  );

  it('[S-401-1] the example challenges every method without a token, and answers unknown methods with 405', async () => {
    expect((await fetch(resource)).status).toBe(401);
    for (const method of ['PUT', ...(example === 'express' ? [] : ['GET'])]) {
      const response = await fetch(resource, {
        ...carrying(await issue(resource, 'alice', 'greet')),
        method,
      });
      expect([method, response.status]).toEqual([method, 405]);
      expect(response.headers.get('allow')).toContain('POST');
    }
  });

  it('the example does not report ready on a taken port, and exits with an error', async () => {
    const taken = Number(new URL(resource).port);
    await expect(run(example, taken)).rejects.toThrow(/ended with 1: (?!.*ready http).*EADDRINUSE/s);
  });

  it('[S-403-20 S-403-22] the example’s challenge names the scope that a tool needs', async () => {
    const response = await fetch(resource, {
      ...carrying(await issue(resource, 'alice', 'other')),
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'greet' } }),
    });
    expect([response.status, ((await response.json()) as { scope: string }).scope]).toEqual([403, 'greet']);
  });
});

describe('examples/express', () => {
  it('[S-SESS-40 S-SESS-41 S-SESS-42] T101 accepts a session only from the user and client that opened it', async () => {
    const { child, resource } = await run('express');
    const [alice, bob] = await Promise.all(
      ['alice', 'bob'].map((subject) => issue(resource, subject, 'greet')),
    );
    const send = (token: string | undefined, session: string | null, message: object): Promise<Response> =>
      fetch(resource, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(session !== null && { 'mcp-session-id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      });
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    };
    const opened = await send(alice, null, { id: 1, method: 'initialize', params });
    const session = opened.headers.get('mcp-session-id');
    expect([opened.status, session]).toEqual([200, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    const call = { id: 2, method: 'tools/call', params: { name: 'greet', arguments: {} } };
    const stolen = await send(bob, session, call);
    expect([stolen.status, await stolen.text()]).toEqual([404, expect.not.stringContaining('alice')]);
    expect((await send(undefined, session, call)).status).toBe(401);
    const own = await send(alice, session, call);
    expect([own.status, await own.text()]).toEqual([200, expect.stringContaining('Hello alice')]);
    child.kill();
  });
});

describe('examples/hono', () => {
  const VERSION = 'io.modelcontextprotocol/protocolVersion';
  const meta = {
    [VERSION]: '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };

  it('[S-HTTP-31 S-HTTP-32 S-HTTP-33] the Hono example checks the token first, and leaves version and method to the server', async () => {
    const { child, resource } = await run('hono');
    const token = await issue(resource, 'alice', 'greet');
    const send = (
      isSignedIn: boolean,
      method: string,
      version: string | null = null,
      message: { readonly method: string } | null = null,
    ): Promise<Response> =>
      fetch(resource, {
        method,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(isSignedIn && { authorization: `Bearer ${token}` }),
          ...(version !== null && { 'mcp-protocol-version': version, 'mcp-method': message?.method ?? '' }),
        },
        ...(message !== null && { body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }) }),
      });
    const list = { method: 'tools/list', params: { _meta: meta } };
    const future = { method: 'tools/list', params: { _meta: { ...meta, [VERSION]: '2099-01-01' } } };
    const unknown = { method: 'notes/burn', params: { _meta: meta } };
    const cases = [
      ['GET', null, null, 405],
      ['DELETE', null, null, 405],
      ['POST', null, list, 400],
      ['POST', '2025-11-25', list, 400],
      ['POST', '2099-01-01', future, 400],
      ['POST', '2026-07-28', unknown, 404],
      ['POST', '2026-07-28', list, 200],
    ] as const;
    for (const [method, version, message, status] of cases) {
      expect((await send(false, method, version, message)).status).toBe(401);
      const response = await send(true, method, version, message);
      expect([method, version, response.status]).toEqual([method, version, status]);
      if (status === 405) expect(response.headers.get('allow')).toBe('POST');
      if (version === '2099-01-01') expect(await response.text()).toContain('"supported":["2026-07-28"]');
      if (status === 404) expect(await response.text()).toContain('-32601');
    }
    child.kill();
  });
});
