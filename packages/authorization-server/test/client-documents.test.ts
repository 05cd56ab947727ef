/** Client ID metadata documents: accepted URLs, SSRF protection, validation, caching and rate limits of fetches. */
import { createServer as createPlainServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createOutboundFetch, OutboundError, type OutboundErrorReason } from '@portcullis/http/outbound';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { createFetchBudget } from '../src/clients/metadata-document/fetch-budget.ts';
import type { AuthorizationServerOptions } from '../src/index.ts';
import { outboundFetches } from '../src/rate-limit/policies.ts';
import { APP, createDocumentHost, type DocumentHost, documentOf, respond } from './document-host.ts';
import { CLIENTS, redemption, refreshing, type ServerUnderTest } from './server-under-test.ts';
import { decide, requestOf, type Scene, type Sight, setScene, textOf, VERIFIER } from './visitor.ts';

interface Stage extends Scene {
  readonly host: DocumentHost;
}

async function setStage(
  host: DocumentHost = createDocumentHost({ [APP]: documentOf() }),
  options: Partial<AuthorizationServerOptions> = {},
): Promise<Stage> {
  const scene = await setScene({ outbound: { fetch: host.fetch }, ...options });
  return { ...scene, host };
}

function ask(client_id: string = APP, redirect_uri = 'https://app.example/callback'): string {
  return requestOf({ client_id, redirect_uri });
}

/** A refusal that the server shows itself: no redirect, nothing stored. */
async function expectRefused(t: Scene, path: string, words?: RegExp): Promise<Sight> {
  const before = t.snapshot();
  const sight = await t.newVisitor().open(path);
  expect([path, sight.status, sight.headers.get('location')]).toEqual([path, 400, null]);
  if (words !== undefined) expect(textOf(sight)).toMatch(words);
  expect(t.snapshot()).toBe(before);
  return sight;
}

async function expectConsentPage(t: Scene, path: string = ask()): Promise<Sight> {
  const sight = await t.newVisitor().open(path);
  expect([path, sight.status, sight.path.split('?')[0]]).toEqual([path, 200, '/login']);
  return sight;
}

/** Signs Ada in with the client and redeems the code. */
async function getTokens(
  t: Scene,
  more: Record<string, string> = {},
  clientId = APP,
): Promise<Record<string, unknown>> {
  const { left } = await decide(t.visitor, ask(clientId));
  const form = redemption(left?.searchParams.get('code') ?? '', VERIFIER, clientId);
  const { status, body } = await t.post('/token', { ...form, ...more });
  expect([status, body['error']]).toEqual([200, undefined]);
  return body;
}

describe('[AS-CIMD-26 AS-CIMD-30] a client with a metadata document', () => {
  it('[AS-CIMD-20 AS-CIMD-21 AS-CIMD-28 AS-CIMD-64] shows name and host of a client with a metadata document on the consent page, and issues tokens', async () => {
    const t = await setStage();
    const consent = await t.visitor.signIn(ask());
    expect(textOf(consent)).toContain('Sketchbook wants to use Notes');
    expect(textOf(consent)).toContain('This app is published at app.example . It chose its own name.');
    expect(consent.html).not.toContain('<img');
    const { left } = await t.visitor.submit(consent, { decision: 'allow' });
    expect(left?.href.startsWith('https://app.example/callback?code=')).toBe(true);
    const code = left?.searchParams.get('code') ?? '';
    const { status, body } = await t.post('/token', redemption(code, VERIFIER, APP));
    expect(status).toBe(200);
    expect((await t.post('/token', refreshing(body['refresh_token'], APP))).status).toBe(200);
    expect(t.host.asked).toEqual([APP]);
  });

  it('[AS-CIMD-32 AS-CIMD-34] T054: warns of a loopback redirect on the consent page, and asks for consent each time', async () => {
    const t = await setStage();
    const local = ask(APP, 'http://127.0.0.1:51004/callback');
    for (let round = 0; round < 2; round += 1) {
      const consent = await t.visitor.signIn(local);
      expect(textOf(consent)).toContain('Any program on this device could impersonate this app.');
      expect(textOf(consent)).toContain('You will return to 127.0.0.1:51004 on this computer');
      await t.visitor.submit(consent, { decision: 'allow' });
    }
    expect(textOf(await t.visitor.signIn(ask()))).not.toContain('Any program on this device');
  });

  it.each(['http://127.0.0.1:51004/callback', 'http://localhost:8765/callback', 'http://localhost/callback'])(
    '[AS-CIMD-24] a document that lists a loopback redirect without a port allows any port: %s',
    async (redirectUri) => {
      const t = await setStage();
      const { left } = await decide(t.visitor, ask(APP, redirectUri));
      expect(left?.href.startsWith(`${redirectUri}?code=`)).toBe(true);
    },
  );

  it('[AS-CIMD-24] never redirects to a URI that the metadata document does not list', async () => {
    const t = await setStage();
    await expectConsentPage(t);
    for (const uri of [
      'https://evil.example/cb',
      'https://app.example/callback/',
      'http://127.0.0.1:1/other',
    ]) {
      await expectRefused(t, ask(APP, uri));
    }
  });

  it('[AS-CIMD-27] T011: is no open redirector: errors are shown on a page, with or without a session', async () => {
    const t = await setStage();
    await expectConsentPage(t);
    const nonsense = requestOf({ client_id: APP, scope: 'nonsense' });
    await t.visitor.signIn(ask());
    for (const visitor of [t.newVisitor(), t.visitor]) {
      const sight = await visitor.open(nonsense);
      expect([sight.status, sight.left]).toEqual([400, null]);
    }
    const silent = await t.visitor.open(requestOf({ client_id: APP, prompt: 'none' }));
    expect(silent.left?.searchParams.get('error')).toBe('consent_required');
  });

  it('a client with a metadata document gets no client credentials grant, whatever the document says', async () => {
    const t = await setStage(
      createDocumentHost({
        [APP]: documentOf(APP, { grant_types: ['authorization_code', 'client_credentials'] }),
      }),
    );
    await expectConsentPage(t);
    const { status, body } = await t.post('/token', { grant_type: 'client_credentials', client_id: APP });
    expect([status, body['error']]).toEqual([400, 'unauthorized_client']);
  });

  it('T058: one metadata document is one client on all devices: a login on another one keeps the first', async () => {
    const t = await setStage();
    const [first, second] = [await getTokens(t), await getTokens(t)];
    for (const { refresh_token } of [first, second]) {
      expect((await t.post('/token', refreshing(refresh_token, APP))).status).toBe(200);
    }
  });

  it('a metadata document never replaces a pre-registered client', async () => {
    const host = createDocumentHost({ [APP]: documentOf() });
    const t = await setStage(host, {
      clients: [
        ...CLIENTS,
        { client_id: APP, client_name: 'Ours', redirect_uris: ['https://ours.example/cb'] },
      ],
    });
    await expectRefused(t, ask());
    await expectConsentPage(t, ask(APP, 'https://ours.example/cb'));
    expect(host.asked).toEqual([]);
  });
});

describe('URLs of metadata documents', () => {
  // biome-ignore format: a table
  const refused: readonly (readonly [string, string])[] = [
    ['http', 'http://app.example/client.json'],
    ['another scheme', 'httpsx://app.example/client.json'],
    ['no path', 'https://app.example'],
    ['an empty path', 'https://app.example/'],
    ['only a query', 'https://app.example?x=1'],
    ['a dot segment', 'https://app.example/./client.json'],
    ['only a dot', 'https://app.example/.'],
    ['a dot and a slash', 'https://app.example/./'],
    ['two dots', 'https://app.example/../client.json'],
    ['two dots inside', 'https://app.example/x/../client.json'],
    ['two dots at the end', 'https://app.example/x/..'],
    ['encoded dots', 'https://app.example/%2e%2e/client.json'],
    ['a dot, half encoded', 'https://app.example/x/.%2E/client.json'],
    ['a fragment', 'https://app.example/client.json#x'],
    ['an empty fragment', 'https://app.example/client.json#'],
    ['a user', 'https://user@app.example/client.json'],
    ['a user and password', 'https://user:pass@app.example/client.json'],
    ['an empty user', 'https://@app.example/client.json'],
    ['backslashes', 'https:\\\\app.example\\client.json'],
    ['one slash', 'https:/app.example/client.json'],
    ['three slashes', 'https:///app.example/client.json'],
    ['a tab', 'https://app.example/cli\tent.json'],
    ['a space', 'https://app.example/client .json'],
    ['a space before', ' https://app.example/client.json'],
    ['a line break', 'https://app.example/client.json\n'],
    ['another script', 'https://\u0430pp.example/client.json'],
    ['a wide dot', 'https://app\uff0eexample/client.json'],
    ['an encoded host', 'https://app%2eexample/client.json'],
    ['capitals in the host', 'https://APP.example/client.json'],
    ['capitals in the scheme', 'HTTPS://app.example/client.json'],
    ['the port that is meant anyway', 'https://app.example:443/client.json'],
    ['a dot at the end of the host', 'https://app.example./client.json'],
    ['too many characters', `https://app.example/${'x'.repeat(2048)}`],
    ['a host of this computer', 'https://localhost/client.json'],
    ['a host of this network', 'https://printer.local/client.json'],
    ['a bare name', 'https://intranet/client.json'],
    ['a metadata service', 'https://metadata.google.internal/client.json'],
    ['an address of this network', 'https://10.0.0.1/client.json'],
    ['a link-local address', 'https://169.254.169.254/latest'],
    ['this computer, in IPv6', 'https://[::1]/client.json'],
    ['this computer, in another spelling', 'https://0x7f.1/client.json'],
  ];

  it.each(refused)(
    '[AS-CIMD-60 AS-CIMD-31 AS-SSRF-40] T047 T048: rejects a document URL before anything is fetched (SSRF): %s',
    async (_what, url) => {
      const t = await setStage();
      t.host.pages.set(url, documentOf(url));
      await expectRefused(t, ask(url));
      const { status, body } = await t.post('/token', refreshing('x', url));
      expect([status, body['error']]).toEqual([401, 'invalid_client']);
      expect(t.host.asked).toEqual([]);
      await expectConsentPage(t);
    },
  );

  it.each([
    ['not an address', /must be a well-formed https URL/],
    ['https://user@app.example/c', /without user information/],
    ['http://app.example/c', /must use https/],
    ['https://app.example/c#x', /must have no fragment/],
    ['https://app.example/./c', /must have no dot segments in its path/],
    ['https://app.example/x/..', /must have no dot segments in its path/],
    ['https://app.example/x/%2e%2E/c', /must have no dot segments in its path/],
    ['https://app.example/x/..?y', /must have no dot segments in its path/],
    ['https://app.example/', /must have a path/],
    ['https://app.example:443/c', /must be written in its normal form/],
    ['https://10.0.0.1/c', /must be on a public host/],
    ['https://elsewhere.example/c', /is on a host that this server does not accept/],
  ])('[AS-CIMD-60] T047: explains why a document URL is rejected: %s', async (url, words) => {
    const t = await setStage(undefined, {
      metadataDocuments: { hosts: ['app.example', '*.app.example', '10.0.0.1'] },
    });
    if (/^https?:/.test(url)) await expectRefused(t, ask(url), words);
    else expect((await t.newVisitor().open(ask(url))).status).toBe(400);
    expect(t.host.asked).toEqual([]);
    await expectConsentPage(t);
  });

  it('[AS-CIMD-60] T047: requires https for document URLs of other hosts even where loopback is allowed', async () => {
    const t = await setStage(undefined, {
      outbound: { fetch: createDocumentHost({}).fetch, allowLoopback: true },
    });
    await expectRefused(t, ask('http://app.example/client.json'), /must use https/);
    const local = 'http://127.0.0.1:9/client.json';
    const host = createDocumentHost({ [local]: documentOf(local) });
    const open = await setStage(host, { outbound: { fetch: host.fetch, allowLoopback: true } });
    await expectConsentPage(open, ask(local));
    expect(host.asked).toEqual([local]);
  });

  it.each([
    'https://app.example:8443/client.json',
    'https://app.example/a/b?c=d',
    'https://app.example/a?c=/../d',
    'https://app.example/...',
    'https://app.example/~x/.well-known/y',
  ])('[AS-CIMD-60] accepts the document URL %s', async (url) => {
    const t = await setStage(createDocumentHost({ [url]: documentOf(url) }));
    await expectConsentPage(t, ask(url));
    expect(t.host.asked).toEqual([url]);
  });

  it('[AS-CIMD-35] accepts documents of the configured hosts only', async () => {
    const urls = [
      'https://app.example/c',
      'https://a.tools.example/c',
      'https://tools.example/c',
      'https://evil.example/c',
      // These end as others do.
      'https://xpp.example/c',
      'https://mytools.example/c',
      // The dot at the end was a way around both lists.
      'https://evil.example./c',
    ];
    const pages = Object.fromEntries(urls.map((url) => [url, documentOf(url)]));
    const acceptedUrls = async (metadataDocuments: AuthorizationServerOptions['metadataDocuments']) => {
      const t = await setStage(createDocumentHost(pages), {
        ...(metadataDocuments && { metadataDocuments }),
      });
      const seen: string[] = [];
      for (const url of urls) if ((await t.newVisitor().open(ask(url))).status === 200) seen.push(url);
      expect(t.host.asked).toEqual(seen);
      return seen.map((url) => new URL(url).host);
    };
    expect(await acceptedUrls(undefined)).toEqual([
      'app.example',
      'a.tools.example',
      'tools.example',
      'evil.example',
      'xpp.example',
      'mytools.example',
    ]);
    expect(await acceptedUrls({ hosts: ['app.example', '*.tools.example'] })).toEqual([
      'app.example',
      'a.tools.example',
    ]);
    expect(await acceptedUrls({ refusedHosts: ['evil.example', '*.tools.example'] })).toEqual([
      'app.example',
      'tools.example',
      'xpp.example',
      'mytools.example',
    ]);
  });

  it('[AS-CIMD-35] rejects documents of a host that is blocked later, although a copy is cached', async () => {
    const store = await openEmptyStore();
    const host = createDocumentHost({
      [APP]: () => respond(documentOf(), { 'cache-control': 'max-age=3600' }),
    });
    await expectConsentPage(await setStage(host, { store }));
    const t = await setScene({
      store: sharing(store),
      outbound: { fetch: host.fetch },
      metadataDocuments: { refusedHosts: ['app.example'] },
    });
    expect((await t.newVisitor().open(ask())).status).toBe(400);
    expect(host.asked).toHaveLength(1);
  });

  it.each([
    ['a host list with an address', { hosts: ['https://app.example'] }],
    ['a host list with a wildcard inside', { hosts: ['app.*.example'] }],
    ['a refused host in capitals', { refusedHosts: ['App.Example'] }],
    ['a refused host that ends with a dot', { refusedHosts: ['app.example.'] }],
  ])('rejects the configuration with %s', async (_what, metadataDocuments) => {
    await expect(setScene({ metadataDocuments })).rejects.toThrow(/metadataDocuments\.(hosts|refusedHosts)/);
  });

  it('[AS-CIMD-29] T062: treats URLs as client identifiers exactly when the metadata says so', async () => {
    const on = await setStage();
    const off = await setStage(undefined, { metadataDocuments: false });
    const flag = async (t: Scene) =>
      (await t.send('/.well-known/oauth-authorization-server')).body['client_id_metadata_document_supported'];
    expect([await flag(on), await flag(off)]).toEqual([true, false]);
    await expectConsentPage(on);
    await expectRefused(off, ask());
    expect(off.host.asked).toEqual([]);
  });
});

describe('SSRF protection of document fetches', () => {
  /** A server that must not be connected to. */
  async function trap(): Promise<{ port: number; connections: () => number }> {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    return { port: await listen(server), connections: () => connections };
  }

  it('[AS-CIMD-31 AS-CIMD-65 AS-SSRF-40] T048: the default fetch connects to no private address (SSRF)', async () => {
    const { port, connections } = await trap();
    const t = await setScene({ outbound: {} });
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', 'localtest.internal']) {
      await expectRefused(t, ask(`https://${host}:${port}/client.json`));
    }
    expect(connections()).toBe(0);
  });

  it.each([[['127.0.0.1']], [['93.184.216.34', '10.0.0.1']], [['fc00::1']]])(
    '[AS-CIMD-31 AS-CIMD-65 AS-SSRF-40] T049: refuses to fetch from a host name that resolves to %j (SSRF)',
    async (addresses) => {
      const { port, connections } = await trap();
      const t = await setScene({
        outbound: { fetch: createOutboundFetch({ resolve: async () => addresses }) },
      });
      const sight = await expectRefused(t, ask(`https://rebound.example:${port}/client.json`));
      expect(textOf(sight)).toContain('This server found no client metadata document at the client_id');
      expect(textOf(sight)).not.toMatch(/address|private|network/);
      expect(connections()).toBe(0);
    },
  );

  it('[AS-CIMD-65] fetches through the egress proxy, which resolves the names of configured hosts only', async () => {
    const connected: (string | undefined)[] = [];
    const proxy = createPlainServer().on('connect', ({ url }, socket) => {
      connected.push(url);
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    const url = `http://127.0.0.1:${await listen(proxy)}`;
    const t = await setScene({
      outbound: { proxy: url },
      metadataDocuments: { hosts: ['app.example', '*.tools.example'] },
    });
    await expectRefused(t, ask(), ONE_ERROR);
    await expectRefused(t, ask('https://a.tools.example/c'), /found no client metadata document/);
    expect(connected).toEqual(['app.example:443', 'a.tools.example:443']);
    expect(JSON.stringify(t.events)).toContain('The egress proxy did not connect (502).');
    const direct = await setScene({
      outbound: { proxy: url, noProxy: ['app.example'], timeout: 500 },
      metadataDocuments: { hosts: ['app.example'] },
    });
    expect((await direct.newVisitor().open(ask())).status).toBeGreaterThanOrEqual(400);
    expect(connected).toHaveLength(2);
  });

  it('fetches from loopback where the configuration allows it for development', async () => {
    const server = createPlainServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(documentOf(url)));
    });
    const url = `http://127.0.0.1:${await listen(server)}/client.json`;
    const t = await setScene({ outbound: { allowLoopback: true } });
    await expectConsentPage(t, ask(url));
    await expectRefused(await setScene({ outbound: {} }), ask(url));
  });

  it('[AS-CIMD-63] T051: closes the connection when a response is too large or too slow', async () => {
    let open = 0;
    const server = createPlainServer((request, response) => {
      open += 1;
      response.on('close', () => (open -= 1));
      response.setHeader('content-type', 'application/json');
      response.write(`{"client_id":"`);
      if (request.url === '/slow') return;
      const timer = setInterval(() => response.write('x'.repeat(1000)), 1);
      response.on('close', () => clearInterval(timer));
    });
    const port = await listen(server);
    const t = await setScene({ outbound: { allowLoopback: true } });
    await expectRefused(t, ask(`http://127.0.0.1:${port}/endless`), /found no client metadata document/);
    expect(JSON.stringify(t.events)).toContain('it is larger than 5120 bytes');
    const hasty = await setScene({ outbound: { allowLoopback: true, timeout: 200 } });
    await expectRefused(hasty, ask(`http://127.0.0.1:${port}/slow`), /found no client metadata document/);
    expect(JSON.stringify(hasty.events)).toContain('its host did not respond in time');
    await expect.poll(() => open).toBe(0);
  });
});

/** The only error outside, whatever a document's host did. */
const ONE_ERROR =
  /could not be identified This server could not reach app\.example, or found no valid description of the app there\. .* contact your administrator.* This server found no client metadata document at the client_id: app\.example must respond to it within seconds, with status 200, as application\/json, and with the client_id as its client_id\./;

function fail(reason: OutboundErrorReason, code?: string): Promise<never> {
  const cause = code === undefined ? undefined : Object.assign(new Error(code), { code });
  return Promise.reject(new OutboundError(reason, 'A failure.', cause));
}

describe('responses to a document fetch', () => {
  const body = JSON.stringify(documentOf());
  const json = { 'content-type': 'application/json' };
  const endless = () =>
    new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(' '.repeat(1000))),
    });
  const drip = () =>
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        controller.enqueue(new TextEncoder().encode(' '));
      },
    });

  // biome-ignore format: a table
  const answers: readonly (readonly [string, () => Response | Promise<Response>, RegExp])[] = [
    ['302', () => new Response(null, { status: 302, headers: { location: 'https://elsewhere.example/c' } }), /status 302/],
    ['201', () => new Response(body, { status: 201, headers: json }), /status 201/],
    ['404', () => new Response(body, { status: 404, headers: json }), /status 404/],
    ['410', () => new Response(body, { status: 410, headers: json }), /status 410/],
    ['403 of a firewall', () => new Response('<html>', { status: 403 }), /status 403/],
    ['500', () => new Response(body, { status: 500, headers: json }), /status 500/],
    ['304 to no condition', () => new Response(null, { status: 304 }), /status 304/],
    ['HTML', () => new Response(body, { headers: { 'content-type': 'text/html' } }), /content type/],
    ['text', () => new Response(body, { headers: { 'content-type': 'text/plain' } }), /content type/],
    ['JSON of another name', () => new Response(body, { headers: { 'content-type': 'text/json' } }), /content type/],
    ['JavaScript', () => new Response(body, { headers: { 'content-type': 'application/javascript+jsonp' } }), /content type/],
    ['no content type', () => new Response(new TextEncoder().encode(body)), /content type/],
    ['UTF-16', () => new Response(body, { headers: { 'content-type': 'application/json; charset=utf-16' } }), /content type/],
    ['bytes that are no UTF-8', () => new Response(new Uint8Array([0x22, 0xff, 0x22]), { headers: json }), /UTF-8/],
    ['5,121 bytes', () => new Response(body + ' '.repeat(5121 - body.length), { headers: json }), /larger than 5120 bytes/],
    ['no end', () => new Response(endless(), { headers: json }), /larger than 5120 bytes/],
    ['a byte now and then', () => new Response(drip(), { headers: json }), /did not respond in time/],
    ['nothing at all', () => new Promise(() => {}), /did not respond in time/],
    ['an empty body', () => new Response('', { headers: json }), /well-formed JSON/],
    ['half a document', () => new Response(body.slice(0, 40), { headers: json }), /well-formed JSON/],
    ['a member twice', () => new Response(body.replace('{', '{"client_id":"https://x.example/y",'), { headers: json }), /repeated members/],
    ['JSON of a thousand levels', () => new Response('['.repeat(1000) + ']'.repeat(1000), { headers: json }), /JSON/],
    ['an array', () => respond([documentOf()]), /not a JSON object/],
    ['null', () => respond(null), /not a JSON object/],
    ['a text', () => respond('x'), /not a JSON object/],
    ['an outage', () => Promise.reject(new OutboundError('unreachable', 'The server could not be reached.')), /unreachable: /],
    ['a refused connection', () => fail('unreachable', 'ECONNREFUSED'), /ECONNREFUSED/],
    ['a private address', () => fail('address'), /address: /],
    ['a time limit of the connection', () => fail('timeout'), /timeout: /],
    ['an encoded body', () => Promise.reject(new OutboundError('encoding', 'It is encoded.')), /encoding: /],
  ];

  it.each(answers)(
    '[AS-CIMD-25 AS-CIMD-27 AS-CIMD-62 AS-CIMD-63 AS-CIMD-65] T051 T055: rejects %s as a response to the document fetch, and caches nothing',
    async (_what, answer, words) => {
      const t = await setStage(createDocumentHost({ [APP]: answer }), {});
      const u = await setStage(t.host, { outbound: { fetch: t.host.fetch, timeout: 500 } });
      const sight = await expectRefused(u, ask(), ONE_ERROR);
      // The cause is for the audit log only, or this server could be used to scan ports.
      expect(textOf(sight)).not.toMatch(words);
      expect(u.events).toContainEqual(
        expect.objectContaining({
          type: 'client_metadata_document.rejected',
          clientId: APP,
          reason: expect.stringMatching(words),
          lastGoodCopy: false,
        }),
      );
      // Nothing was kept: as soon as the host is well again, so is the client.
      t.host.pages.set(APP, documentOf());
      await expectConsentPage(u);
    },
  );

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/client+json',
  ])('[AS-CIMD-63] accepts the content type %s, up to 5,120 bytes', async (type) => {
    const answer = () =>
      new Response(body + ' '.repeat(5120 - body.length), { headers: { 'content-type': type } });
    await expectConsentPage(await setStage(createDocumentHost({ [APP]: answer })));
  });
});

describe('contents of a metadata document', () => {
  const rsa = { kty: 'RSA', n: 'x', e: 'AQAB' };

  // biome-ignore format: a table
  const refused: readonly (readonly [string, object, RegExp])[] = [
    ['another client_id', { client_id: 'https://app.example/other.json' }, ONE_ERROR],
    ['its client_id with a slash', { client_id: `${APP}/` }, ONE_ERROR],
    ['its client_id in capitals', { client_id: APP.replace('client', 'Client') }, ONE_ERROR],
    ['its client_id with the port', { client_id: APP.replace('.example', '.example:443') }, ONE_ERROR],
    ['its client_id percent-encoded', { client_id: APP.replace('client', '%63lient') }, ONE_ERROR],
    ['no client_id', { client_id: undefined }, ONE_ERROR],
    ['a client_id that is no text', { client_id: [APP] }, ONE_ERROR],
    ['no name', { client_name: undefined }, /client_name/],
    ['a blank name', { client_name: '  ' }, /client_name/],
    ['a name that is no text', { client_name: 7 }, /client_name/],
    ['no redirect URIs', { redirect_uris: undefined }, /redirect_uris/],
    ['an empty list of redirect URIs', { redirect_uris: [] }, /redirect_uris/],
    ['a redirect URI that is a script', { redirect_uris: ['javascript:alert(1)'] }, /redirect_uris/],
    ['a good and a dangerous redirect URI', { redirect_uris: ['https://app.example/callback', 'http://evil.example/cb'] }, /redirect_uris/],
    ['a wildcard', { redirect_uris: ['https://*.app.example/callback'] }, /redirect_uris/],
    ['a secret', { client_secret: 'x' }, /client_secret must not be included/],
    ['an expiry of a secret', { client_secret_expires_at: 0 }, /client_secret_expires_at must not be included/],
    ['client_secret_basic', { token_endpoint_auth_method: 'client_secret_basic' }, /token_endpoint_auth_method/],
    ['client_secret_post', { token_endpoint_auth_method: 'client_secret_post' }, /token_endpoint_auth_method/],
    ['client_secret_jwt', { token_endpoint_auth_method: 'client_secret_jwt' }, /token_endpoint_auth_method/],
    ['a secret as its method, beside others in a list', { token_endpoint_auth_method: 'client_secret_basic', token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'] }, /token_endpoint_auth_method: must be none or private_key_jwt/],
    ['only methods by secrets', { token_endpoint_auth_method: undefined, token_endpoint_auth_methods_supported: ['client_secret_basic'] }, /methods_supported: must hold none or private_key_jwt/],
    ['methods that are no list', { token_endpoint_auth_methods_supported: 'none' }, /methods_supported/],
    ['a key method without keys', { token_endpoint_auth_method: 'private_key_jwt' }, /jwks/],
    ['a private key', { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [{ ...rsa, d: 'x' }] } }, /jwks/],
    ['a symmetric key', { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [{ kty: 'oct', k: 'x' }] } }, /jwks/],
    ['keys by value and by address', { jwks: { keys: [rsa] }, jwks_uri: 'https://app.example/jwks' }, /jwks/],
    ['keys inside a network', { jwks_uri: 'https://10.0.0.1/jwks' }, /jwks_uri/],
    ['an algorithm without a key pair', { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [rsa] }, token_endpoint_auth_signing_alg: 'HS256' }, /signing_alg/],
    ['a page over http', { client_uri: 'http://app.example' }, /client_uri: must use https/],
    ['a logo over http', { logo_uri: 'http://app.example/logo.png' }, /logo_uri: must use https/],
    ['a script for a page', { policy_uri: 'javascript:alert(1)' }, /policy_uri/],
    ['an unsupported grant type', { grant_types: ['implicit'] }, /grant_types/],
  ];

  it.each(refused)(
    '[AS-CIMD-22 AS-CIMD-25 AS-CIMD-27 AS-CIMD-61] T052: rejects a metadata document with %s',
    async (_what, changes, words) => {
      const t = await setStage(createDocumentHost({ [APP]: documentOf(APP, changes) }));
      await expectRefused(t, ask(), words);
      t.host.pages.set(APP, documentOf());
      await expectConsentPage(t);
    },
  );

  it('[AS-CIMD-62] a server without a network responds 503 to a new client, and known clients continue', async () => {
    const t = await setStage();
    const { refresh_token } = await getTokens(t);
    const other = 'https://other.example/c';
    t.host.pages.set(other, () => fail('egress', 'EAI_AGAIN'));
    t.host.pages.set(APP, () => fail('egress', 'EAI_AGAIN'));
    t.clock.now += 300;
    const before = t.snapshot();
    const sight = await t.newVisitor().open(ask(other));
    expect([sight.status, sight.headers.get('retry-after'), sight.left]).toEqual([503, '5', null]);
    expect(textOf(sight)).toMatch(/could not reach other\.example, .*contact your administrator/);
    expect(textOf(sight)).toContain('This server has no network connection to other.example at present.');
    expect(textOf(sight)).not.toContain('remove this connection');
    const { status, body, headers } = await t.post('/token', refreshing('x', other));
    expect([status, body['error'], headers.get('retry-after')]).toEqual([
      503,
      'temporarily_unavailable',
      '5',
    ]);
    expect(t.snapshot()).toBe(before);
    await expectConsentPage(t);
    expect((await t.post('/token', refreshing(refresh_token, APP))).status).toBe(200);
  });

  it('T051: members named like prototypes do no harm in a metadata document', async () => {
    const text = JSON.stringify(documentOf()).replace(
      '{',
      '{"__proto__":{"client_secret":"x","trusted":true},',
    );
    const t = await setStage(
      createDocumentHost({
        [APP]: () => new Response(text, { headers: { 'content-type': 'application/json' } }),
      }),
    );
    await expectConsentPage(t);
    expect(({} as Record<string, unknown>)['trusted']).toBeUndefined();
  });

  it('a metadata document may have unknown grant types and members, as those of known clients do', async () => {
    const t = await setStage(
      createDocumentHost({
        [APP]: documentOf(APP, {
          grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
          token_endpoint_auth_method: undefined,
          logo_uri: 'https://app.example/logo.png',
          id_token_signed_response_alg: 'ES256',
        }),
      }),
    );
    expect(await getTokens(t)).toHaveProperty('refresh_token');
  });

  it('ignores a private-use redirect beside others in a metadata document', async () => {
    const redirect_uris = ['cursor://anysphere.cursor-mcp/callback', 'https://app.example/callback'];
    const t = await setStage(createDocumentHost({ [APP]: documentOf(APP, { redirect_uris }) }));
    await expectConsentPage(t);
    await expectRefused(t, ask(APP, redirect_uris[0]));
    const allowing = await setStage(t.host, { privateUseSchemes: ['cursor'] });
    await expectConsentPage(allowing, ask(APP, redirect_uris[0]));
  });
});

describe('caching of metadata documents', () => {
  const host = (headers: Record<string, string>) =>
    createDocumentHost({ [APP]: () => respond(documentOf(), headers) });

  // biome-ignore format: a table
  const freshness: readonly (readonly [string, Record<string, string>, number])[] = [
    ['what it says', { 'cache-control': 'max-age=1000' }, 1000],
    ['what it says to shared caches', { 'cache-control': 'max-age=10, s-maxage="1000"' }, 1000],
    ['its max-age less its age', { 'cache-control': 'public, Max-Age=1000', age: '400' }, 600],
    ['its max-age, written with spaces', { 'cache-control': 'public , max-age = 1000' }, 1000],
    ['its max-age if it varies by a header that is always the same', { vary: 'accept-encoding', 'cache-control': 'max-age=1000' }, 1000],
    ['a day at most', { 'cache-control': 'max-age=315360000' }, 86_400],
    ['the time until its Expires', { date: 'Fri, 15 Jan 2027 08:00:00 GMT', expires: 'Fri, 15 Jan 2027 08:10:00 GMT' }, 600],
    ['five minutes without cache headers', {}, 300],
    ['no time: no-store', { 'cache-control': 'no-store, max-age=1000' }, 0],
    ['no time: no-cache', { 'cache-control': 'no-cache' }, 0],
    ['no time: private', { 'cache-control': 'private, max-age=1000' }, 0],
    ['no time: max-age=0', { 'cache-control': 'max-age=0' }, 0],
    ['no time: an age above max-age', { 'cache-control': 'max-age=10', age: '20' }, 0],
    ['no time: a negative max-age', { 'cache-control': 'max-age=-1' }, 0],
    ['no time: text after the number', { 'cache-control': 'max-age=1000x' }, 0],
    ['no time: text before the number', { 'cache-control': 'max-age=x1000' }, 0],
    ['no time: an opening quote only', { 'cache-control': 'max-age="1000' }, 0],
    ['no time: a closing quote only', { 'cache-control': 'max-age=1000"' }, 0],
    ['no time: an invalid Expires', { expires: '0' }, 0],
    ['no time: Vary: *', { vary: '*', 'cache-control': 'max-age=1000' }, 0],
  ];

  it.each(freshness)(
    '[AS-CIMD-23] T055: a metadata document is fresh for %s',
    async (_what, headers, seconds) => {
      const t = await setStage(host(headers));
      t.clock.now = 1_799_999_000;
      await expectConsentPage(t);
      if (seconds > 0) {
        t.clock.now += seconds - 1;
        await expectConsentPage(t);
        expect(t.host.asked).toHaveLength(1);
        t.clock.now += 1;
      }
      await expectConsentPage(t);
      expect(t.host.asked).toHaveLength(2);
    },
  );

  it('[AS-CIMD-23] revalidates a stale metadata document with a conditional request', async () => {
    const seen: (string | null)[][] = [];
    const headers = {
      etag: '"v1"',
      'last-modified': 'Fri, 20 Nov 2026 08:00:00 GMT',
      'cache-control': 'max-age=60',
    };
    const t = await setStage(
      createDocumentHost({
        [APP]: (request) => {
          const conditions = ['if-none-match', 'if-modified-since'].map((name) => request.headers.get(name));
          seen.push(conditions);
          return conditions[0] === '"v1"'
            ? new Response(null, { status: 304, headers: { 'cache-control': 'max-age=120' } })
            : respond(documentOf(), headers);
        },
      }),
    );
    await expectConsentPage(t);
    t.clock.now += 60;
    await expectConsentPage(t);
    t.clock.now += 119;
    await expectConsentPage(t);
    expect(seen).toEqual([
      [null, null],
      ['"v1"', 'Fri, 20 Nov 2026 08:00:00 GMT'],
    ]);
  });

  it('cached metadata documents survive a restart, and processes on one store share them', async () => {
    const store = await openEmptyStore();
    const shared = host({ 'cache-control': 'max-age=1000' });
    await expectConsentPage(await setStage(shared, { store }));
    const other = await setScene({ store: sharing(store), outbound: { fetch: shared.fetch } });
    await expectConsentPage(other);
    expect(shared.asked).toHaveLength(1);
  });

  it('T055: a changed metadata document applies at once: redirects it dropped are rejected, and consent is requested again', async () => {
    const t = await setStage(host({ 'cache-control': 'max-age=60' }));
    await decide(t.visitor, ask());
    t.host.pages.set(
      APP,
      documentOf(APP, { client_name: 'Newer', redirect_uris: ['https://app.example/new'] }),
    );
    t.clock.now += 60;
    expect((await t.newVisitor().open(ask())).status).toBe(400);
    const consent = await t.visitor.signIn(ask(APP, 'https://app.example/new'));
    expect(textOf(consent)).toContain('Newer wants to use');
    expect(t.events).toContainEqual(expect.objectContaining({ type: 'client.changed', clientId: APP }));
  });

  it('a consent decision on one version of a metadata document does not apply to the next', async () => {
    const t = await setStage(host({ 'cache-control': 'no-store' }));
    const consent = await t.visitor.signIn(ask());
    t.host.pages.set(APP, documentOf(APP, { client_name: 'Another name' }));
    await t.newVisitor().open(ask());
    const stale = await t.visitor.submit(consent, { decision: 'allow' });
    expect([stale.status, stale.left]).toEqual([403, null]);
    const again = await t.visitor.open(consent.path);
    expect(textOf(again)).toContain('Another name wants to use');
    expect((await t.visitor.submit(again, { decision: 'allow' })).left?.searchParams.has('code')).toBe(true);
  });

  it('an authorization transaction in progress does not fetch the document again', async () => {
    const t = await setStage(host({ 'cache-control': 'no-store' }));
    const { left } = await decide(t.visitor, ask());
    expect(left?.searchParams.has('code')).toBe(true);
    expect(t.host.asked).toHaveLength(1);
  });
});

describe('pinned documents', () => {
  const pin = (changes: object = {}, more: Partial<AuthorizationServerOptions> = {}) => ({
    metadataDocuments: { hosts: ['other.example'], pinned: [documentOf(APP, changes)] },
    ...more,
  });

  it('[AS-CIMD-20] a pinned document is used as it is, and nothing is fetched', async () => {
    const t = await setStage(createDocumentHost(), pin());
    const { refresh_token } = await getTokens(t);
    expect((await t.post('/token', refreshing(refresh_token, APP))).status).toBe(200);
    t.clock.now += 8 * 86_400;
    await expectConsentPage(t);
    expect(t.host.asked).toEqual([]);
    await expectRefused(t, ask('https://app.example/other.json'));
    await expectRefused(t, ask(APP, 'https://evil.example/callback'));
  });

  it('[AS-CIMD-64] consent names the host of a pinned document, and is bound to its contents', async () => {
    const t = await setStage(createDocumentHost(), pin());
    expect(textOf(await t.visitor.signIn(ask()))).toContain('app.example');
    await getTokens(t);
    const changed = await setScene({ ...pin({ client_name: 'Another name' }), store: sharing(t.store) });
    const again = await changed.visitor.signIn(ask());
    expect(textOf(again)).toContain('Another name wants to use');
  });

  it.each([
    ['another scheme', { client_id: 'http://app.example/c' }, 'The client_id must use https.'],
    ['no client_id', { client_id: undefined }, 'The client_id must be a well-formed https URL'],
    ['a list as client_id', { client_id: [APP] }, 'The client_id must be a well-formed https URL'],
    ['a secret', { client_secret: 'x' }, 'client_secret must not be included'],
    ['no name', { client_name: '' }, 'client_name is missing'],
  ])('a pinned document with %s is refused at startup', async (_what, changes, words) => {
    await expect(setStage(createDocumentHost(), pin(changes))).rejects.toThrow(words);
  });
});

describe('a document host that fails', () => {
  const bad: readonly (readonly [string, () => Response | Promise<Response>])[] = [
    ['with the 403 of a firewall', () => new Response('<html>', { status: 403 })],
    ['with 404', () => new Response(null, { status: 404 })],
    ['with 500', () => respond({ error: 'x' }, {}, 500)],
    ['with a page', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['with the document of another client', () => respond(documentOf('https://other.example/c'))],
    [
      'not at all',
      () => Promise.reject(new OutboundError('unreachable', 'The server could not be reached.')),
    ],
  ];

  it.each(bad)(
    '[AS-CIMD-62] T055: uses the last good copy for a day when the host responds %s',
    async (_what, answer) => {
      const t = await setStage();
      const { refresh_token } = await getTokens(t);
      t.host.pages.set(APP, answer);
      t.clock.now += 86_399;
      await expectConsentPage(t);
      expect(t.events).toContainEqual(
        expect.objectContaining({
          type: 'client_metadata_document.rejected',
          clientId: APP,
          lastGoodCopy: true,
        }),
      );
      const { status, body } = await t.post('/token', refreshing(refresh_token, APP));
      expect(status).toBe(200);

      t.clock.now += 1;
      await expectRefused(t, ask());
      t.host.pages.set(APP, documentOf());
      await expectConsentPage(t);
      expect((await t.post('/token', refreshing(body['refresh_token'], APP))).status).toBe(200);
    },
  );

  it('a metadata document fetched while the clock was ahead is fetched again, and is no last good copy', async () => {
    const t = await setStage();
    t.clock.now += 100_000;
    await expectConsentPage(t);
    t.clock.now -= 60;
    t.host.pages.set(APP, () => new Response(null, { status: 404 }));
    await expectConsentPage(t);
    expect(t.host.asked).toHaveLength(1);
    t.clock.now -= 1;
    await expectRefused(t, ask());
    t.host.pages.set(APP, documentOf());
    await expectConsentPage(t);
    await expectConsentPage(t);
    expect(t.host.asked).toHaveLength(3);
  });

  it('a 410 response withdraws the metadata document', async () => {
    const t = await setStage();
    const { refresh_token } = await getTokens(t);
    t.host.pages.set(APP, () => new Response(null, { status: 410 }));
    t.clock.now += 300;
    await expectRefused(t, ask());
    const refused = await t.post('/token', refreshing(refresh_token, APP));
    expect([refused.status, refused.body['error']]).toEqual([401, 'invalid_client']);
    t.host.pages.set(APP, documentOf());
    expect((await t.post('/token', refreshing(refresh_token, APP))).status).toBe(200);
  });
});

describe('rate limits of document fetches', () => {
  it('T056: 500 concurrent requests for one document cause one fetch (single flight)', async () => {
    const everybodyAsked = Promise.withResolvers<void>();
    const t = await setStage(
      createDocumentHost({
        [APP]: async () => {
          await everybodyAsked.promise;
          return respond(documentOf(), { 'cache-control': 'no-store' });
        },
      }),
    );
    const asking = Array.from({ length: 500 }, () => t.send(ask()));
    // Nothing that they do before they wait for the document takes that many turns.
    for (let turns = 0; turns < 200; turns += 1) await nextTurn();
    everybodyAsked.resolve();
    const answers = await Promise.all(asking);
    expect(answers.map(({ status }) => status)).toEqual(new Array(500).fill(303));
    expect(t.host.asked).toHaveLength(1);
  });

  it('T056: 1,000 documents of one host cause twenty fetches a minute, four of them for one site, and the rest is rejected at once', async () => {
    const t = await setStage();
    await expectConsentPage(t);
    const victim = (index: number) => `https://victim.example/${index}`;
    const statuses: number[] = [];
    for (let index = 0; index < 1000; index += 1) {
      const { status, headers } = await t.newVisitor(`198.51.100.${index % 50}`).open(ask(victim(index)));
      statuses.push(status);
      if (status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(statuses.filter((status) => status === 400)).toHaveLength(20);
    expect(statuses.filter((status) => status === 503)).toHaveLength(980);
    expect(t.host.asked.filter((url) => url.startsWith('https://victim.example'))).toHaveLength(20);
    // A known client does not suffer, nor does another host's new one.
    await expectConsentPage(t);
    t.host.pages.set('https://new.example/c', documentOf('https://new.example/c'));
    await expectConsentPage(t, ask('https://new.example/c'));
    t.clock.now += 60;
    for (let index = 0; index < 5; index += 1)
      statuses.push((await t.newVisitor().open(ask(victim(index)))).status);
    expect(statuses.slice(-5)).toEqual([400, 400, 400, 400, 503]);
  });

  it('T056: hosts that are named but never fetched from do not reset the rate limit of another', () => {
    const { take } = createFetchBudget(() => 0, outboundFetches.new);
    const took = (network: string) => take('https://host.example', network) === 0;
    const networks = Array.from({ length: 400 }, (_, number) => `192.0.2.${number % 100}`);
    expect(networks.filter(took)).toHaveLength(20);
    for (let number = 0; number < 10_001; number += 1) take(`https://${number}.example`, networks[0] ?? null);
    expect(took('198.51.100.1')).toBe(false);
  });

  it('T056: many hosts together cause 120 fetches of new documents a minute, and known ones are renewed from a reserve', async () => {
    const t = await setStage();
    await expectConsentPage(t);
    t.clock.now += 300;
    for (let index = 0; index < 300; index += 1) {
      await t.newVisitor(`198.51.100.${index % 250}`).open(ask(`https://h${index}.example/c`));
    }
    // Fetches that were not made leave no event.
    const told = t.events.filter(({ type }) => type === 'client_metadata_document.rejected');
    expect(told.length).toBeLessThanOrEqual(120);
    expect(told.length).toBeGreaterThan(100);
    expect(t.host.asked).toHaveLength(121);
    await expectConsentPage(t);
    expect(t.host.asked.slice(121)).toEqual([APP]);
  });

  it('T056: a withdrawn document is noticed although another user exhausts the fetches of its host', async () => {
    const t = await setStage();
    const { refresh_token } = await getTokens(t);
    t.host.pages.set(APP, () => new Response(null, { status: 410 }));
    t.clock.now += 300;
    for (let index = 0; index < 100; index += 1) {
      await t.newVisitor(`198.51.100.${index}`).open(ask(`https://app.example/${index}`));
    }
    await expectRefused(t, ask());
    const refused = await t.post('/token', refreshing(refresh_token, APP));
    expect([refused.status, refused.body['error']]).toEqual([401, 'invalid_client']);
    // Nor does an outage bring it back.
    t.host.pages.set(APP, () => new Response(null, { status: 502 }));
    await expectRefused(t, ask());
    t.host.pages.set(APP, documentOf());
    await expectConsentPage(t);
  });

  it('T056: for lack of budget, a stale document is used only if its host was asked within a minute', async () => {
    const page = (url: string) => () => respond(documentOf(url), { 'cache-control': 'no-store' });
    const busy = Array.from({ length: 12 }, (_, index) => `https://h${index}.example/c`);
    const t = await setStage(
      createDocumentHost(Object.fromEntries([APP, ...busy].map((url) => [url, page(url)]))),
    );
    for (let index = 0; index < 30; index += 1) await expectConsentPage(t);
    expect(t.host.asked).toHaveLength(5);
    for (const url of busy) await t.newVisitor('203.0.113.1').open(ask(url));
    t.clock.now += 61;
    for (let index = 0; index < 400; index += 1)
      await t.newVisitor(`198.51.100.${index % 200}`).open(ask(busy[index % 12]));
    const before = t.snapshot();
    const { status, headers } = await t.newVisitor().open(ask());
    expect([status, Number(headers.get('retry-after')) > 0]).toEqual([503, true]);
    expect(t.snapshot()).toBe(before);
    t.clock.now += 60;
    await expectConsentPage(t);
  });

  it('T056: while the host of a known document is down, an exhausted budget changes nothing', async () => {
    const t = await setStage();
    await expectConsentPage(t);
    t.host.pages.set(APP, () => new Response(null, { status: 502 }));
    t.clock.now += 3000;
    for (let index = 0; index < 30; index += 1) await expectConsentPage(t);
    expect(t.host.asked).toHaveLength(5);
  });

  it('T056: a site gets a quarter of what remains of an origin, for new documents and for renewals', async () => {
    const page = (url: string) => () => respond(documentOf(url), { 'cache-control': 'no-store' });
    const t = await setStage(createDocumentHost({ [APP]: page(APP) }));
    const open = async (address: string, url: string) => (await t.newVisitor(address).open(ask(url))).status;
    for (let index = 0; index < 30; index += 1) await open('203.0.113.1', `https://app.example/${index}`);
    expect(t.host.asked).toHaveLength(4);
    const other = 'https://app.example/other.json';
    t.host.pages.set(other, page(other));
    expect(await open('198.51.100.1', other)).toBe(200);
    for (let index = 0; index < 30; index += 1) await open('203.0.113.1', other);
    const asked = t.host.asked.length;
    expect(asked).toBeLessThan(11);
    expect(await open('198.51.100.1', other)).toBe(200);
    expect(t.host.asked).toHaveLength(asked + 1);
  });

  it('T056: one network may cause a fifth of all document fetches, and other networks continue', async () => {
    const t = await setStage();
    const greedy = async (address: string, hosts = 100) => {
      const before = t.host.asked.length;
      let last: Sight | undefined;
      for (let index = 0; index < hosts; index += 1) {
        last = await t
          .newVisitor(address)
          .open(ask(`https://h${index}.${address.replaceAll(':', '-')}.example/c`));
      }
      return { last, asked: t.host.asked.length - before };
    };
    const { last, asked } = await greedy('203.0.113.1');
    expect([asked, last?.status]).toEqual([24, 503]);
    const wait = Number(last?.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    // Wherever in a network or a site they are: it has one share.
    expect((await greedy('2001:db8::1')).asked).toBeGreaterThan(10);
    expect((await greedy('2001:db8::2', 5)).asked).toBe(0);
    expect((await greedy('2001:db8:0:1::1', 5)).asked).toBe(0);
    for (let network = 2; network < 12; network += 1) await greedy(`203.0.113.${network}`, 30);
    for (const elsewhere of ['198.51.100.1', '198.51.100.2', '198.51.100.3']) {
      const app = `https://app-of.${elsewhere}.example/c`;
      t.host.pages.set(app, documentOf(app));
      expect((await t.newVisitor(elsewhere).open(ask(app))).path).toMatch(/^\/login/);
    }
    t.clock.now += wait + 60;
    expect((await greedy('203.0.113.1')).asked).toBeGreaterThan(10);
  });

  it('T056: a site with many networks and ten requests a second does not lock out new clients of other sites', async () => {
    const t = await setStage();
    for (let second = 0; second < 60; second += 1) {
      t.clock.now += 1;
      for (let number = 0; number < 10; number += 1) {
        const count = second * 10 + number;
        const visitor = t.newVisitor(`2001:db8:7:${count.toString(16)}::1`);
        await visitor.open(ask(`https://h${count}.example.net/c`));
      }
      const app = `https://app-${second}.example/c`;
      t.host.pages.set(app, documentOf(app));
      expect((await t.newVisitor(`198.51.100.${second}`).open(ask(app))).path).toMatch(/^\/login/);
    }
    expect(t.host.asked.filter((url) => url.includes('.example.net/')).length).toBeLessThan(60);
  });

  it('T143: deletes a document without a grant after an hour, and keeps one with a grant', async () => {
    const other = 'https://other.example/c';
    const t = await setStage(createDocumentHost({ [APP]: documentOf(), [other]: documentOf(other) }));
    await getTokens(t);
    await expectConsentPage(t, ask(other));
    t.clock.now += 3600;
    await t.store.sweep(t.clock.now, 100);
    expect(await t.store.findClientMetadataDocument(other)).toBeNull();
    expect(await t.store.findClientMetadataDocument(APP)).toMatchObject({ lastUsedAt: t.clock.now - 3600 });
  });
});

/** The same store for a second server, which must not make its accounts or close it. */
function sharing(store: ServerUnderTest['store']): typeof store {
  return { ...store, close: async () => {} };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    if ('closeAllConnections' in server)
      (server as ReturnType<typeof createPlainServer>).closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}
