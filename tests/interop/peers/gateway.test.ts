/** The gateway in front of protected servers of others: two users with two clients, each combination with its own tokens. */
import { describe, expect, it } from 'vitest';
import { createUserBackends, type GatewayServer } from '../../../packages/gateway/src/index.ts';
import {
  browserOf,
  emailOf,
  PASSWORD,
  registerClient,
  type Side,
  startSide,
} from '../../../packages/gateway/test/support/connections.ts';
import { defineTestServers } from '../../../packages/gateway/test/support/gateway.ts';
import { startBetterAuth } from './better-auth.ts';
import { startSdkDemo } from './sdk-demo-server.ts';
import { missing } from './stage.ts';
import { startWorker } from './workers-oauth-provider.ts';

/** A gateway in front of a protected backend at which each user connects an account. */
async function startGatewayTo(backend: string): Promise<Side> {
  let servers: readonly GatewayServer[] = [];
  return startSide({
    users: ['ada', 'bob'],
    servers: (origin) => {
      const credentials = { as: 'user' } as const;
      const written = { path: '/mcp', name: 'Peer', backend: { url: `${backend}/mcp`, credentials } };
      const rules = { scopes: { call: 'Call it' }, tools: { '*': ['call'] }, review: 'auto' } as const;
      servers = defineTestServers([{ ...written, ...rules }], origin);
      return servers;
    },
    options: () => ({ backends: createUserBackends({ servers: () => servers, clientName: 'Gateway' }) }),
  });
}

/** @returns the result, or the response without one */
async function call(gateway: Side, token: unknown): Promise<unknown> {
  const response = await fetch(`${gateway.origin}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{}}}',
  });
  const message = (await response.json()) as { readonly result?: unknown };
  return message.result ?? message;
}

/**
 * Signs in each user with each client, and calls with each of the four tokens, twice.
 * @param seen the log of the backend: `Authorization` of every request
 * @returns what the backend answered: user → answers
 */
async function callInEveryCombination(
  backend: string,
  seen: () => readonly string[] | Promise<readonly string[]>,
) {
  const gateway = await startGatewayTo(backend);
  const clients = [await registerClient(gateway, 'One'), await registerClient(gateway, 'Two')];
  const combinations: { readonly user: string; readonly token: unknown }[] = [];
  for (const user of ['ada', 'bob']) {
    const browser = browserOf(user);
    for (const client of clients) {
      const { access_token: token } = await client.redeem(await browser.allow(client.authorizationUrl()));
      combinations.push({ user, token });
    }
  }
  const answers: Record<string, unknown[]> = {};
  for (const { user, token } of [...combinations, ...combinations])
    answers[user] = [...(answers[user] ?? []), await call(gateway, token)];
  for (const answer of Object.values(answers).flat()) expect(answer).not.toHaveProperty('error');
  const log = (await seen()).map((sent) => sent.replace(/^\w+ /, ''));
  expect(log).toHaveLength(8);
  // The same token for the same combination, another for every other one, and nothing else.
  expect(log.slice(4)).toEqual(log.slice(0, 4));
  expect(new Set(log).size).toBe(4);
  for (const { token } of combinations) expect(log).not.toContain(token);
  return answers;
}

it('the demo server of the official SDK gets the own tokens of each user and client', async () => {
  const seen: string[] = [];
  const answers = await callInEveryCombination(await startSdkDemo(seen), () => seen);
  expect(answers['ada']).toEqual(Array(4).fill({ user: 'demo' }));
});

describe.skipIf(missing)('with packages that are installed on demand', () => {
  it('workers-oauth-provider gets the own tokens of each user and client', async () => {
    const origin = await startWorker();
    const seen = async () => (await (await fetch(`${origin}/log`)).json()) as readonly string[];
    const answers = await callInEveryCombination(origin, seen);
    for (const user of ['ada', 'bob'])
      expect(answers[user]).toEqual(Array(4).fill(expect.objectContaining({ user })));
  });

  it('better-auth gets the own tokens of each user and client', async () => {
    const seen: string[] = [];
    const origin = await startBetterAuth(seen);
    for (const name of ['ada', 'bob']) {
      const body = JSON.stringify({ email: emailOf(name), password: PASSWORD, name });
      const headers = { 'content-type': 'application/json', origin };
      expect(
        (await fetch(`${origin}/api/auth/sign-up/email`, { method: 'POST', headers, body })).status,
      ).toBe(200);
    }
    const answers = await callInEveryCombination(origin, () => seen);
    const [ada, bob] = ['ada', 'bob'].map(
      (name) => new Set((answers[name] ?? []).map((one) => (one as { readonly subject: string }).subject)),
    );
    expect([ada?.size, bob?.size]).toEqual([1, 1]);
    expect(ada).not.toEqual(bob);
  });
});
