/** An approval serves one call with the bytes that were shown, of the user, client and grant that it was requested for. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newApproval } from '../../store/testing/approvals.ts';
import type { GatewayServerOptions } from '../src/options.ts';
import { answerAll, json, startBackend, type TestBackend } from './support/backend.ts';
import type { Page, TestBrowser } from './support/browser.ts';
import {
  browserOf,
  emailOf,
  registerClient,
  type Side,
  startSide,
  type TestClient,
} from './support/connections.ts';
import { defineTestServers } from './support/gateway.ts';

interface CallOptions {
  readonly token?: string;
  /** Further members of `params._meta`, and of `params`. */
  readonly meta?: string;
  readonly more?: string;
  readonly tenant?: string;
}

interface Scene {
  readonly gateway: Side;
  readonly backend: TestBackend;
  readonly ada: TestBrowser;
  readonly lead: TestBrowser;
  readonly app: TestClient;
  /** A new token of the same grant. */
  refresh(): Promise<string>;
  /** Sends a call with arguments as they are written. */
  call(given: string, options?: CallOptions): Promise<Response>;
  /** The arguments of the calls that reached the backend. */
  readonly executed: () => readonly string[];
}

type Rule = NonNullable<NonNullable<GatewayServerOptions['tools']>[string]>;

const BY_USER: Rule = { scopes: ['call'], approval: { by: 'user' } };
const BY_LEADS = {
  scopes: ['call'],
  groups: ['staff'],
  approval: { by: { groups: ['leads'] } },
} satisfies Rule;

const REFRESHING = { grant_types: ['authorization_code', 'refresh_token'] };

const META = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}`;

async function setScene(rule: Rule, respond: Parameters<typeof startBackend>[0] = answerAll): Promise<Scene> {
  const backend = await startBackend((received, response, request) =>
    received.body.includes('tools/call')
      ? respond(received, response, request)
      : answerAll(received, response, request),
  );
  onTestFinished(backend.close);
  const server: GatewayServerOptions = {
    path: '/mcp',
    name: 'Files',
    backend: { url: backend.url, forward: ['X-Tenant', 'x-request-id'] },
    scopes: { call: 'Call it' },
    tools: { '*': rule },
    review: 'auto',
  };
  const gateway = await startSide({
    users: ['ada', 'lead', 'eve'],
    servers: (origin) => defineTestServers([server], origin),
    options: (origin) => ({
      approvals: true,
      resources: [
        { resource: `${origin}/mcp`, name: 'Files', scopes: { call: 'Call it' }, claims: ['groups'] },
      ],
    }),
  });
  await gateway.server.accounts.describe(emailOf('ada'), { groups: ['staff'] });
  await gateway.server.accounts.describe(emailOf('lead'), { groups: ['leads'] });
  const [ada, app] = [browserOf('ada'), await registerClient(gateway, 'App', REFRESHING)];
  let tokens = await app.redeem(await ada.allow(app.authorizationUrl()));
  return {
    ...{ gateway, backend, ada, lead: browserOf('lead'), app },
    async refresh() {
      const response = await fetch(`${gateway.origin}/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'refresh_token',
          refresh_token: String(tokens['refresh_token']),
          client_id: app.clientId,
        }),
      });
      tokens = (await response.json()) as typeof tokens;
      return String(tokens['access_token']);
    },
    call: (given, { token = String(tokens['access_token']), meta = '', more = '', tenant } = {}) =>
      fetch(`${gateway.origin}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': 'remove',
          ...(tenant !== undefined && { 'x-tenant': tenant, 'x-request-id': randomUUID() }),
        },
        body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove","arguments":${given},${META.slice(0, -1)}${meta}}${more}}}`,
      }),
    executed: () =>
      backend.received.flatMap(({ body }) => /"arguments":(.*),"_meta"/.exec(body)?.slice(1) ?? []),
  };
}

/** The URL that the client is asked to open. */
async function requested(response: Promise<Response>): Promise<string> {
  const text = await (await response).text();
  const [url] = /http:[^"\s]*\/approvals\/[\w-]{43}/.exec(text) ?? [];
  if (url === undefined) throw new Error(text);
  return url;
}

/** A response other than that of the one call that was executed. */
async function notExecuted(call: Promise<Response>): Promise<Response> {
  const response = (await call).clone();
  return (await response.clone().text()).includes('"result":{}') ? new Promise(() => undefined) : response;
}

/** The page of the first approval. */
async function firstRequested({ gateway }: Scene): Promise<string> {
  const ids = () => gateway.events.flatMap((event) => ('approvalId' in event ? event.approvalId : []));
  await expect.poll(ids).not.toEqual([]);
  return `${gateway.origin}/approvals/${ids()[0]}`;
}

async function decide(browser: TestBrowser, url: string, decision = 'once'): Promise<Page> {
  return browser.submit(await browser.allow(url), { decision });
}

const recordOf = ({ gateway }: Scene, url: string) =>
  gateway.store.findApproval(url.slice(-43), Math.floor(Date.now() / 1000));

const eventsOf = ({ gateway }: Scene) =>
  gateway.events.map(({ type }) => type).filter((type) => type.startsWith('approval.'));

describe('an approval', () => {
  const APPROVED = '{"path":"/caf\u00e9","count":1,"force":true}';

  it.each([
    ['the order of members', '{"count":1,"path":"/caf\u00e9","force":true}'],
    ['the form of a number', '{"path":"/caf\u00e9","count":1.0,"force":true}'],
    ['the Unicode form of a text', '{"path":"/cafe\u0301","count":1,"force":true}'],
    ['an escape', '{"path":"/caf\\u00e9","count":1,"force":true}'],
    ['a byte of whitespace', '{"path":"/caf\u00e9","count":1, "force":true}'],
    ['a value', '{"path":"/caf\u00e9","count":2,"force":true}'],
  ])('does not serve a call that differs in %s, and still serves its own', async (_, other) => {
    const scene = await setScene(BY_USER);
    const url = await requested(scene.call(APPROVED));
    await decide(scene.ada, url);
    const before = await recordOf(scene, url);
    expect(await requested(scene.call(other))).not.toBe(url);
    expect([scene.executed(), await recordOf(scene, url)]).toEqual([[], before]);
    expect((await scene.call(APPROVED)).status).toBe(200);
    expect(scene.executed()).toEqual([APPROVED]);
  });

  it('shows a header that is forwarded, and serves no call with another value of it', async () => {
    const scene = await setScene(BY_USER);
    const tenants = () =>
      scene.backend.received
        .filter(({ body }) => body.includes('tools/call'))
        .map(({ headers }) => headers['x-tenant']);
    const url = await requested(scene.call(APPROVED, { tenant: 'sandbox' }));
    const { html } = await scene.ada.allow(url);
    expect(html).toMatch(/headers\.x-tenant.*sandbox/s);
    await decide(scene.ada, url);
    const before = await recordOf(scene, url);
    for (const tenant of ['production', undefined])
      expect(await requested(scene.call(APPROVED, { ...(tenant !== undefined && { tenant }) }))).not.toBe(
        url,
      );
    expect([tenants(), await recordOf(scene, url)]).toEqual([[], before]);
    expect((await scene.call(APPROVED, { tenant: 'sandbox' })).status).toBe(200);
    expect(tenants()).toEqual(['sandbox']);
  });

  it.each([
    ['a repeated member', '{"path":"/a","path":"/b"}'],
    ['a number that no parser represents', '{"count":1e999}'],
    ['more bytes than an approver reads', `{"text":"${'x'.repeat(256 * 1024)}"}`],
  ])('is not requested for %s', async (_, given) => {
    const scene = await setScene(BY_USER);
    const response = await scene.call(given);
    expect([response.status, (await response.text()).includes('-32602')]).toEqual([400, true]);
    expect([eventsOf(scene), scene.executed()]).toEqual([[], []]);
  });

  it('serves a retry with its own bytes, whatever else the client sent with it', async () => {
    const scene = await setScene(BY_USER);
    const given = '{ "count" : 1.0, "id": 9007199254740993 }';
    const first = (await (await scene.call(given)).json()) as { result: { requestState: string } };
    const state = JSON.stringify(first.result.requestState);
    const pending = scene.call(given, {
      more: `,"requestState":${state},"inputResponses":{"open":{"action":"accept"}}`,
    });
    await decide(scene.ada, await firstRequested(scene));
    expect((await pending).status).toBe(200);
    expect(scene.executed()).toEqual([given]);
  });

  it('does not wait for a user who declined to open the page, where the call can still be approved', async () => {
    const scene = await setScene(BY_USER);
    const first = (await (await scene.call(APPROVED)).clone().json()) as { result: { requestState: string } };
    const url = await firstRequested(scene);
    const state = JSON.stringify(first.result.requestState);
    for (const action of ['decline', 'cancel']) {
      const more = `,"requestState":${state},"inputResponses":{"open":{"action":"${action}"}}`;
      const response = await scene.call(APPROVED, { more });
      expect([response.status, await response.json()]).toMatchObject([
        200,
        { error: { code: -32_603, data: { url } } },
      ]);
    }
    expect(scene.executed()).toEqual([]);
    await decide(scene.ada, url);
    expect((await scene.call(APPROVED)).status).toBe(200);
    expect(scene.executed()).toEqual([APPROVED]);
  });

  it('serves no call with input that its approver did not see, and the call with the input that was shown', async () => {
    const scene = await setScene(BY_USER, ({ body }, response) => {
      const { id, params } = JSON.parse(body);
      const elicitation = {
        mode: 'form',
        message: 'To?',
        requestedSchema: { type: 'object', properties: {} },
      };
      const asked = {
        resultType: 'input_required',
        inputRequests: { to: { method: 'elicitation/create', params: elicitation } },
        requestState: 'step',
      };
      json(response, { jsonrpc: '2.0', id, result: params.inputResponses === undefined ? asked : {} });
    });
    const inputsOf = () =>
      scene.backend.received
        .filter(({ body }) => body.includes('tools/call'))
        .map(({ body }) => JSON.parse(body).params)
        .map(({ inputResponses, requestState }) => ({ inputResponses, requestState }));
    const withInput = (to: string, state: string) => ({
      more: `,"inputResponses":{"to":{"action":"accept","content":{"to":"${to}","n":1.0}}},"requestState":"${state}"`,
    });
    await decide(scene.ada, await requested(scene.call(APPROVED)));
    const other = ',"inputResponses":{"to":{"action":"accept","content":{"to":"mallory"}}}';
    await requested(scene.call(APPROVED, { more: other }));
    expect(inputsOf()).toEqual([]);
    const asked = (await (await scene.call(APPROVED)).json()) as { result: { requestState: string } };
    const response = await scene.call(APPROVED, withInput('bob', asked.result.requestState));
    const url = await requested(Promise.resolve(response.clone()));
    expect((await scene.ada.allow(url)).html).toContain('bob');
    expect(inputsOf()).toEqual([{}]);
    await decide(scene.ada, url);
    const own = (await response.json()) as { result: { requestState: string } };
    const retry = `,"inputResponses":{"open":{"action":"accept"}},"requestState":"${own.result.requestState}"`;
    expect((await scene.call(APPROVED, { more: retry })).status).toBe(200);
    const inputResponses = { to: { action: 'accept', content: { to: 'bob', n: 1 } } };
    expect(inputsOf()).toEqual([{}, { inputResponses, requestState: 'step' }]);
    expect(scene.backend.received.at(-1)?.body).toContain('"n":1.0');
  });

  it('serves one of many equal calls at once', async () => {
    const scene = await setScene(BY_USER);
    await decide(scene.ada, await requested(scene.call(APPROVED)));
    const calls = Array.from({ length: 8 }, () => scene.call(APPROVED));
    // The others wait for the next approval.
    await decide(scene.ada, await requested(Promise.race(calls.map(notExecuted))), 'deny');
    const texts = await Promise.all(calls.map(async (call) => (await call).clone().text()));
    expect(scene.executed()).toHaveLength(1);
    expect(texts.filter((text) => text.includes('"result":{}'))).toHaveLength(1);
  });

  it('serves the same call for the time that the rule offers, and no other', async () => {
    const scene = await setScene({ scopes: ['call'], approval: { by: 'user', lasts: 900 } });
    await decide(scene.ada, await requested(scene.call(APPROVED)), 'repeatedly');
    for (let times = 0; times < 3; times += 1) expect((await scene.call(APPROVED)).status).toBe(200);
    await requested(scene.call('{}'));
    expect(scene.executed()).toEqual([APPROVED, APPROVED, APPROVED]);
  });

  it('is not offered for a time by a rule about one call', async () => {
    const scene = await setScene(BY_USER);
    const url = await requested(scene.call(APPROVED));
    const before = await recordOf(scene, url);
    await decide(scene.ada, url, 'repeatedly');
    expect(await recordOf(scene, url)).toEqual(before);
  });

  it('does not serve a user who has lost the group of the rule meanwhile, and serves one who has it', async () => {
    const scene = await setScene({ ...BY_LEADS, approval: { by: { groups: ['leads'] }, lasts: 900 } });
    const { gateway, lead, refresh } = scene;
    const call = scene.call(APPROVED);
    const url = await firstRequested(scene);
    await decide(lead, url, 'repeatedly');
    expect((await call).status).toBe(200);
    await gateway.server.accounts.describe(emailOf('ada'), { groups: [] });
    const before = await recordOf(scene, url);
    expect((await scene.call(APPROVED, { token: await refresh() })).status).toBe(403);
    expect([scene.executed(), await recordOf(scene, url)]).toEqual([[APPROVED], before]);
    await gateway.server.accounts.describe(emailOf('ada'), { groups: ['staff'] });
    expect((await scene.call(APPROVED, { token: await refresh() })).status).toBe(200);
    expect(scene.executed()).toEqual([APPROVED, APPROVED]);
  });

  it('that was used by a call whose connection broke is said to have an unknown outcome, and is gone', async () => {
    const scene = await setScene(BY_USER, (_received, response: ServerResponse) => void response.destroy());
    await decide(scene.ada, await requested(scene.call(APPROVED)));
    expect((await scene.call(APPROVED)).status).toBe(502);
    expect(eventsOf(scene)).toEqual([
      'approval.requested',
      'approval.granted',
      'approval.consumed',
      'approval.outcome_unknown',
    ]);
    await requested(scene.call(APPROVED));
    expect(scene.executed()).toHaveLength(1);
  });

  it('that was used by a process which ended before it sent the call is gone', async () => {
    const scene = await setScene(BY_USER);
    const url = await requested(scene.call(APPROVED));
    await decide(scene.ada, url);
    expect(await scene.gateway.store.consumeApprovals([url.slice(-43)], Math.floor(Date.now() / 1000))).toBe(
      true,
    );
    expect(await requested(scene.call(APPROVED))).not.toBe(url);
    expect(scene.executed()).toEqual([]);
  });

  it('is not requested when too many of a user are pending, until one is decided', async () => {
    const scene = await setScene(BY_USER);
    const urls: string[] = [];
    for (let count = 0; count < 20; count += 1) urls.push(await requested(scene.call(`{"count":${count}}`)));
    const refused = await scene.call('{"count":20}');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect(eventsOf(scene)).toHaveLength(20);
    await decide(scene.ada, urls[0] ?? '', 'deny');
    await requested(scene.call('{"count":20}'));
  });

  it('is not for a call in a batch', async () => {
    const scene = await setScene(BY_USER);
    const { access_token: token } = await scene.app.redeem(
      await scene.ada.allow(scene.app.authorizationUrl()),
    );
    const message = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove"}}';
    const send = (body: string) =>
      fetch(`${scene.gateway.origin}/mcp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
      });
    expect((await send(`[${message}]`)).status).toBe(400);
    expect(eventsOf(scene)).toEqual([]);
    expect((await requested(send(message))).length).toBeGreaterThan(43);
  });
});

describe('the page of an approval', () => {
  const HOSTILE = JSON.stringify({
    'na\u200bme\n': '<script>alert(1)</script>\u202egnp.exe',
    number: 0,
    text: 'x'.repeat(5000),
  }).replace(':0', ':9007199254740993');

  it('shows arguments as text, whole, with their digits and with what is not seen', async () => {
    const scene = await setScene(BY_USER);
    const { html } = await scene.ada.allow(await requested(scene.call(HOSTILE)));
    expect(html).not.toContain('<script>alert');
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;<span class="unseen">U+202E</span>gnp.exe');
    expect(html).toContain('na<span class="unseen">U+200B</span>me<span class="unseen">U+000A</span><');
    expect(html).toContain('9007199254740993');
    expect(html).toContain('x'.repeat(5000));
    expect(html).toContain('5,002 characters');
    for (const known of ['App', 'Files', 'remove', 'ada@example.org']) expect(html).toContain(known);
  });

  it('shows what else is sent, which a call sent otherwise has not been allowed', async () => {
    const scene = await setScene(BY_USER);
    const call = (isForced: boolean) =>
      scene.call('{"path":"/a"}', { meta: `,"com.example/force":${isForced}`, more: ',"priority":1.0' });
    const url = await requested(call(true));
    const page = await scene.ada.allow(url);
    expect(page.html).toContain('<code class="given">params._meta</code>');
    expect(page.html).toMatch(/com\.example\/force.*true/);
    expect(page.html).toMatch(/params\.priority.*1\.0/);
    expect(page.html).not.toContain('clientInfo');
    await scene.ada.submit(page, { decision: 'once' });
    const before = await recordOf(scene, url);
    expect(await requested(call(false))).not.toBe(url);
    expect([scene.executed(), await recordOf(scene, url)]).toEqual([[], before]);
    expect((await call(true)).status).toBe(200);
    expect(scene.executed()).toHaveLength(1);
  });

  it('may not be framed, and allows forms to this server only', async () => {
    const scene = await setScene(BY_USER);
    const url = await requested(scene.call('{}'));
    const { status, headers } = await scene.ada.allow(url);
    expect([status, headers.get('x-frame-options')]).toEqual([200, 'DENY']);
    const policy = headers.get('content-security-policy');
    for (const directive of ["frame-ancestors 'none'", "form-action 'self'", "default-src 'none'"])
      expect(policy).toContain(directive);
  });

  it('is not there for another user, whose decision changes nothing', async () => {
    const scene = await setScene(BY_USER);
    const url = await requested(scene.call('{}'));
    const before = await recordOf(scene, url);
    const eve = browserOf('eve');
    const page = await eve.allow(url);
    expect([page.status, page.html.includes('ada@example.org')]).toEqual([404, false]);
    const unknown = await eve.open(`${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}`);
    expect([unknown.status, unknown.html.replace(/[A-Z0-9]{4}-[A-Z0-9]{4}/g, '')]).toEqual([
      404,
      page.html.replace(/[A-Z0-9]{4}-[A-Z0-9]{4}/g, ''),
    ]);
    expect(await recordOf(scene, url)).toEqual(before);
    expect((await decide(scene.ada, url)).html).toContain('The call is allowed');
  });

  it('is decided by no form of another page, approval or user', async () => {
    const scene = await setScene(BY_USER);
    const [url, otherUrl] = [await requested(scene.call('{}')), await requested(scene.call('{"a":1}'))];
    const [page, other] = [await scene.ada.allow(url), await scene.ada.open(otherUrl)];
    const before = await recordOf(scene, url);
    const withToken = (token: string) => scene.ada.submit(page, { decision: 'once', token });
    const [, foreign = ''] = /name="token" value="([^"]+)"/.exec(other.html) ?? [];
    for (const token of ['', 'AAAA', foreign]) expect((await withToken(token)).status).toBe(403);
    expect(await recordOf(scene, url)).toEqual(before);
    expect((await scene.ada.submit(page, { decision: 'once' })).html).toContain('The call is allowed');
  });

  it('lists the oldest of 1,000 pending calls, and another call is still approved', async () => {
    const scene = await setScene(BY_USER);
    const { gateway, lead, ada } = scene;
    const limits = { bySubject: 1, byServer: 10 };
    const others = Array.from({ length: 1000 }, (_, at) =>
      newApproval({
        ...{ server: `/${at % 100}`, approverGroups: ['leads'] },
        ...{ createdAt: at, expiresAt: 9_999_999_999 },
      }),
    );
    await Promise.all(others.map((approval) => gateway.store.requestApproval(approval, limits)));
    expect(await gateway.store.requestApproval(newApproval({ server: '/0' }), limits)).toBeNull();
    const { html } = await lead.allow(`${gateway.origin}/approvals`);
    const listed = [...html.matchAll(/href="\/approvals\/([\w-]+)"/g)].map(([, id]) => id);
    expect(listed).toEqual(others.slice(0, 50).map(({ id }) => id));
    expect(html).toContain('More calls are waiting');
    await decide(ada, await requested(scene.call('{}')));
    expect((await scene.call('{}')).status).toBe(200);
  });

  it('is for approvers of the groups of the rule only, as long as they are in one', async () => {
    const scene = await setScene(BY_LEADS);
    const call = scene.call('{}');
    const { gateway, lead } = scene;
    const url = await firstRequested(scene);
    expect((await scene.ada.allow(url)).html).toContain('Waiting for a decision');
    const page = await lead.allow(url);
    await gateway.server.accounts.describe(emailOf('lead'), { groups: [] });
    const before = await recordOf(scene, url);
    expect((await lead.submit(page, { decision: 'once' })).status).toBe(404);
    expect((await lead.open(`${gateway.origin}/approvals`)).html).not.toContain('ada@example.org');
    expect(await recordOf(scene, url)).toEqual(before);
    await gateway.server.accounts.describe(emailOf('lead'), { groups: ['leads'] });
    await lead.submit(page, { decision: 'once' });
    expect((await call).status).toBe(200);
  });
});
