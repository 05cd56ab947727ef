/** Measures the cost of the authorized fetch with a valid token, excluding the request itself. `node --conditions=portcullis-source bench/client.ts [calls]` */
import { createClient, createMemoryStore } from '../packages/client/src/index.ts';

const [calls = 200_000] = process.argv.slice(2).map(Number);
const serverUrl = 'https://mcp.example/mcp';

/** The target per call, in microseconds. */
const AIM = 5;

const store = createMemoryStore();
await store.save({
  key: { server: serverUrl, issuer: 'https://as.example', account: 'default', kind: 'user' },
  since: Date.now(),
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

/** CPU time of this process per call, in microseconds: other load on the machine does not count. */
async function cost(carry: Carry, make: () => RequestInit): Promise<number> {
  const start = process.cpuUsage();
  for (let call = 0; call < calls; call += 1) await carry(serverUrl, make());
  const { user, system } = process.cpuUsage(start);
  return (user + system) / calls;
}

for (const [kind, make] of Object.entries(kinds)) {
  const overheads: number[] = [];
  for (let round = 0; round < 5; round += 1)
    overheads.push((await cost(client.fetch, make)) - (await cost(bare, make)));
  // The first round warms up the JIT.
  const [least, most] = [Math.min(...overheads.slice(1)), Math.max(...overheads.slice(1))];
  console.log(
    `${kind.padEnd(18)} ${least.toFixed(2)} to ${most.toFixed(2)} µs of CPU a call (aim: under ${AIM}) ${most < AIM ? 'ok' : 'missed'}`,
  );
}
