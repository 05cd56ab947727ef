/** Event streams through the gateway end soon after a command has ended the access of their user in the database. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { owner } from '../../../tests/support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { createUser } from '../../../tests/support/user.ts';
import { runHere } from './support/in-process.ts';

let portcullis: PortcullisHere;

const backend = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
});

beforeAll(async () => {
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  const { port } = backend.address() as AddressInfo;
  portcullis = await startPortcullisHere({
    servers: [
      {
        path: '/files',
        backend: { url: `http://127.0.0.1:${port}/mcp` },
        scopes: { 'files:read': 'Read files' },
      },
    ],
  });
});

afterAll(async () => {
  await portcullis.stop();
  backend.closeAllConnections();
  backend.close();
});

const REDIRECT_URI = 'http://127.0.0.1:9/callback';
const VERIFIER = 'v'.repeat(43);

/** Registers an app and signs the user in. @returns the access token */
async function signIn(): Promise<string> {
  const post = async (path: string, type: string, body: string) => {
    const headers = { 'content-type': type };
    const response = await fetch(`${portcullis.url}${path}`, { method: 'POST', headers, body });
    return (await response.json()) as Readonly<Record<string, string>>;
  };
  const metadata = { redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: 'none' };
  const client = await post('/register', 'application/json', JSON.stringify(metadata));
  const shared = { client_id: client['client_id'] ?? '', redirect_uri: REDIRECT_URI };
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(VERIFIER));
  const request = new URLSearchParams({
    ...shared,
    response_type: 'code',
    scope: 'files:read',
    resource: `${portcullis.url}/files`,
    code_challenge: Buffer.from(digest).toString('base64url'),
    code_challenge_method: 'S256',
  });
  const back = await createUser(owner).authorize(`${portcullis.url}/authorize?${request}`);
  const redemption = new URLSearchParams({
    ...shared,
    grant_type: 'authorization_code',
    code: back.searchParams.get('code') ?? '',
    code_verifier: VERIFIER,
  });
  const tokens = await post('/token', 'application/x-www-form-urlencoded', String(redemption));
  return tokens['access_token'] ?? '';
}

async function openStream(token: string): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
  const response = await fetch(`${portcullis.url}/files`, { headers });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  return reader;
}

it('an event stream ends when the account of its user is disabled, long before its token is checked again', async () => {
  const reader = await openStream(await signIn());
  const over = reader.read().then(({ done }) => done);
  const environment = { PORTCULLIS_DATABASE: portcullis.database, PORTCULLIS_PUBLIC_URL: portcullis.url };
  await runHere(['users', 'disable', owner.email], { environment, folder: tmpdir() });
  const disabledAt = performance.now();
  expect(await over).toBe(true);
  // Ended grants are looked up every second, the tokens of open streams every ten.
  expect(performance.now() - disabledAt).toBeLessThan(8_000);
});
