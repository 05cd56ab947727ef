/** Names that clients choose, resolved by name servers that respond, deny, or stay silent. */
import { createSocket } from 'node:dgram';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createNameServerResolver,
  createOutboundFetch,
  OutboundError,
} from '../src/outbound/outbound-fetch.ts';

/** Response code and records of an answer; `null`: silence. */
type Answer = { readonly code: number; readonly records: readonly Buffer[] } | null;

const NXDOMAIN: Answer = { code: 3, records: [] };
const REFUSED: Answer = { code: 5, records: [] };
const SERVFAIL: Answer = { code: 2, records: [] };
const TYPE = { A: 1, NS: 2, AAAA: 28 };

function record(type: number, value: Buffer): Buffer {
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, value.length]);
  return Buffer.concat([head, value]);
}

const found = (type: number, value: Buffer): Answer => ({ code: 0, records: [record(type, value)] });

/** Starts a name server on loopback. @returns its address */
async function startNameServer(answer: (name: string, type: number) => Answer): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (message, { port, address }) => {
    const end = message.indexOf(0, 12) + 1;
    const labels: string[] = [];
    for (let at = 12; message[at] !== 0; at += (message[at] ?? 0) + 1)
      labels.push(message.toString('latin1', at + 1, at + 1 + (message[at] ?? 0)));
    const given = answer(labels.join('.'), message.readUInt16BE(end));
    if (given === null) return;
    const head = Buffer.from(message.subarray(0, 12));
    head.writeUInt16BE(0x8180 | given.code, 2);
    head.writeUInt16BE(given.records.length, 6);
    head.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([head, message.subarray(12, end + 4), ...given.records]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  onTestFinished(() => void socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

const ROOT = found(TYPE.NS, Buffer.from([1, 97, 0]));

describe('a resolver of names that clients choose', () => {
  it('resolves a name to its addresses of both families', async () => {
    const server = await startNameServer((_name, type) =>
      type === TYPE.A
        ? found(type, Buffer.from([93, 184, 216, 34]))
        : found(type, Buffer.from('26062800022000010248189325c81946', 'hex')),
    );
    const resolve = createNameServerResolver(2000, [server]);
    expect(await resolve('app.example')).toEqual(['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946']);
  });

  it('says that a name does not exist where the name servers know the root', async () => {
    const server = await startNameServer((name) => (name === '' ? ROOT : NXDOMAIN));
    const resolve = createNameServerResolver(2000, [server]);
    await expect(resolve('app.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it.each([
    ['stay silent', null],
    ['deny every name', NXDOMAIN],
    ['refuse', REFUSED],
    ['fail', SERVFAIL],
  ])('[AS-CIMD-62] blames its own network when the name servers %s', async (_what, answer) => {
    const server = await startNameServer(() => answer);
    const fetch = createOutboundFetch({ resolve: createNameServerResolver(400, [server]), timeout: 100_000 });
    const error: unknown = await fetch('https://app.example/c').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OutboundError);
    expect((error as OutboundError).reason).toBe('egress');
  });

  it.each([
    ['refuse', REFUSED, 'EREFUSED'],
    ['fail for', SERVFAIL, 'ESERVFAIL'],
  ])('[AS-CIMD-62] blames the name when the name servers %s it alone', async (_what, answer, code) => {
    const server = await startNameServer((name) =>
      name === '' ? ROOT : name === 'app.example' ? answer : NXDOMAIN,
    );
    const resolve = createNameServerResolver(2000, [server]);
    await expect(resolve('app.example')).rejects.toMatchObject({ code });
    const fetch = createOutboundFetch({ resolve, timeout: 100_000 });
    await expect(fetch('https://app.example/c')).rejects.toMatchObject({ reason: 'unreachable' });
  });

  it('one name whose server never responds does not keep another from being resolved', async () => {
    const server = await startNameServer((name, type) =>
      name.startsWith('slow')
        ? null
        : type === TYPE.A
          ? found(type, Buffer.from([93, 184, 216, 34]))
          : NXDOMAIN,
    );
    const resolve = createNameServerResolver(30_000, [server]);
    for (let index = 0; index < 20; index += 1) resolve(`slow-${index}.example`).catch(() => {});
    expect(await resolve('app.example')).toEqual(['93.184.216.34']);
  });
});
