/** `portcullis up` with a webhook, whose requests the library of Standard Webhooks verifies, and `portcullis webhooks` beside it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ListeningServer, listen } from '@portcullis/http/node';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PortcullisHere, startPortcullisHere } from '../../../../tests/support/portcullis-here.ts';
import { runHere } from '../support/in-process.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

interface Received {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const received: Received[] = [];
let status = 204;
let receiver: ListeningServer;
let portcullis: PortcullisHere;

async function receive(request: Request): Promise<Response> {
  const headers = Object.fromEntries(request.headers);
  const event = new Webhook(SECRET).verify(await request.text(), headers) as Received;
  if (status === 204) received.push(event);
  return new Response(null, { status });
}

beforeAll(async () => {
  receiver = await listen(async () => ({ fetch: receive }), { port: 0, host: '127.0.0.1' });
  const url = `http://127.0.0.1:${receiver.port}/events`;
  portcullis = await startPortcullisHere({
    webhooks: [{ name: 'siem', url, secret: SECRET, types: ['request.rejected'] }],
  });
});

afterAll(async () => {
  await portcullis.stop();
  await receiver.close(0);
});

/** Runs `portcullis webhooks` in a second terminal. */
async function webhooks(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  url = `http://127.0.0.1:${receiver.port}/events`,
) {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-webhooks-'));
  const secret = { variable: 'SIEM_SECRET' };
  const configuration = { database: portcullis.database, webhooks: [{ name: 'siem', url, secret }] };
  await writeFile(join(folder, 'portcullis.json'), JSON.stringify(configuration));
  const ended = await runHere(['webhooks', ...args, '--config', 'portcullis.json'], { environment, folder });
  await rm(folder, { recursive: true });
  return ended;
}

async function reject(): Promise<void> {
  const body = new URLSearchParams({ grant_type: 'authorization_code', client_id: 'unknown' });
  await fetch(`${portcullis.url}/token`, { method: 'POST', body });
}

const list = async () => JSON.parse((await webhooks(['list', '--json'])).output);

it('delivers events with a signature that the library verifies', async () => {
  await reject();
  await expect
    .poll(() => received)
    .toMatchObject([{ type: 'request.rejected', data: { endpoint: '/token', error: 'invalid_client' } }]);
  expect(Date.parse(received[0]?.timestamp ?? '')).not.toBeNaN();
});

it('says while the receiver fails why, and delivers when a replay ends the wait', async () => {
  status = 503;
  await reject();
  await expect
    .poll(list)
    .toMatchObject([{ name: 'siem', lastError: 'status 503', waitingSince: expect.any(Number) }]);
  expect((await webhooks(['list'])).output).toMatch(/attempts? failed \(status 503\), next at 2/);
  await expect.poll(() => portcullis.output()).toContain('webhook.failed');
  expect(received).toHaveLength(1);
  status = 204;
  expect(await webhooks(['replay', 'siem', '--since', '1h'])).toMatchObject({ code: 0 });
  await expect.poll(() => new Set(received.map(({ id }) => id)).size).toBe(2);
  await expect.poll(list).toMatchObject([{ attempts: 0, lastError: null, waitingSince: null }]);
});

it('sends a test event where the secret is known, and says what the receiver responds', async () => {
  const environment = { SIEM_SECRET: SECRET };
  expect(await webhooks(['test', 'siem'], environment)).toMatchObject({ code: 0 });
  expect(received.at(-1)).toMatchObject({ type: 'webhook.test' });
  status = 401;
  const refused = await webhooks(['test', 'siem'], environment);
  expect(refused.errors).toContain('did not accept the event: status 401');
  expect(refused.code).not.toBe(0);
  const down = await webhooks(['test', 'siem'], environment, 'http://127.0.0.1:9/');
  expect(down.errors).toContain('The server could not be reached: connection refused.');
  const unknown = await webhooks(['test', 'other'], environment);
  expect(unknown.errors).toContain('There is no webhook other: there is siem');
  const unset = await webhooks(['test', 'siem']);
  expect(unset.errors).toContain('SIEM_SECRET, which is not set');
});
