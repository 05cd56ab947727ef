/** An external decision point (AuthZEN): asked after the rules, closed when it does not decide. */
import type { ServerResponse } from 'node:http';
import type { CallApprovals } from '@portcullis/authorization-server';
import { createOptionReport, readOption } from '@portcullis/authorization-server/options';
import { afterEach, describe, expect, it } from 'vitest';
import { createDecisionPoint } from '../src/index.ts';
import { defineDecisionPoint, type GatewayServerOptions, policySchema } from '../src/options.ts';
import { json, startBackend } from './support/backend.ts';
import { callOf, startSession } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Respond = Parameters<typeof startBackend>[0];

/** A decision point on a port of its own. */
async function startPoint(respond: Respond) {
  const { url, received, close } = await startBackend(respond);
  closing.push(close);
  return { url: new URL(url).origin, received };
}

const send = (response: ServerResponse, body: unknown, status = 200, headers = {}) =>
  void response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));

/** Permits what a name says. */
const permits =
  (isPermitted: (name: string) => boolean): Respond =>
  ({ url, body }, response) => {
    const { resource, evaluations } = JSON.parse(body);
    const decide = (one: { properties: { name: string } }) => ({
      decision: isPermitted(one.properties.name),
      context: { reason: 'by the books' },
    });
    if (url === '/access/v1/evaluation') return send(response, decide(resource));
    return send(response, {
      evaluations: evaluations.map((one: { resource: never }) => decide(one.resource)),
    });
  };

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'shop', version: '1' },
};
const TOOLS = ['search', 'order', 'wipe'].map((name) => ({ name, inputSchema: { type: 'object' } }));

interface ServerChanges {
  readonly tools?: NonNullable<GatewayServerOptions['tools']>;
  readonly resources?: NonNullable<GatewayServerOptions['resources']>;
  readonly approvals?: CallApprovals | null;
  /** Whether it is also a member of a merged server at `/all`. */
  readonly merged?: boolean;
}

async function behind(
  point: { readonly url: string },
  options: Readonly<Record<string, unknown>> = {},
  clock?: () => number,
  { tools, resources = {}, approvals = null, merged = false }: ServerChanges = {},
) {
  const backend = await startBackend(({ body }, response) => {
    const { id, method } = JSON.parse(body || '{}');
    if (id === undefined) return void response.writeHead(body === '' ? 405 : 202).end();
    const results: Readonly<Record<string, object>> = {
      initialize: INITIALIZED,
      'tools/list': { tools: TOOLS },
    };
    json(response, { jsonrpc: '2.0', id, result: results[method] ?? { content: [] } });
  });
  const report = createOptionReport();
  const read = readOption(policySchema(), { authzen: { url: point.url, ...options } }, ['policy'], report);
  const definition = defineDecisionPoint(read, report);
  if (definition === null || report.issues.length > 0) throw new Error(JSON.stringify(report.issues));
  const written: GatewayServerOptions = {
    path: '/mcp',
    backend: { url: backend.url },
    scopes: { 'mcp:read': 'Read' },
    tools: { search: ['mcp:read'], order: ['mcp:read'], wipe: false, ...tools },
    resources,
    review: 'auto',
  };
  const all = merged ? [{ path: '/all', merges: { m: '/mcp' } }] : [];
  const decisionPoint = createDecisionPoint(definition, clock);
  const gateway = await startGateway([written, ...all], { decisionPoint, approvals });
  closing.push(backend.close, gateway.close);
  return { gateway, backend };
}

const call = (name: string, given = '{}') =>
  `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"${name}","arguments":${given}}}`;
const post = (gateway: TestGateway, message: string | object, user = 'alice_app_mcp.read') =>
  gateway.send(user, { message: typeof message === 'string' ? JSON.parse(message) : message });
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

describe('a call that the rules allow', () => {
  it('is decided by the decision point, which is sent user, client, tool and circumstances', async () => {
    const point = await startPoint(permits((name) => name === 'search'));
    const { gateway } = await behind(point);
    expect((await post(gateway, call('search'))).status).toBe(200);
    expect(point.received.map(({ url }) => url)).toEqual(['/access/v1/evaluation']);
    expect(JSON.parse(point.received[0]?.body ?? '')).toMatchObject({
      subject: { type: 'user', id: 'alice', properties: { client: 'app' } },
      action: { name: 'tools/call' },
      resource: { type: 'tool', id: '/mcp#search', properties: { server: '/mcp', name: 'search' } },
      context: { scopes: ['mcp:read'], network: expect.stringContaining('127.0.0.1') },
    });
    expect(point.received[0]?.body).not.toContain('arguments');
  });

  it('is refused with the reason in its event, and nothing reaches the backend', async () => {
    const point = await startPoint(permits(() => false));
    const { gateway, backend } = await behind(point);
    const response = await post(gateway, call('order'));
    expect(response.status).toBe(403);
    expect(await response.text()).not.toContain('by the books');
    expect(backend.received).toEqual([]);
    expect(gateway.calls.at(-1)).toMatchObject({
      decision: 'denied',
      because: { rule: 'policy.authzen', reason: 'the decision point refused it: by the books' },
    });
  });

  it('is asked about by every reading of its URI, and refused where one is', async () => {
    const point = await startPoint(permits((name) => name.startsWith('file:///public/')));
    const { gateway, backend } = await behind(point, {}, undefined, {
      resources: { '*': ['mcp:read'] },
    });
    const read = (uri: string) => ({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } });
    expect((await post(gateway, read('file:///public/../etc/passwd'))).status).toBe(403);
    expect(point.received[0]?.body).toContain('/mcp#file:///etc/passwd');
    expect(backend.received).toEqual([]);
    expect((await post(gateway, read('file:///public/b/../a'))).status).toBe(200);
    expect((await post(gateway, read('file:///public/a'))).status).toBe(200);
    // A URI that is written plainly has one reading, which is known.
    expect(point.received).toHaveLength(2);
  });

  it('of a long batch is asked about in a few messages at once', async () => {
    const waiting: (() => void)[] = [];
    const point = await startPoint(({ body }, response) => {
      const evaluations = JSON.parse(body).evaluations.map(() => ({ decision: true }));
      waiting.push(() => send(response, { evaluations }));
    });
    const { gateway, backend } = await behind(point, {}, undefined, { resources: { '*': ['mcp:read'] } });
    const batch = Array.from({ length: 1000 }, (_, id) => ({
      ...{ jsonrpc: '2.0', id, method: 'resources/read', params: { uri: `file:///${id}` } },
    }));
    const response = post(gateway, batch);
    for (const count of [4, 4, 2]) {
      await expect.poll(() => waiting.length).toBe(count);
      for (const decide of waiting.splice(0)) decide();
    }
    // This backend responds to no batch.
    expect((await response).status).toBe(202);
    expect(backend.received.filter(({ body }) => body.includes('file:///999'))).toHaveLength(1);
  });

  it('is not asked about when the rules refuse it, and methods without a target never are', async () => {
    const point = await startPoint(permits(() => true));
    const { gateway } = await behind(point);
    expect((await post(gateway, call('wipe'))).status).toBe(403);
    expect((await post(gateway, call('order'), 'alice_app_mcp.write')).status).toBe(403);
    expect((await post(gateway, { jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(200);
    expect(point.received).toEqual([]);
  });
});

describe('a list', () => {
  it('is decided in one request, and has what is permitted', async () => {
    const point = await startPoint(permits((name) => name !== 'order'));
    const { gateway } = await behind(point);
    expect(await (await post(gateway, list)).json()).toMatchObject({
      result: { tools: [{ name: 'search' }] },
    });
    expect(point.received.map(({ url }) => url)).toEqual(['/access/v1/evaluations']);
    expect(JSON.parse(point.received[0]?.body ?? '').evaluations).toHaveLength(2);
  });

  it('is 503 when the decision point fails, and shows nothing', async () => {
    const { gateway } = await behind(await startPoint((_asked, response) => send(response, {}, 500)));
    const response = await post(gateway, list);
    expect(response.status).toBe(503);
    expect(await response.text()).not.toContain('search');
  });
});

describe('a call that needs an approval', () => {
  it('is refused before an approver is asked, and later without using what was approved', async () => {
    const state = { isPermitted: false, isApproved: false };
    const point = await startPoint(permits(() => state.isPermitted));
    const steps: string[] = [];
    const use = {
      ids: ['approval'],
      consume: async () => steps.push('consumed') > 0,
      reportUnknownOutcome: () => {},
    };
    const approvals: CallApprovals = {
      async request() {
        steps.push('requested');
        if (state.isApproved) return { kind: 'approved', use };
        return { kind: 'pending', url: 'https://as.example/approvals/1', isUnderWay: false };
      },
    };
    const tools = { order: { scopes: ['mcp:read'], approval: { by: 'user' as const } } };
    const { gateway, backend } = await behind(point, { cache: 0 }, undefined, { tools, approvals });
    expect((await post(gateway, call('order'))).status).toBe(403);
    expect(steps).toEqual([]);
    state.isPermitted = true;
    expect(await (await post(gateway, call('order'))).text()).toContain('approvals/1');
    Object.assign(state, { isPermitted: false, isApproved: true });
    expect((await post(gateway, call('order'))).status).toBe(403);
    expect([steps, backend.received]).toEqual([['requested'], []]);
    state.isPermitted = true;
    expect((await post(gateway, call('order'))).status).toBe(200);
    expect(steps).toEqual(['requested', 'requested', 'consumed']);
  });
});

describe('a merged server', () => {
  it('asks about calls and lists by the names of the member', async () => {
    const point = await startPoint(permits((name) => name === 'search'));
    const { gateway, backend } = await behind(point, {}, undefined, { merged: true });
    const scopes = 'alice_app_mcp.read';
    const client = await startSession(gateway, scopes, '/all');
    expect((await client.post(callOf('m__order'))).status).toBe(403);
    expect(backend.received.filter(({ body }) => body.includes('tools/call'))).toEqual([]);
    expect((await client.post(callOf('m__search'))).status).toBe(200);
    expect(JSON.parse(point.received.at(-1)?.body ?? '').resource.id).toBe('/mcp#search');
    const listed = await (await client.post(list)).text();
    expect([listed.includes('m__search'), listed.includes('m__order')]).toEqual([true, false]);
  });
});

describe('a decision point that does not decide', () => {
  it.each<[string, Respond]>([
    ['says nothing', () => undefined],
    ['fails', (_asked, response) => send(response, { decision: true }, 500)],
    ['is not there', (_asked, response) => send(response, { decision: true }, 404)],
    ['rejects the credentials', (_asked, response) => send(response, { decision: true }, 401)],
    ['accepts without a decision', (_asked, response) => send(response, { decision: true }, 202)],
    ['redirects', (_asked, response) => send(response, { decision: true }, 307, { location: '/elsewhere' })],
    ['lies with a text', (_asked, response) => send(response, { decision: 'true' })],
    ['lies with another case', (_asked, response) => send(response, { Decision: true })],
    ['decides in two ways', (_asked, response) => void response.end('{"decision":false,"decision":true}')],
    ['answers with a page', (_asked, response) => void response.end('<html>true</html>')],
    [
      'ends early',
      (_asked, response) => void response.writeHead(200, { 'content-length': 100 }).end('{"decision":true}'),
    ],
    [
      'does not end',
      (_asked, response) => void response.end(`{"decision":true,"x":"${'a'.repeat(2_000_000)}"}`),
    ],
  ])('that %s: 503 with Retry-After, and nothing reaches the backend', async (_what, respond) => {
    const point = await startPoint(respond);
    const { gateway, backend } = await behind(point, { timeout: 1 });
    const response = await post(gateway, call('search'));
    expect([response.status, response.headers.get('retry-after')]).toEqual([
      503,
      expect.stringMatching(/^\d+$/),
    ]);
    expect(response.headers.get('www-authenticate')).toBe(null);
    expect(backend.received).toEqual([]);
    expect(point.received.map(({ url }) => url)).toEqual(['/access/v1/evaluation']);
  });

  it('that is busy says when to come again', async () => {
    const point = await startPoint((_asked, response) => send(response, {}, 429, { 'retry-after': '17' }));
    const { gateway } = await behind(point);
    expect((await post(gateway, call('search'))).headers.get('retry-after')).toBe('17');
  });

  it('that has too few decisions for a list permits none of it', async () => {
    const few: Respond = (_asked, response) => send(response, { evaluations: [{ decision: true }] });
    const { gateway } = await behind(await startPoint(few));
    expect((await post(gateway, list)).status).toBe(503);
  });
});

describe('decisions in memory', () => {
  it('serve an equal call of the same user for a time, and no other', async () => {
    let now = 1_000_000;
    const point = await startPoint(permits(() => true));
    const { gateway } = await behind(point, { cache: 5 }, () => now);
    await post(gateway, call('search'));
    now += 4999;
    await post(gateway, call('search', '{"other":1}'));
    expect(point.received).toHaveLength(1);
    await post(gateway, call('order'));
    await post(gateway, call('search'), 'bob_app_mcp.read');
    await post(gateway, call('search'), 'alice_other_mcp.read');
    expect(point.received).toHaveLength(4);
    now += 1;
    await post(gateway, call('search'));
    expect(point.received).toHaveLength(5);
  });

  it('are made again when the clock stepped back: their age is unknown', async () => {
    let now = 1_000_000;
    const point = await startPoint(permits(() => true));
    const { gateway } = await behind(point, { cache: 5 }, () => now);
    await post(gateway, call('search'));
    now -= 1000;
    await post(gateway, call('search'));
    await post(gateway, call('search'));
    expect(point.received).toHaveLength(2);
  });

  it('are requested once for equal calls at the same time, also when that fails', async () => {
    const responses: ServerResponse[] = [];
    const point = await startPoint((_asked, response) => void responses.push(response));
    const { gateway } = await behind(point, { cache: 5, timeout: 30 });
    const calls = ['{}', '{"other":1}'].map((given) => post(gateway, call('search', given)));
    const other = post(gateway, call('order'));
    await expect.poll(() => responses.length).toBe(2);
    await expect.poll(() => gateway.countConnections()).toBe(3);
    const [first, second] = point.received.map(({ body }) => JSON.parse(body).resource.properties.name);
    expect([first, second].toSorted()).toEqual(['order', 'search']);
    for (const [index, response] of responses.splice(0).entries())
      send(response, {}, [first, second][index] === 'search' ? 500 : 200);
    expect((await Promise.all([...calls, other])).map(({ status }) => status)).toEqual([503, 503, 503]);
    const again = post(gateway, call('search'));
    await expect.poll(() => responses.length).toBe(1);
    for (const response of responses) send(response, { decision: true });
    expect((await again).status).toBe(200);
  });

  it('are none with a time of 0', async () => {
    const point = await startPoint(permits(() => true));
    const { gateway } = await behind(point, { cache: 0 });
    for (const _ of [1, 2]) await post(gateway, call('search'));
    expect(point.received).toHaveLength(2);
  });
});

describe('arguments', () => {
  it('are sent where operators want it, and decide', async () => {
    const small: Respond = ({ body }, response) =>
      send(response, { decision: JSON.parse(body).resource.properties.arguments.amount < 100 });
    const { gateway } = await behind(await startPoint(small), { arguments: true });
    expect((await post(gateway, call('order', '{"amount":50}'))).status).toBe(200);
    expect((await post(gateway, call('order', '{"amount":250}'))).status).toBe(403);
  });

  it('that parsers read differently are refused before anything is sent', async () => {
    const point = await startPoint(permits(() => true));
    const { gateway, backend } = await behind(point, { arguments: true });
    const response = await fetch(`${gateway.origin}/mcp`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer alice_app_mcp.read',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: call('order', '{"amount":50,"amount":5000}'),
    });
    expect(response.status).toBe(403);
    expect([point.received, backend.received]).toEqual([[], []]);
  });
});

/** Issues `token-1`, `token-2`, … for ten minutes each. */
async function startTokenIssuer() {
  let tokens = 0;
  const issuer = await startPoint((_asked, response) => {
    tokens += 1;
    send(response, { access_token: `token-${tokens}`, token_type: 'Bearer', expires_in: 600 });
  });
  const tokenEndpoint = `${issuer.url}/token`;
  const credentials = { as: 'application', tokenEndpoint, clientId: 'gate', clientSecret: 'secret' };
  return { issuer, credentials };
}

describe('credentials', () => {
  it('of a header are sent as they are', async () => {
    const point = await startPoint(permits(() => true));
    const { gateway } = await behind(point, { credentials: { as: 'header', value: 'Basic YTpi' } });
    await post(gateway, call('search'));
    expect(point.received[0]?.headers.authorization).toBe('Basic YTpi');
  });

  it('of an application are an access token, which is obtained again once it is rejected', async () => {
    let now = Date.now();
    const { issuer, credentials } = await startTokenIssuer();
    const point = await startPoint(({ headers }, response) =>
      headers.authorization === 'Bearer token-2'
        ? send(response, { decision: true })
        : send(response, {}, 401),
    );
    const { gateway } = await behind(
      point,
      { cache: 0, credentials: { ...credentials, scopes: ['decide'] } },
      () => now,
    );
    // A new one would be rejected as well.
    expect((await post(gateway, call('search'))).status).toBe(503);
    expect(point.received).toHaveLength(1);
    now += 2000;
    for (const _ of [1, 2]) expect((await post(gateway, call('search'))).status).toBe(200);
    expect(issuer.received.map(({ body }) => body)).toEqual(
      Array(2).fill('grant_type=client_credentials&scope=decide'),
    );
    expect(issuer.received[0]?.headers.authorization).toBe(`Basic ${btoa('gate:secret')}`);
    expect(point.received.map(({ headers }) => headers.authorization)).toEqual([
      ...Array(2).fill('Bearer token-1'),
      ...Array(2).fill('Bearer token-2'),
    ]);
  });

  it('of an application are obtained again before they expire, once for concurrent calls', async () => {
    let now = Date.now();
    const { issuer, credentials } = await startTokenIssuer();
    const point = await startPoint(permits(() => true));
    const { gateway } = await behind(point, { cache: 0, credentials }, () => now);
    await post(gateway, call('search'));
    now += 539_000;
    await post(gateway, call('search'));
    now += 1000;
    await Promise.all([1, 2, 3].map(() => post(gateway, call('search'))));
    expect(point.received.map(({ headers }) => headers.authorization)).toEqual([
      ...Array(2).fill('Bearer token-1'),
      ...Array(3).fill('Bearer token-2'),
    ]);
    expect(issuer.received[0]?.body).toBe('grant_type=client_credentials');
  });

  it('of an application that were replaced already are not replaced again by a late rejection', async () => {
    let now = Date.now();
    const { credentials } = await startTokenIssuer();
    const late: ServerResponse[] = [];
    const point = await startPoint(({ headers }, response) => {
      if (headers.authorization !== 'Bearer token-1') {
        send(response, { decision: true });
        for (const other of late.splice(0)) send(other, {}, 401);
      } else if (late.push(response) === 2) {
        now += 2000;
        send(late.shift() ?? response, {}, 401);
      }
    });
    const { gateway } = await behind(point, { cache: 0, credentials }, () => now);
    await Promise.all([1, 2].map(() => post(gateway, call('search'))));
    expect(point.received.map(({ headers }) => headers.authorization)).toEqual([
      ...Array(2).fill('Bearer token-1'),
      ...Array(2).fill('Bearer token-2'),
    ]);
  });
});

describe('the options', () => {
  it.each([
    [{ url: 'http://pdp.example' }, 'policy.authzen.url: must be an https URL; http only on loopback'],
    [{ url: 'https://a.example?x=1' }, 'policy.authzen.url: must have neither a query nor a fragment'],
    [{ url: 'https://a.example?' }, 'policy.authzen.url: must have neither a query nor a fragment'],
    [
      { url: 'https://a.example', credentials: { as: 'header' } },
      'policy.authzen.credentials.value: is required with `as: header`',
    ],
    [
      { url: 'https://a.example', credentials: { as: 'none', clientId: 'x' } },
      'policy.authzen.credentials.clientId: has no meaning with `as: none`',
    ],
    [
      { url: 'https://a.example', credentials: { as: 'token', value: 'x' } },
      'policy.authzen.credentials.as: must be one of none, header, application',
    ],
  ])('%j are refused', (authzen, issue) => {
    const report = createOptionReport();
    defineDecisionPoint(readOption(policySchema(), { authzen }, ['policy'], report), report);
    expect(report.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)).toEqual([issue]);
  });
});
