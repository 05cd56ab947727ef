/** `portcullis doctor` and endless documents that a hostile server sends. */
import { expect, it } from 'vitest';
import type { ExaminationContext } from '../src/doctor/examination.ts';
import { readGatewayHealth } from '../src/doctor/gateway.ts';
import { findObstacle } from '../src/doctor/no-challenge.ts';
import type { Exchange } from '../src/doctor/report.ts';

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
  ...{ step: 'request', method: 'POST', url: SERVER, requestHeaders: {}, requestBody: '' },
  ...{ status: 200, headers: { 'content-type': 'application/json' }, body, milliseconds: 1 },
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
