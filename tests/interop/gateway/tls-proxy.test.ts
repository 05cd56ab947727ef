/** Servers behind a TLS proxy that removes a path prefix: everything printed and published names the public URL, and the flow works by it. */
import { readFileSync } from 'node:fs';
import { request as forward } from 'node:http';
import { createServer, request } from 'node:https';
import { expect, it, onTestFinished } from 'vitest';
import { startEverythingServer } from '../../conformance/server/everything-server.ts';
import { machineClient, machineCredentials } from '../../support/machine-client.ts';
import { startPortcullisHere } from '../../support/portcullis-here.ts';
import { reservePort } from '../../support/ports.ts';

const fixture = (name: string) =>
  readFileSync(new URL(`../../../packages/http/test/fixtures/${name}`, import.meta.url), 'utf8');

/** Terminates TLS, and removes `/tools` from the paths of its target. */
async function startTlsProxy(port: number, target: number): Promise<void> {
  const proxy = createServer(
    { cert: fixture('certificate.pem'), key: fixture('key.pem') },
    (incoming, outgoing) => {
      const headers = {
        ...incoming.headers,
        'x-forwarded-proto': 'https',
        'x-forwarded-for': incoming.socket.remoteAddress,
      };
      const path = incoming.url?.replace(/^\/tools(?=\/)/, '');
      const options = { port: target, host: '127.0.0.1', path, method: incoming.method, headers };
      const forwarded = forward(options, (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      });
      incoming.pipe(forwarded);
    },
  );
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
}

interface Answer {
  readonly status: number;
  readonly challenge: string;
  readonly text: string;
}

function send(url: string, headers: Readonly<Record<string, string>> = {}, body?: string): Promise<Answer> {
  const options = { method: body === undefined ? 'GET' : 'POST', headers, rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      const challenge = String(response.headers['www-authenticate']);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, challenge, text }));
    });
    sent.on('error', reject).end(body);
  });
}

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});
const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

it('a server behind a TLS proxy that removes a prefix is discovered, authorized and called by its public URL', async () => {
  const backend = await startEverythingServer('both');
  onTestFinished(() => backend.stop());
  const port = await reservePort();
  const publicUrl = `https://localhost:${port}`;
  const portcullis = await startPortcullisHere({
    publicUrl,
    trustedProxies: ['127.0.0.1'],
    strippedPrefix: '/tools',
    clients: [{ ...machineClient, scope: 'everything:read everything:write' }],
    servers: [{ path: '/tools/everything', backend: { url: backend.url } }],
  });
  onTestFinished(async () => void (await portcullis.stop()));
  await startTlsProxy(port, portcullis.port);
  const resource = `${publicUrl}/tools/everything`;

  const refused = await send(resource, JSON_HEADERS, INITIALIZE);
  expect(refused.status).toBe(401);
  const metadataUrl = /resource_metadata="([^"]+)"/.exec(refused.challenge)?.[1] ?? '';
  expect(metadataUrl).toBe(`${publicUrl}/.well-known/oauth-protected-resource/tools/everything`);
  const metadata = JSON.parse((await send(metadataUrl)).text);
  expect(metadata).toMatchObject({ resource, authorization_servers: [publicUrl] });

  const server = JSON.parse((await send(`${publicUrl}/.well-known/oauth-authorization-server`)).text);
  const endpoints = Object.values(server).filter((value) => /^https?:/.test(String(value)));
  expect(endpoints.length).toBeGreaterThan(4);
  for (const endpoint of endpoints) expect(endpoint).toMatch(new RegExp(`^${publicUrl}(/|$)`));

  const form = new URLSearchParams({
    ...machineCredentials,
    grant_type: 'client_credentials',
    resource,
  });
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const issued = await send(server.token_endpoint, type, String(form));
  const { access_token: token } = JSON.parse(issued.text);
  const answer = await send(resource, { ...JSON_HEADERS, authorization: `Bearer ${token}` }, INITIALIZE);
  expect(answer.status, answer.text).toBe(200);
  expect(answer.text).toContain('"serverInfo"');

  expect(portcullis.url).toBe(publicUrl);
  expect(portcullis.output()).not.toContain(`:${portcullis.port}`);
});
