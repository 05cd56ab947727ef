/** docs/in-front.md: its program protects a backend without authorization, which never sees a token. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createNodeClient } from '@portcullis/client/node';
import { expect, it, onTestFinished } from 'vitest';
import { owner, startPortcullis } from '../support/portcullis.ts';
import { createUser } from '../support/user.ts';

it('rejects requests without a token, and forwards the others without theirs', async () => {
  const seen: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const behind = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push({ headers: request.headers, body });
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' });
    response.end('{"jsonrpc":"2.0","id":1,"result":{}}');
  });
  await new Promise<void>((resolve) => behind.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void behind.close());

  const page = await readFile(new URL('../../docs/in-front.md', import.meta.url), 'utf8');
  const [, program = ''] = /^```ts\n(.*?)^```$/ms.exec(page) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-in-front-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'in-front.ts');
  const { port } = behind.address() as AddressInfo;
  await writeFile(file, program.replace('127.0.0.1:3000', `127.0.0.1:${port}`));
  const server = await startPortcullis({}, file);
  onTestFinished(async () => void (await server.stop()));

  const message = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  const request = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'x-subject': 'another-user',
      cookie: 'a=b',
    },
    body: message,
  };
  expect((await fetch(server.resource, request)).status).toBe(401);
  expect(seen).toEqual([]);

  const user = createUser(owner);
  const client = createNodeClient({
    serverUrl: server.resource,
    browser: { open: async (url) => void fetch(await user.authorize(url)) },
  });
  const answer = await client.fetch(server.resource, request);
  expect([answer.status, answer.headers.get('mcp-session-id'), await answer.json()]).toEqual([
    ...[200, 'one'],
    { jsonrpc: '2.0', id: 1, result: {} },
  ]);
  const [{ headers, body } = { headers: {}, body: '' }] = seen;
  expect([seen.length, body]).toEqual([1, message]);
  expect(headers['x-subject']).toMatch(/^user_/);
  expect([headers.authorization, headers.cookie, headers['dpop']]).toEqual([undefined, undefined, undefined]);
});
