/** Bodies that are parsed: their values take more memory than their bytes. */
import { expect, it, onTestFinished } from 'vitest';
import { lastMessage, sendStateless } from './support/client.ts';
import { startGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

async function setUp() {
  const limits = { callsPerMinute: false as const };
  const gateway = await startGateway([{ path: '/mcp', name: 'Tiny', backend: { command: TINY }, limits }]);
  onTestFinished(() => gateway.close());
  return gateway;
}

/** Arguments with about as many values. */
const valuesOf = (count: number) => ({ arguments: { list: Array.from({ length: count }, () => ({})) } });
/** Five such bodies are less than a user has, six are more. */
const MANY = valuesOf(99_000);

it('a body of more values than a process may get is refused, and one of fewer is not', async () => {
  const gateway = await setUp();
  const call = (count: number) =>
    sendStateless(gateway, 'alice', 'tools/call', { name: 'pid', ...valuesOf(count) });
  const refused = await call(100_000);
  expect([refused.status, await refused.text()]).toEqual([413, expect.stringContaining('100000 values')]);
  expect((await call(99_900)).status).toBe(200);
  expect(gateway.calls).toMatchObject([{ outcome: 'refused' }, { outcome: 'answered' }]);
});

it('calls under way are limited by the memory of their values', async () => {
  const gateway = await setUp();
  const client = new AbortController();
  onTestFinished(() => client.abort());
  const call = (name: string, user = 'alice') =>
    sendStateless(gateway, user, 'tools/call', { name, ...MANY }, '/mcp', client.signal);
  for (let count = 0; count < 5; count += 1) call('hang').catch(() => null);
  await expect.poll(async () => (await call('pid')).status).toBe(429);
  expect((await call('pid', 'bob')).status).toBe(200);
  client.abort();
  const small = () => sendStateless(gateway, 'alice', 'tools/call', { name: 'pid', ...MANY });
  await expect.poll(async () => (await small()).status).toBe(200);
});

it('calls that wait for input are limited by the memory of their values', async () => {
  const gateway = await setUp();
  const ask = async () =>
    lastMessage(await sendStateless(gateway, 'alice', 'tools/call', { name: 'ask', ...MANY }));
  for (let count = 0; count < 5; count += 1)
    expect(await ask()).toMatchObject({ result: { resultType: 'input_required' } });
  expect(await ask()).toMatchObject({ error: { message: 'Too many calls wait for input.' } });
  const short = await sendStateless(gateway, 'alice', 'tools/call', { name: 'ask' });
  expect(await lastMessage(short)).toMatchObject({ result: { resultType: 'input_required' } });
});
