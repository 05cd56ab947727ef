/** What the authorized fetch costs on a valid token, the request itself left out. `node --conditions=source bench/client.ts [calls]` */
import { createClient, createMemoryStore } from '../packages/client/src/index.ts';

const [calls = 200_000] = process.argv.slice(2).map(Number);
const serverUrl = 'https://mcp.example/mcp';

/** The aim for a call, in microseconds. */
const AIM = 5;

const store = createMemoryStore();
await store.save({
  key: { server: serverUrl, issuer: 'https://as.example', account: 'default' },
  registration: null,
  tokens: {
    accessToken: 'x'.repeat(900),
    scheme: 'Bearer',
    expiresAt: Date.now() + 3_600_000,
    obtainedAt: Date.now(),
    refreshToken: 'r',
    scopes: [],
    requestedScopes: [],
    resource: serverUrl,
    tokenEndpoint: 'https://as.example/token',
    clientId: 'c',
    dpopKey: null,
  },
});

type Carry = (input: string, init: RequestInit) => Promise<Response>;

const answer = new Response('ok');
const bare: Carry = async () => answer;
const client = createClient({ serverUrl, store, fetch: async () => answer });

const fields = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
  'mcp-protocol-version': '2025-11-25',
};
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami' } });
const kinds: Readonly<Record<string, () => RequestInit>> = {
  'plain headers': () => ({ method: 'POST', headers: { ...fields }, body }),
  'a Headers object': () => ({ method: 'POST', headers: new Headers(fields), body }),
};

/** Microseconds a call. */
async function time(carry: Carry, make: () => RequestInit): Promise<number> {
  const start = performance.now();
  for (let call = 0; call < calls; call += 1) await carry(serverUrl, make());
  return ((performance.now() - start) * 1000) / calls;
}

for (const [kind, make] of Object.entries(kinds)) {
  const overheads: number[] = [];
  for (let round = 0; round < 4; round += 1)
    overheads.push((await time(client.fetch, make)) - (await time(bare, make)));
  const least = Math.min(...overheads);
  console.log(
    `${kind.padEnd(18)} ${least.toFixed(2)} µs a call (aim: under ${AIM}) ${least < AIM ? 'ok' : 'missed'}`,
  );
}
