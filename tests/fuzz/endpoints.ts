/** Whole endpoints, on a store of their own: whatever comes in, the answer is one that OAuth knows. */
import { createAuthorizationServer } from '@portcullis/authorization-server';
import { openStore } from '@portcullis/store';
import { CLIENTS, ISSUER, MASTER_KEY, RESOURCES } from '../resilience/world.ts';
import { seeds } from './seeds.ts';
import { bytesOf, must, type Target } from './targets.ts';

const FORM = 'application/x-www-form-urlencoded';

const ways: readonly (readonly [
  name: string,
  seeds: readonly string[],
  (input: string) => Request | null,
])[] = [
  ['GET /authorize', seeds.form, (input) => get(`/authorize?${input}`)],
  ['GET /login', seeds.form, (input) => get(`/login?${input}`)],
  ['POST /login', seeds.form, (input) => post('/login', FORM, input)],
  ['POST /consent', seeds.form, (input) => post('/consent', FORM, input)],
  ['POST /token', seeds.form, (input) => post('/token', FORM, input)],
  ['POST /revoke', seeds.form, (input) => post('/revoke', FORM, `token=a.b.c&${input}`)],
  ['POST /introspect', seeds.form, (input) => post('/introspect', FORM, `token=a~1~b&${input}`)],
  ['POST /register', seeds.clients, (input) => post('/register', 'application/json', input)],
  ['any path', seeds.urls, (input) => get(`/${input}`)],
];

function get(target: string): Request | null {
  const url = URL.parse(target, ISSUER);
  return url?.origin === ISSUER ? new Request(url) : null;
}

function post(path: string, type: string, input: string): Request {
  const headers = { 'content-type': type, origin: ISSUER };
  return new Request(ISSUER + path, { method: 'POST', headers, body: bytesOf(input) as unknown as string });
}

export async function createEndpointTargets(): Promise<readonly Target[]> {
  const failures: string[] = [];
  const server = await createAuthorizationServer({
    issuer: ISSUER,
    store: await openStore(':memory:'),
    masterKey: MASTER_KEY,
    resources: RESOURCES,
    clients: CLIENTS,
    rateLimits: false,
    auditRetention: false,
    metadataDocuments: false,
    events: (event) => {
      if (event.type === 'request.failed') failures.push(event.reason);
    },
  });
  return ways.map(([name, examples, requestOf]) => ({
    name,
    seeds: examples,
    async read(input) {
      const request = requestOf(input);
      if (request === null) return;
      const response = await server.handle(request, { address: '192.0.2.1' });
      await response.text();
      must(response.status < 500, `it fails: ${failures.splice(0).join()}`);
      if (response.headers.get('content-type') !== 'application/json' || response.status < 400) return;
      must(response.headers.has('cache-control'), 'a refusal is not stored');
    },
  }));
}
