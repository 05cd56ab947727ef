/** `portcullis doctor` walks through the gateway to the backend, and says whose failure it is. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMemoryStore } from '@portcullis/client';
import { afterEach, expect, it } from 'vitest';
import { examine } from '../../../packages/cli/src/doctor/examine.ts';
import type { Report } from '../../../packages/cli/src/doctor/report.ts';
import { owner } from '../../support/portcullis.ts';
import { startCommand } from '../../support/protect.ts';
import { createUser } from '../../support/user.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A backend that answers everything with a status. @param status `null`: it is down */
async function startBackend(status: number | null): Promise<string> {
  if (status === null) return 'http://127.0.0.1:1/mcp';
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function examineThrough(status: number | null): Promise<Report> {
  const gateway = await startCommand(['protect', await startBackend(status)]);
  closing.push(() => gateway.stop());
  const user = createUser(owner);
  const browser = { open: async (url: string) => void fetch(await user.authorize(url)) };
  const serverUrl = `${gateway.url}/mcp`;
  return examine({ client: { serverUrl, store: createMemoryStore(), browser }, signIn: true, version: '1' });
}

it.each([
  ['a backend that is down', null, 'backend', true],
  ["a backend that rejects the gateway's credential", 401, 'gateway', false],
] as const)('names who is responsible for %s', async (_name, status, owner, temporary) => {
  const { findings } = await examineThrough(status);
  expect(findings.filter(({ step }) => step === 'call')).toMatchObject([
    { owner, temporary, severity: 'error' },
  ]);
});
