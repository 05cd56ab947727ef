/** `portcullis up` with exports: a syslog receiver and a collector get the events, by the delivery of webhooks. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OtlpReceiver, startOtlpReceiver } from '../../../../tests/support/otlp-receiver.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../../tests/support/portcullis-here.ts';
import { type SyslogReceiver, startSyslogReceiver } from '../../../../tests/support/syslog-receiver.ts';
import { runHere } from '../support/in-process.ts';

let syslog: SyslogReceiver;
let collector: OtlpReceiver;
let portcullis: PortcullisHere;

const exportsTo = () => [
  {
    name: 'siem',
    url: `syslog+tcp://127.0.0.1:${syslog.port}`,
    format: 'ocsf' as const,
    types: ['request.rejected'],
  },
  {
    name: 'collector',
    url: `${collector.url}/v1/logs`,
    format: 'otlp' as const,
    headers: { 'x-collector-key': 'key of the collector' },
    types: ['request.*'],
  },
];

beforeAll(async () => {
  [syslog, collector] = await Promise.all([startSyslogReceiver(), startOtlpReceiver()]);
  portcullis = await startPortcullisHere({ eventExports: exportsTo() });
});

afterAll(async () => {
  await portcullis.stop();
  await Promise.all([syslog.close(), collector.close()]);
});

/** Runs `portcullis webhooks` in a second terminal. */
async function webhooks(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-exports-'));
  const eventExports = exportsTo().map((one) => ({
    ...one,
    ...(one.headers && { headers: { 'x-collector-key': { variable: 'COLLECTOR_KEY' } } }),
  }));
  await writeFile(
    join(folder, 'portcullis.json'),
    JSON.stringify({ database: portcullis.database, eventExports }),
  );
  const ended = await runHere(['webhooks', ...args, '--config', 'portcullis.json'], { environment, folder });
  await rm(folder, { recursive: true });
  return ended;
}

it('delivers each event to both, in the format of each, and counts it', async () => {
  const body = new URLSearchParams({ grant_type: 'authorization_code', client_id: 'unknown' });
  await fetch(`${portcullis.url}/token`, { method: 'POST', body });
  await expect
    .poll(() => syslog.frames)
    .toMatchObject([{ id: 'request.rejected', message: { class_uid: 6003, status_id: 2 } }]);
  await expect.poll(() => JSON.stringify(collector.logs)).toContain('request.rejected');
  expect(collector.headers[0]?.get('x-collector-key')).toBe('key of the collector');
  const metrics = await (await fetch(`${portcullis.url}/metrics`)).text();
  for (const name of ['siem', 'collector'])
    expect(metrics).toContain(`portcullis_webhook_attempts_total{webhook="${name}",outcome="delivered"} 1`);
});

it('shows and tries them beside webhooks, without their headers', async () => {
  const listed = await webhooks(['list', '--json']);
  expect(JSON.parse(listed.output)).toMatchObject([{ name: 'siem', attempts: 0 }, { name: 'collector' }]);
  expect(listed.output).not.toContain('x-collector-key');
  const environment = { COLLECTOR_KEY: 'key of the collector' };
  expect(await webhooks(['test', 'siem'], environment)).toMatchObject({ code: 0 });
  await expect.poll(() => syslog.frames.at(-1)?.id).toBe('webhook.test');
  expect(await webhooks(['test', 'collector'], environment)).toMatchObject({ code: 0 });
  expect((await webhooks(['test', 'collector'])).errors).toContain('COLLECTOR_KEY, which is not set');
});
