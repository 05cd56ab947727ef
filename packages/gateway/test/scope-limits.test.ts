/** Scopes that only some clients and users may be granted: from the configuration to the resources of the authorization server. */
import { createOptionReport, readOption } from '@portcullis/authorization-server/options';
import { afterEach, describe, expect, it } from 'vitest';
import { defineServers, type GatewayServerOptions, resourcesOf, serversSchema } from '../src/options.ts';
import type { GatewayServer } from '../src/servers/server.ts';
import { answerAll, startBackend } from './support/backend.ts';
import { browserOf, emailOf, registerClient, startSide } from './support/connections.ts';
import { defineTestServers } from './support/gateway.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const sources = { publicUrl: 'https://mcp.example', folder: '/' };

function define(written: readonly object[]) {
  const report = createOptionReport();
  const options = readOption(serversSchema(), written, ['servers'], report);
  return { servers: defineServers(options, sources, report), issues: report.issues };
}

function resourceAt(path: string, written: readonly GatewayServerOptions[]) {
  const { servers, issues } = define(written);
  expect(issues).toEqual([]);
  return resourcesOf(servers).find(({ resource }) => resource === `https://mcp.example${path}`);
}

const backend = { url: 'http://127.0.0.1:1/mcp' };
const write = (limit: object) => ({ 'files:write': { description: 'Change files', ...limit } });

describe('a scope with a limit', () => {
  it('is a sentence and a condition, whose claims the tokens contain', () => {
    const scopes = {
      'files:read': 'Read files',
      ...write({ clients: ['desktop'], groups: ['engineering'] }),
    };
    expect(resourceAt('/files', [{ path: '/files', backend, scopes }])).toMatchObject({
      scopes: { 'files:read': 'Read files', 'files:write': 'Change files' },
      grantableTo: { 'files:write': { clients: ['desktop'], groups: ['engineering'] } },
      claims: ['groups'],
    });
    const unlimited = resourceAt('/files', [{ path: '/files', backend, scopes: write({}) }]);
    expect(unlimited).toMatchObject({ scopes: { 'files:write': 'Change files' }, claims: [] });
    expect(unlimited).not.toHaveProperty('grantableTo');
  });

  it.each<[string, object, string]>([
    ['a limit without a description', { 'files:write': { groups: ['a'] } }, 'servers.0.scopes.files:write'],
    ['an empty list', write({ groups: [] }), 'servers.0.scopes.files:write'],
    ['an unknown claim', write({ claims: { phone: ['1'] } }), 'servers.0.scopes.files:write.claims.phone'],
    ['an unknown member', write({ group: ['a'] }), 'servers.0.scopes.files:write'],
  ])('is refused with %s', (_what, scopes, at) => {
    const { issues } = define([{ path: '/files', backend, scopes }]);
    expect(issues.map(({ path }) => path.join('.'))).toEqual([expect.stringContaining(at)]);
  });
});

describe('the scopes of a server without scopes', () => {
  const proposed = { path: '/files', name: 'Files $&', backend };

  it('are described in each language of the pages', () => {
    const { scopes, translations } = resourceAt('/files', [proposed]) ?? {};
    expect([scopes, translations?.de, Object.keys(translations ?? {})]).toEqual([
      {
        'files:read': 'Use the tools of Files $& that only read',
        'files:write': 'Use the tools of Files $& that make changes',
      },
      {
        scopes: {
          'files:read': 'Tools von Files $& verwenden, die nur lesen',
          'files:write': 'Tools von Files $& verwenden, die etwas ändern',
        },
      },
      ['de', 'fr', 'es', 'ja', 'zh'],
    ]);
  });

  it('are translated in a merged server, beside those that an operator described', () => {
    const scopes = { 'notes:read': 'Read notes' };
    const all = resourceAt('/all', [
      proposed,
      { path: '/notes', backend, scopes },
      { path: '/all', merges: { files: '/files', notes: '/notes' } },
    ]);
    expect([Object.keys(all?.scopes ?? {}), Object.keys(all?.translations.de.scopes ?? {})]).toEqual([
      ['files:read', 'files:write', 'notes:read'],
      ['files:read', 'files:write'],
    ]);
    const described = { scopes: { 'files:read': 'Read files' } };
    expect(resourceAt('/files', [{ ...proposed, ...described }])?.translations.de.scopes).toEqual({});
  });
});

describe('the stricter limit of a scope', () => {
  const merged = (one: object, other: object, own?: object) =>
    resourceAt('/all', [
      { path: '/a', backend, scopes: write(one) },
      { path: '/b', backend, scopes: write(other) },
      { path: '/all', merges: { a: '/a', b: '/b' }, ...(own && { scopes: write(own) }) },
    ])?.grantableTo?.['files:write'];

  it.each<[string, object, object, object]>([
    ['the only one', { groups: ['a'] }, {}, { groups: ['a'] }],
    ['both members', { groups: ['a'] }, { clients: ['c'] }, { groups: ['a'], clients: ['c'] }],
    ['what both lists contain', { groups: ['a', 'b'] }, { groups: ['b', 'c'] }, { groups: ['b'] }],
    ['no user of lists without a common entry', { groups: ['a'] }, { groups: ['b'] }, { groups: [] }],
    [
      'each claim',
      { claims: { email: ['x', 'y'] } },
      { claims: { email: ['y'], name: ['n'] } },
      { claims: { email: ['y'], name: ['n'] } },
    ],
  ])('where servers are merged is %s', (_what, one, other, expected) => {
    expect(JSON.parse(JSON.stringify(merged(one, other)))).toEqual(expected);
    expect(JSON.parse(JSON.stringify(merged(other, one)))).toEqual(expected);
  });

  it('counts for a merged server that describes the scope itself', () => {
    expect(merged({ groups: ['a'] }, {}, {})).toMatchObject({ groups: ['a'] });
    expect(merged({}, {}, { clients: ['c'] })).toMatchObject({ clients: ['c'] });
  });

  it('leaves a merged server the claims that the rules of its parts depend on', () => {
    const tools = { '*': { groups: ['a'] } };
    const servers = [
      { path: '/a', backend, tools },
      { path: '/all', merges: { a: '/a' } },
    ];
    expect(resourceAt('/all', servers)?.claims).toEqual(['groups']);
  });

  it('is none where no part has one', () => {
    expect(merged({}, {})).toBeUndefined();
  });
});

describe('a gateway with a scope for one group', () => {
  it('steps up only who may be granted it, and grants it on no other way', async () => {
    const hub = await startBackend(answerAll);
    open.push(hub);
    const scopes = { 'mcp:read': 'Read', 'mcp:write': { description: 'Write', groups: ['editors'] } };
    const tools = { 'read_*': ['mcp:read'], '*': ['mcp:write'] };
    let servers: readonly GatewayServer[] = [];
    const side = await startSide({
      users: ['ada', 'bob'],
      servers: (origin) => {
        const one = { path: '/mcp', backend: { url: hub.url }, review: 'auto', scopes, tools } as const;
        servers = defineTestServers([one], origin);
        return servers;
      },
      options: (origin) => ({
        resources: resourcesOf(defineTestServers([{ path: '/mcp', backend, scopes, tools }], origin)),
      }),
    });
    await side.server.accounts.describe(emailOf('ada'), { groups: ['editors'] });
    const client = await registerClient(side, 'App');
    const call = (token: unknown) =>
      fetch(`${side.origin}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write_page' } }),
      });
    const [ada, bob] = [browserOf('ada'), browserOf('bob')];
    const signIn = async (browser: typeof ada, scope: string) =>
      client.redeem(await browser.allow(client.authorizationUrl(scope)));

    const reader = await call((await signIn(ada, 'mcp:read'))['access_token']);
    expect([reader.status, reader.headers.get('www-authenticate')]).toEqual([
      403,
      expect.stringContaining('mcp:write'),
    ]);
    const editor = await signIn(ada, 'mcp:read mcp:write');
    expect([editor['scope'], (await call(editor['access_token'])).status]).toEqual([
      'mcp:read mcp:write',
      200,
    ]);

    const other = await signIn(bob, 'mcp:read mcp:write');
    expect(other['scope']).toBe('mcp:read');
    const refused = await call(other['access_token']);
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([403, null]);
    const final = await bob.open(client.authorizationUrl('mcp:write'));
    expect([final.status, final.html.includes('error=invalid_scope')]).toEqual([400, true]);
    expect(hub.received.filter(({ body }) => body.includes('tools/call'))).toHaveLength(1);
  });
});
