/** Events by syslog: their frames, the connection, and what happens when it fails. */
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { reservePort } from '../../../../tests/support/ports.ts';
import { type SyslogReceiver, startSyslogReceiver } from '../../../../tests/support/syslog-receiver.ts';
import { createExportSender } from '../../src/event-exports/create-sender.ts';
import type { EventExport } from '../../src/event-exports/options.ts';
import { createSyslogSender } from '../../src/event-exports/syslog.ts';
import { eventOf } from './event-of.ts';

const fixture = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../../cli/test/fixtures/${name}`, import.meta.url)), 'utf8');
const certificate = { cert: fixture('localhost.pem'), key: fixture('localhost-key.pem') };

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function receive(given?: typeof certificate, port?: number): Promise<SyslogReceiver> {
  const receiver = await startSyslogReceiver(given, port);
  open.push(receiver);
  return receiver;
}

function senderTo(url: string, format: EventExport['format'] = 'json') {
  const sender = createExportSender({ name: 'siem', url, format }, {});
  open.push(sender);
  return sender;
}

it('an event is a message of RFC 5424, with its type and the JSON that a webhook has', async () => {
  const receiver = await receive();
  const { send } = senderTo(`syslog+tcp://127.0.0.1:${receiver.port}`);
  const event = eventOf('login.failed', { network: '192.0.2.1', text: 'Zoë\n<script> \u2028' });
  expect(await send(event)).toMatchObject({ kind: 'delivered' });
  await expect
    .poll(() => receiver.frames)
    .toMatchObject([
      {
        // Facility 13, warning.
        priority: 13 * 8 + 4,
        time: '2026-01-01T00:00:00.000Z',
        app: 'portcullis',
        id: 'login.failed',
        message: {
          id: event.id,
          type: 'login.failed',
          data: { network: '192.0.2.1', text: 'Zoë\n<script> \u2028' },
        },
      },
    ]);
});

it('events share one connection, and each is whole, however many are sent at once', async () => {
  const receiver = await receive();
  const { send } = senderTo(`syslog+tcp://127.0.0.1:${receiver.port}`, 'ocsf');
  const events = Array.from({ length: 50 }, (_, index) =>
    eventOf('grant.revoked', { text: 'x'.repeat(index * 100), index }),
  );
  const attempts = await Promise.all(events.map(send));
  expect(attempts.every(({ kind }) => kind === 'delivered')).toBe(true);
  await expect.poll(() => receiver.frames).toHaveLength(50);
  expect(receiver.connections()).toBe(1);
});

it('a connection that has ended is opened again, and a receiver that is down fails', async () => {
  const port = await reservePort();
  const { send } = senderTo(`syslog+tcp://127.0.0.1:${port}`);
  expect(await send(eventOf('grant.revoked'))).toMatchObject({
    kind: 'failed',
    reason: expect.stringContaining('ECONNREFUSED'),
  });
  const receiver = await receive(undefined, port);
  expect(await send(eventOf('grant.revoked'))).toMatchObject({ kind: 'delivered' });
  await expect.poll(() => receiver.frames).toHaveLength(1);
  receiver.disconnect();
  await expect
    .poll(async () => {
      await send(eventOf('client.added'));
      return receiver.connections();
    })
    .toBe(2);
  await expect.poll(() => receiver.frames.at(-1)?.id).toBe('client.added');
});

it('over TLS only a receiver with a trusted certificate gets an event', async () => {
  const receiver = await receive(certificate);
  const url = `syslog+tls://localhost:${receiver.port}`;
  expect(await senderTo(url).send(eventOf('grant.revoked'))).toMatchObject({
    kind: 'failed',
    reason: expect.stringContaining('certificate'),
  });
  expect(receiver.frames).toEqual([]);
  const before = getCACertificates('default');
  onTestFinished(() => setDefaultCACertificates(before));
  setDefaultCACertificates([...before, certificate.cert]);
  expect(await senderTo(url).send(eventOf('grant.revoked'))).toMatchObject({ kind: 'delivered' });
  await expect.poll(() => receiver.frames).toMatchObject([{ id: 'grant.revoked' }]);
  const other = senderTo(`syslog+tls://127.0.0.2:${receiver.port}`);
  expect(await other.send(eventOf('grant.revoked'))).toMatchObject({ kind: 'failed' });
});

it('a receiver that never begins TLS fails in time, and does not hold up a stop', async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void silent.close());
  const address = { isTls: true, host: '127.0.0.1', port: (silent.address() as AddressInfo).port };
  const sender = createSyslogSender(address, ({ id }) => ({ id }), 50);
  const sending = sender.send(eventOf('grant.revoked'));
  await sender.close();
  expect(await sending).toMatchObject({
    kind: 'failed',
    reason: 'The receiver did not respond in time.',
  });
  const receiver = await receive();
  const other = createSyslogSender({ ...address, isTls: false, port: receiver.port }, () => ({}), 50);
  open.push(other);
  expect(await other.send(eventOf('grant.revoked'))).toMatchObject({ kind: 'delivered' });
});
