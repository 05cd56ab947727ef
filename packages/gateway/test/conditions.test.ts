/** Rules with conditions on the call and requirements on the sign-in, from the configuration to the response and the event. */
import { createOptionReport, readOption } from '@portcullis/authorization-server/options';
import { loadConditions } from '@portcullis/policy';
import { afterEach, describe, expect, it } from 'vitest';
import { createCallAudit } from '../src/index.ts';
import { checkConditions, type GatewayServerOptions, serversSchema } from '../src/options.ts';
import { answerAll, json, startBackend } from './support/backend.ts';
import { lastMessage, sendStateless, startSession } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function behind(tools: object, more: object = {}) {
  const backend = await startBackend(answerAll);
  closing.push(backend.close);
  const server = {
    path: '/mcp',
    name: 'Bank',
    backend: { url: backend.url },
    review: 'auto',
    tools,
    ...more,
  };
  const gateway = await startGateway([server as unknown as GatewayServerOptions], {
    conditions: await loadConditions(),
  });
  closing.push(gateway.close);
  return { backend, gateway };
}

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'x', version: '1' },
};

/** A call whose arguments are written as they are. */
const transfer = (given: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"transfer","arguments":${given}}}`;

async function eventOf(gateway: TestGateway) {
  await expect.poll(() => gateway.calls.length).toBe(1);
  const [record] = gateway.calls;
  if (record === undefined) throw new Error('no call');
  return new Promise<object>((resolve) => createCallAudit(resolve).record(record));
}

const WHEN = { transfer: { scopes: [], when: 'call.arguments.amount <= 100' } };

describe('a condition on the target of an operation', () => {
  const IN_PUBLIC = { when: "call.resource.startsWith('file:///public/')" };
  const read = (uri: string) => ({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } });

  it.each([
    ['of its resource', { resources: { '*': IN_PUBLIC } }],
    ['of its method', { resources: { '*': [] }, methods: { 'resources/read': IN_PUBLIC } }],
  ])('has to hold for every reading of a URI, in the rule %s', async (_, rules) => {
    const { backend, gateway } = await behind({}, rules);
    const escapes = [
      'file:///etc/passwd',
      'file:///public/../etc/passwd',
      'file:///public/%2e%2e/etc/passwd',
      'file:///public/%252e%252e/etc/passwd',
      'file:///public/..\\etc/passwd',
    ];
    for (const uri of escapes) {
      const response = await gateway.send('alice', { message: read(uri) });
      expect([uri, response.status]).toEqual([uri, 403]);
    }
    expect(backend.received).toEqual([]);
    for (const uri of ['file:///public/a', 'file:///public/b/../a', 'file:///public/%C3%BC?x#y'])
      expect((await gateway.send('alice', { message: read(uri) })).status).toBe(200);
    expect(backend.received).toHaveLength(3);
  });

  it('that a reading does not meet has an event with that reading', async () => {
    const { gateway } = await behind({}, { resources: { '*': IN_PUBLIC } });
    await gateway.send('alice', { message: read('file:///public/../etc/passwd') });
    expect(await eventOf(gateway)).toMatchObject({
      decision: 'denied',
      rule: 'servers[0].resources["*"].when',
      target: 'file:///public/../etc/passwd',
      values: '{"call.resource":"file:///etc/passwd"}',
    });
  });

  it.each([
    ['tool', 'tools/call', 'tools'],
    ['prompt', 'prompts/get', 'prompts'],
  ])('has to hold for every reading of the name of a %s', async (kind, method, table) => {
    const { backend, gateway } = await behind({}, { [table]: { '*': { when: `call.${kind} != 'delete'` } } });
    const send = (name: string) =>
      gateway.send('alice', { message: { jsonrpc: '2.0', id: 1, method, params: { name } } });
    for (const name of ['delete', 'ｄelete', 'delete\u200b', 'dele\u00adte'])
      expect((await send(name)).status).toBe(403);
    expect(backend.received).toEqual([]);
    expect((await send('lösche')).status).toBe(200);
  });
});

describe('a condition on arguments', () => {
  const messageOf = async (gateway: TestGateway, given: string) => {
    const response = await gateway.send('alice', { message: transfer(given) });
    return [response.status, ((await response.json()) as { error?: { message: string } }).error?.message];
  };

  it('that a call does not meet has an error about the arguments, for the tool is listed', async () => {
    const { backend, gateway } = await behind(WHEN);
    const text = 'The tool "transfer" is not allowed with these arguments.';
    expect(await messageOf(gateway, '{"amount":101}')).toEqual([403, text]);
    expect(backend.received).toEqual([]);
    expect(await messageOf(gateway, '{"amount":100}')).toEqual([200, undefined]);
  });

  it('has the error of a hidden tool where another rule hides the tool from the caller', async () => {
    const hidden = { transfer: { ...WHEN.transfer, groups: ['bank'] } };
    const { gateway } = await behind(hidden);
    const text = 'The tool "transfer" is not available to you here.';
    for (const amount of [100, 101])
      expect(await messageOf(gateway, `{"amount":${amount}}`)).toEqual([403, text]);
  });

  it.each([
    ['as it is', '{"amount":100}'],
    ['with whitespace', '{ "amount" : 1e2 }'],
    ['after others', '{"to":"x","amount":100.0}'],
  ])('allows a call that meets it, whose bytes are sent on %s', async (_, given) => {
    const { backend, gateway } = await behind(WHEN);
    expect((await gateway.send('alice', { message: transfer(given) })).status).toBe(200);
    expect(backend.received[0]?.body).toBe(transfer(given));
  });

  it.each([
    ['a larger amount', '{"amount":101}', 'the condition does not hold'],
    ['no amount', '{}', 'No such key: amount'],
    ['a text', '{"amount":"1"}', 'no such overload'],
    ['the member twice', '{"amount":1,"amount":1000}', 'repeats a member'],
    ['the member in other case', '{"amount":1,"Amount":1000}', 'other case or form'],
    ['an escaped name', '{"amount":1,"\\u0061mount":1000}', 'escape'],
    ['a number beyond doubles', '{"amount":-1e999}', 'too large'],
  ])('refuses %s, and nothing reaches the backend', async (_, given, reason) => {
    const { backend, gateway } = await behind(WHEN);
    const response = await gateway.send('alice', { message: transfer(given) });
    expect(response.status).toBe(403);
    expect(await response.text()).not.toContain('amount');
    expect(backend.received).toEqual([]);
    expect(await eventOf(gateway)).toMatchObject({
      decision: 'denied',
      rule: 'servers[0].tools["transfer"].when',
      reason: expect.stringContaining(reason),
    });
  });

  it.each([
    ['Arguments', '{"name":"transfer","arguments":{"amount":1},"Arguments":{"amount":1000}}'],
    ['arguments with the long s', '{"name":"transfer","arguments":{"amount":1},"argument\\u017f":{}}'],
  ])('is not bypassed by %s, and nothing reaches the backend', async (_, params) => {
    const { backend, gateway } = await behind(WHEN);
    const message = (given: string) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${given}}`;
    const response = await gateway.send('alice', { message: message(params) });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('The member arguments is written in other case.');
    expect(backend.received).toEqual([]);
    const plain = message('{"name":"transfer","arguments":{"amount":1,"note":"Arguments"}}');
    expect((await gateway.send('alice', { message: plain })).status).toBe(200);
  });

  describe('that is not met', () => {
    const rule = { transfer: { when: "call.arguments.to.iban == 'DE1' && user.id == 'alice'" } };
    const given = transfer('{"to":{"iban":"DE2"},"password":"s3cret"}');

    it('has an event with what it read, but for arguments', async () => {
      const { gateway } = await behind(rule);
      await gateway.send('alice', { message: given });
      const event = await eventOf(gateway);
      expect(event).toMatchObject({ decision: 'denied', values: '{"user.id":"alice"}' });
      expect(JSON.stringify(event)).not.toContain('DE2');
    });

    it.each([
      ['with its arguments where the server keeps them', [], 'DE2'],
      ['without an argument that the server redacts', ['to.iban'], '[redacted]'],
      ['without an argument in an object that the server redacts', ['to'], '[redacted]'],
      ['with an argument beside one that the server redacts', ['to.iban.country', 'iban'], 'DE2'],
    ])('has an event %s', async (_, redact, value) => {
      const { gateway } = await behind(rule, { keepArguments: { redact } });
      await gateway.send('alice', { message: given });
      expect(await eventOf(gateway)).toMatchObject({
        values: `{"call.arguments.to.iban":"${value}","user.id":"alice"}`,
      });
    });

    it('has an event without values if it reads arguments alone', async () => {
      const { gateway } = await behind(WHEN);
      await gateway.send('alice', { message: transfer('{"amount":250}') });
      expect(await eventOf(gateway)).not.toHaveProperty('values');
    });
  });

  it('decides about a long body as a whole, where others are streamed', async () => {
    const { backend, gateway } = await behind(WHEN);
    const padding = 'x'.repeat(300_000);
    const late = (amount: number) => transfer(`{"padding":"${padding}","amount":${amount}}`);
    expect((await gateway.send('alice', { message: late(101) })).status).toBe(403);
    expect(backend.received).toEqual([]);
    expect((await gateway.send('alice', { message: late(100) })).status).toBe(200);
    expect(backend.received[0]?.body).toBe(late(100));
  });

  it('leaves its tool in lists, and one on the caller only for those who meet it', async () => {
    const lists = ['transfer', 'audit'].map((name) => ({ name, inputSchema: { type: 'object' } }));
    const backend = await startBackend((_received, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: lists } }));
    });
    closing.push(backend.close);
    const tools = { ...WHEN, audit: { when: "user.id == 'alice'" } };
    const server = { path: '/mcp', backend: { url: backend.url }, review: 'auto', tools };
    const gateway = await startGateway([server as unknown as GatewayServerOptions], {
      conditions: await loadConditions(),
    });
    closing.push(gateway.close);
    const namesFor = async (user: string) => {
      const response = await gateway.send(user, { message: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
      const { result } = (await response.json()) as { result: { tools: { name: string }[] } };
      return result.tools.map(({ name }) => name);
    };
    expect([await namesFor('alice'), await namesFor('bob')]).toEqual([['transfer', 'audit'], ['transfer']]);
  });
});

describe('a condition on the network', () => {
  it('decides in the lists of a server that merges others as in their own', async () => {
    const backend = await startBackend(({ method, body }, response) => {
      if (method !== 'POST') return void response.writeHead(405).end();
      const { id } = JSON.parse(body || '{}');
      const listed = ['near', 'far'].map((name) => ({ name, inputSchema: { type: 'object' } }));
      const result = { ...INITIALIZED, tools: listed };
      if (id === undefined) response.writeHead(202).end();
      else json(response, { jsonrpc: '2.0', id, result });
    });
    closing.push(backend.close);
    const tools = {
      near: { when: "request.network == '127.0.0.1'" },
      far: { when: "request.network == ''" },
    };
    const servers = [
      { path: '/mcp', backend: { url: backend.url }, review: 'auto', tools },
      { path: '/all', merges: { one: '/mcp' } },
    ];
    const gateway = await startGateway(servers as unknown as GatewayServerOptions[], {
      conditions: await loadConditions(),
    });
    closing.push(gateway.close);
    const namesOf = async (response: Response) => {
      const { result } = (await lastMessage(response)) as { result: { tools: { name: string }[] } };
      return result.tools.map(({ name }) => name);
    };
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect(await namesOf(await gateway.send('alice', { message: list }))).toEqual(['near']);
    const merged = await startSession(gateway, 'alice', '/all');
    expect(await namesOf(await merged.post(list))).toEqual(['one__near']);
    const stateless = await sendStateless(gateway, 'alice', 'tools/list', {}, '/all');
    expect(await namesOf(stateless)).toEqual(['one__near']);
  });
});

describe('a requirement', () => {
  it('gets the challenge that says how the user has to sign in', async () => {
    const { backend, gateway } = await behind({ transfer: { requires: { acr: ['2fa'], maxAge: 600 } } });
    const response = await gateway.send('alice', { message: transfer('{}') });
    expect(response.status).toBe(401);
    const challenge = response.headers.get('www-authenticate') ?? '';
    expect(challenge).toContain('error="insufficient_user_authentication"');
    expect(challenge).toMatch(/acr_values="2fa".*max_age="?600/);
    expect(backend.received).toEqual([]);
    expect(await eventOf(gateway)).toMatchObject({
      decision: 'step_up',
      rule: 'servers[0].tools["transfer"].requires',
    });
  });

  it.each([
    ['mcp.read', 'mcp:read'],
    ['mcp.read_mcp.write', 'mcp:read mcp:write'],
  ])('asks for the scopes of a token that has enough, %s, and for no other', async (scopes, asked) => {
    const rule = { scopes: ['mcp:read'], requires: { acr: ['2fa'] } };
    const { backend, gateway } = await behind(
      { transfer: rule },
      { scopes: { 'mcp:read': 'Read', 'mcp:write': 'Write' } },
    );
    const response = await gateway.send(`alice_inspector_${scopes}`, { message: transfer('{}') });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain(` scope="${asked}"`);
    expect(backend.received).toEqual([]);
  });

  it('of a bound token refuses a bearer token', async () => {
    const { backend, gateway } = await behind({ transfer: { requires: { dpop: true } } });
    const response = await gateway.send('alice', { message: transfer('{}') });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect(backend.received).toEqual([]);
  });
});

describe('the configuration', () => {
  async function issuesOf(tools: object, more: object = {}) {
    const report = createOptionReport();
    const written = [{ path: '/mcp', backend: { url: 'http://b.example/' }, tools, ...more }];
    const servers = readOption(serversSchema(), written as never, ['servers'], report);
    await checkConditions(servers, report);
    return report.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
  }

  it('names the position of what is wrong in a condition', async () => {
    expect(
      await issuesOf({ 'a*': { when: "user.emial == 'x'" }, b: { when: 'call.arguments.a > 1' } }),
    ).toEqual(['servers.0.tools.a*.when line 1, column 6: No such key: emial']);
    expect(await issuesOf({}, { methods: { ping: { when: '1' } } })).toEqual([
      'servers.0.methods.ping.when a condition must be a boolean, not of type int: compare the value',
    ]);
    expect(await issuesOf({ a: false, b: ['x'], c: { public: true } })).toEqual([]);
  });

  it('refuses public beside what needs a token', async () => {
    const tools = { a: { public: true, groups: ['x'] } };
    await expect(
      startGateway([{ path: '/mcp', backend: { url: 'http://b.example/' }, tools } as never]),
    ).rejects.toThrow('must not have public beside groups, which need a token');
  });
});
