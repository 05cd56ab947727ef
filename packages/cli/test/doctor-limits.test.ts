/** `portcullis doctor` and endless documents that a hostile server sends. */
import { expect, it } from 'vitest';
import type { ExaminationContext } from '../src/doctor/examination.ts';
import { readGatewayHealth } from '../src/doctor/gateway.ts';
import { findObstacle } from '../src/doctor/no-challenge.ts';
import type { Exchange } from '../src/doctor/recorder.ts';
import { removeRegisteredClients } from '../src/doctor/registered-clients.ts';
import { sendMcpRequest } from '../src/doctor/requests.ts';

const SERVER = 'https://mcp.example/mcp';
const CHUNK = new TextEncoder().encode(' '.repeat(65_536));

/** Sends 16 MiB before the document; counts what was read of it. */
function longResponse(document: string) {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent < 256) controller.enqueue(CHUNK);
      else {
        controller.enqueue(new TextEncoder().encode(document));
        controller.close();
      }
      sent += 1;
    },
  });
  return { response: new Response(body), chunks: () => sent };
}

const exchange = (body: string): Exchange => ({
  ...{ step: 'request', method: 'POST', url: SERVER },
  ...{ status: 200, headers: new Headers({ 'content-type': 'application/json' }), body },
});

const health = '{"status":"ready","backends":{"/mcp":"up"}}';
const metadata = JSON.stringify({ resource: SERVER });

it('doctor stops reading an endless answer about the health of a gateway', async () => {
  const { response, chunks } = longResponse(health);
  expect(await readGatewayHealth({ server: SERVER, fetch: async () => response })).toBe('none');
  expect(chunks()).toBeLessThan(32);
  expect(await readGatewayHealth({ server: SERVER, fetch: async () => new Response(health) })).toBe('up');
});

it('doctor stops reading endless metadata', async () => {
  const speaksMcp = exchange('{"jsonrpc":"2.0","id":1,"result":{}}');
  const examine = (fetch: ExaminationContext['fetch']) =>
    findObstacle({ server: SERVER, fetch } as unknown as ExaminationContext, speaksMcp);
  const counts: (() => number)[] = [];
  const obstacle = await examine(async () => {
    const { response, chunks } = longResponse(metadata);
    counts.push(chunks);
    return response;
  });
  expect(obstacle?.message).toMatch(/^This is an MCP server without authorization/);
  expect(counts.length).toBeGreaterThan(0);
  for (const chunks of counts) expect(chunks()).toBeLessThan(32);
  expect(await examine(async () => new Response(metadata))).toBeNull();
});

/** Its end is awaited until a timeout. */
const endless = (status: number) =>
  new Response(new ReadableStream({ cancel: () => Promise.reject(new Error('aborted')) }), { status });

it('doctor reports a client that remains, although the response to its removal does not end', async () => {
  const management = { uri: 'https://as.example/register/c1', token: 'its-own' };
  const registered = new Map([
    ['c1', { method: 'dynamic', clientId: 'c1', management }],
  ]) as unknown as Parameters<typeof removeRegisteredClients>[0];
  const remove = (response: Response) => removeRegisteredClients(registered, async () => response);
  expect(await remove(endless(403))).toMatchObject([
    { choice: 'c1 remains', reason: expect.stringContaining('with status 403') },
  ]);
  expect(await remove(endless(401))).toMatchObject([{ choice: 'removed' }]);
});

it('doctor examines a challenge whose body does not end', async () => {
  const recorder = { exchanges: [exchange('')] };
  const context = { server: SERVER, version: '1', recorder, fetch: async () => endless(401) };
  expect(await sendMcpRequest(context as unknown as ExaminationContext)).toBe(recorder.exchanges[0]);
});
