/** Whether backends can be reached: what probes find out before any request does, and what requests do then. */

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createAddresses } from '../src/addresses/addresses.ts';
import { startProbes } from '../src/addresses/probes.ts';
import { createGauge } from '../src/gauge.ts';
import { answerAll, json, startBackend, type TestBackend } from './support/backend.ts';
import { INITIALIZE } from './support/client.ts';
import { defineTestServers, startGateway, type TestGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const open: { close(): Promise<void> }[] = [];

async function started<A extends { close(): Promise<void> }>(starting: Promise<A>): Promise<A> {
  const one = await starting;
  open.push(one);
  return one;
}

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** A backend whose port no other process takes while it is down. */
async function restartable(): Promise<{ readonly url: string; start(): Promise<TestBackend> }> {
  const first = await startBackend(answerAll);
  await first.close();
  const { port } = new URL(first.url);
  return { url: first.url, start: () => started(startBackend(answerAll, Number(port))) };
}

function statusOf({ gateway }: TestGateway): readonly string[] {
  return gateway.health().map(({ status }) => status);
}

describe.each(['http', 'sse'] as const)('a backend with transport %s', (transport) => {
  it('that is down is shown before any request, and again as up without one; no request reaches it', async () => {
    const backend = await restartable();
    const gateway = await started(
      startGateway([{ path: '/mcp', name: 'Files', backend: { url: backend.url, transport } }], {
        probeInterval: 100,
      }),
    );
    await expect.poll(() => statusOf(gateway)).toEqual(['down']);
    const refused = await gateway.send('alice', { message: INITIALIZE });
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.text()).toContain('Files');
    const running = await backend.start();
    await expect.poll(() => statusOf(gateway)).toEqual(['up']);
    expect(running.received).toEqual([]);
    await running.close();
    await expect.poll(() => statusOf(gateway)).toEqual(['down']);
    const types = gateway.events.map(({ type }) => type);
    expect(types).toEqual(['backend.failed', 'backend.recovered', 'backend.failed']);
  });
});

it('a probe leaves an address alone that has just responded', async () => {
  const backend = await started(startBackend(answerAll));
  const gateway = await started(
    startGateway([{ path: '/mcp', backend: { url: backend.url } }], { probeInterval: 60_000 }),
  );
  expect((await gateway.send('alice')).status).toBe(200);
  await backend.close();
  await new Promise((resolve) => setTimeout(resolve, 1300));
  expect(statusOf(gateway)).toEqual(['up']);
});

describe('several addresses', () => {
  const named = (name: string) =>
    started(
      startBackend(({ body }, response) =>
        json(response, { jsonrpc: '2.0', id: JSON.parse(body).id, result: { name } }),
      ),
    );
  const asked = async (gateway: TestGateway) =>
    ((await (await gateway.send('alice')).json()) as { readonly result?: { readonly name: string } }).result
      ?.name;

  it('fail over to the next without a request that waits, and back once the first is there again', async () => {
    const first = await restartable();
    const second = await named('second');
    const gateway = await started(
      startGateway([{ path: '/mcp', backend: { url: [first.url, second.url] } }], { probeInterval: 100 }),
    );
    await expect.poll(() => gateway.events.length).toBe(1);
    expect(await asked(gateway)).toBe('second');
    expect(statusOf(gateway)).toEqual(['up']);
    const running = await first.start();
    await expect.poll(async () => (await asked(gateway)) ?? 'first').toBe('first');
    expect(running.received.length).toBeGreaterThan(0);
  });

  it('are all tried by a request when each of them was down', async () => {
    const [first, second] = [await restartable(), await restartable()];
    const gateway = await started(
      startGateway([{ path: '/mcp', backend: { url: [first.url, second.url] } }], { probeInterval: 60_000 }),
    );
    expect((await gateway.send('alice')).status).toBe(503);
    expect(statusOf(gateway)).toEqual(['down']);
    await second.start();
    await expect.poll(async () => (await gateway.send('alice')).status).toBe(200);
  });
});

it('probes of 200 backends that never respond are a bounded number at once, and none waits for another', async () => {
  let connections = 0;
  const listener = createServer(() => {
    connections += 1;
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`;
  const slots = createGauge(() => 4);
  let most = 0;
  const counting = {
    take: (key: string) => {
      const release = slots.take(key);
      most = Math.max(most, slots.total);
      return release;
    },
    get total() {
      return slots.total;
    },
  };
  const stops = Array.from({ length: 200 }, (_, index) => {
    const [server] = defineTestServers([{ path: `/s${index}`, backend: { url } }], 'http://127.0.0.1');
    if (server?.backend?.kind !== 'http') throw new Error('no HTTP backend');
    const addresses = createAddresses(server.backend, server, () => {});
    return startProbes(addresses, server, { interval: 60_000, slots: counting });
  });
  await expect.poll(() => connections).toBe(200);
  for (const stop of stops) stop();
  expect(most).toBeLessThanOrEqual(4);
  listener.close();
});

it('a process of a stdio server is not started by a probe', async () => {
  const gateway = await started(
    startGateway([{ path: '/mcp', backend: { command: [...TINY] } }], { probeInterval: 50 }),
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(gateway.events.filter(({ line }) => String(line).includes('the process'))).toEqual([]);
  expect(statusOf(gateway)).toEqual(['up']);
});
