/** Bodies that arrive a byte at a time: what is kept of them takes memory for its bytes, not for its pieces. */
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { type BodyEvent, RequestBody } from '../src/http/request-body.ts';
import { StreamedBody } from '../src/http/streamed-body.ts';
import { createBodyScanner } from '../src/messages/body-scanner.ts';

const PIECES = 100_000;
const MIB = 1024 * 1024;

/** Bytes in use once all garbage is gone. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  for (let time = 0; time < 2; time += 1) if (typeof collect === 'function') collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function receiveBody(onLong: (body: RequestBody, incoming: PassThrough) => void) {
  const incoming = Object.assign(new PassThrough(), { headers: {} });
  const whole: Buffer[] = [];
  const report = (event: BodyEvent): void => {
    if (event.kind === 'whole') whole.push(event.bytes);
    else if (event.kind === 'long') onLong(body, incoming);
    else expect.unreachable(String(event.error));
  };
  const scanned = { isBatch: false, messages: [], length: 0, values: 1 };
  const scanner = { push: () => undefined, peek: () => scanned, end: () => scanned };
  const body = new RequestBody(incoming as unknown as IncomingMessage, {
    ...{ limit: MIB, scanner, report },
    mayStream: () => true,
  });
  body.receive();
  return { incoming, whole };
}

function sendPieces(incoming: PassThrough): void {
  for (let count = 0; count < PIECES; count += 1) incoming.emit('data', Buffer.alloc(1, 'x'));
}

it('a body that is held takes memory for its bytes, however small its pieces are', () => {
  const { incoming, whole } = receiveBody(() => undefined);
  const before = usedBytes();
  sendPieces(incoming);
  expect(usedBytes() - before).toBeLessThan(8 * MIB);
  incoming.emit('end');
  expect(whole.map((body) => body.toString())).toEqual(['x'.repeat(PIECES)]);
});

it('a body that passes keeps what may be sent again without its pieces', async () => {
  const scanned = { isBatch: false, messages: [], length: 0, values: 1 };
  const streamed = Promise.withResolvers<StreamedBody>();
  const { incoming } = receiveBody((body, source) => {
    const upload = new StreamedBody({
      ...{ source, buffered: body.buffered, declared: null, scanned, idle: 60 },
      identifiers: { open: (bytes) => bytes },
      report: (event) => {
        if (event.kind === 'arrived') upload.finish(scanned);
        else expect.unreachable(String(event.error));
      },
    });
    body.divert(upload);
    upload.open().resume();
    streamed.resolve(upload);
  });
  const before = usedBytes();
  sendPieces(incoming);
  const upload = await streamed.promise;
  await new Promise((resolve) => setImmediate(resolve));
  expect(usedBytes() - before).toBeLessThan(8 * MIB);
  incoming.emit('end');
  expect(upload.canReopen).toBe(true);
  const again: Buffer[] = [];
  for await (const chunk of upload.open()) again.push(chunk as Buffer);
  expect(Buffer.concat(again).toString()).toBe('x'.repeat(PIECES));
});

it('a name that is scanned takes memory for its bytes, however small its pieces are', () => {
  const scanner = createBodyScanner();
  scanner.push(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'));
  const before = usedBytes();
  for (let count = 0; count < PIECES; count += 1) scanner.push(Buffer.alloc(1, 'x'));
  expect(usedBytes() - before).toBeLessThan(8 * MIB);
  scanner.push(Buffer.from('"}'));
  expect(scanner.end().messages[0]?.method).toHaveLength(PIECES);
});
