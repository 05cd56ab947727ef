/** The authorization endpoint: which requests it accepts, and where it sends the errors of others. */
import { temporarilyUnavailable } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { lookupKeyOf } from '../src/secrets.ts';
import { CLIENTS, FILES, ISSUER, NOTES } from './server-under-test.ts';
import {
  CHALLENGE,
  createVisitor,
  decide,
  referenceOf,
  requestOf,
  type Scene,
  type Sight,
  setScene,
  textOf,
} from './visitor.ts';

/** A page of this server, with its status: no redirect, no code, no CORS, nothing stored. */
async function expectPage(t: Scene, path: string, status = 400, visitor = t.visitor): Promise<Sight> {
  const before = t.snapshot();
  const sight = await visitor.open(path);
  expect([sight.status, sight.headers.get('location'), sight.left]).toEqual([status, null, null]);
  expect(sight.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(t.snapshot()).toBe(before);
  return sight;
}

/** An error redirect, with state and issuer, and nothing stored. */
async function expectRedirect(t: Scene, path: string, error: string, visitor = t.visitor): Promise<URL> {
  const before = t.snapshot();
  const { status, left } = await visitor.open(path);
  expect([path, status, left?.searchParams.get('error')]).toEqual([path, 303, error]);
  expect(left?.searchParams.getAll('iss')).toEqual([ISSUER]);
  expect(left?.searchParams.has('code')).toBe(false);
  expect(t.snapshot()).toBe(before);
  if (left === null) throw new Error('unreachable');
  return left;
}

async function expectLogin(t: Scene, path: string): Promise<void> {
  const sight = await t.newVisitor().open(path);
  expect([path, sight.status, sight.path.split('?')[0]]).toEqual([path, 200, '/login']);
}

describe('client and redirect URI', () => {
  it('[AS-AUTHZ-63] T010: shows an error page for an unknown or missing client, whatever else is wrong', async () => {
    const t = await setScene();
    for (const client_id of [undefined, '', 'unknown', '<script>alert(1)</script>', 'x'.repeat(5000)]) {
      const sight = await expectPage(t, requestOf({ client_id }));
      expect(sight.html).not.toMatch(/<script(?! src="\/assets\/[\w-]{16}\.js" defer><\/script>)|xxxx/);
      await expectPage(
        t,
        requestOf({ client_id, scope: 'nonsense', response_type: 'token', prompt: 'none' }),
      );
    }
    await expectLogin(t, requestOf());
  });

  it('[AS-AUTHZ-63] logs the error of a page under the reference that the page shows', async () => {
    const t = await setScene();
    const sight = await expectPage(t, requestOf({ client_id: 'unknown' }));
    const reference = referenceOf(sight);
    expect(reference).toMatch(/^[2-9A-Z]{4}-[2-9A-Z]{4}$/);
    expect(t.events).toContainEqual(
      expect.objectContaining({
        type: 'request.rejected',
        endpoint: '/authorize',
        error: 'invalid_client',
        reference,
      }),
    );
  });

  const mutations: readonly string[] = [
    'https://app.example/callback/', 'https://app.example/Callback', 'HTTPS://app.example/callback',
    'https://APP.EXAMPLE/callback', 'https://app.example:443/callback', 'https://app.example:8443/callback',
    'https://app.example/callback?x=1', 'https://app.example/callback#f', 'https://app.example/./callback',
    'https://app.example/x/../callback', 'https://app.example/x/..;/callback', 'https://app.example/%63allback',
    'https://app.example/%2fcallback', 'https://app.example./callback', 'https://app.example.evil.test/callback',
    'https://app.example%2eevil.test/callback', 'https://evil.test\\@app.example/callback',
    ' https://app.example/callback', '\thttps://app.example/callback', 'https://app.example/call\nback',
    'https://app.example/callback%00', 'https://app.ex\u0430mple/callback', 'https://app\uff0eexample/callback',
    'https://evil.example/cb', '//app.example/callback', '/callback', 'http://app.example/callback', '*',
    'https://*.example/callback', 'https://user@app.example/callback',
  ]; // biome-ignore format: a table

  it('[AS-AUTHZ-64 AS-REDIR-1 AS-REDIR-23] T001 T002: compares the redirect URI byte for byte, whether or not the user is signed in', async () => {
    const t = await setScene();
    await decide(t.visitor, requestOf());
    for (const redirect_uri of mutations) {
      await expectPage(t, requestOf({ redirect_uri }));
      await expectPage(t, requestOf({ redirect_uri }), 400, t.newVisitor());
    }
    expect((await t.visitor.open(requestOf())).path).toMatch(/^\/consent/);
  });

  it('T003: rejects a redirect URI that hides its host behind user information', async () => {
    const t = await setScene();
    const client_id = await t.registerClient({
      redirect_uris: ['http://127.0.0.1/cb', 'http://localhost/cb', 'http://[::1]/cb'],
    });
    for (const redirect_uri of [
      'http://localhost:80@attacker.test/cb',
      'http://127.0.0.1@evil/cb',
      'http://a@b@localhost/cb',
      'http://localhost%40evil/cb',
      'http://localhost@127.0.0.1/cb',
      'http://localhost:1:2/cb',
    ]) {
      // biome-ignore format: a table
      await expectPage(t, requestOf({ client_id, redirect_uri }));
    }
    await expectLogin(t, requestOf({ client_id, redirect_uri: 'http://localhost:80/cb' }));
  });

  const loopback = [
    'http://127.0.0.1:3000/cb',
    'http://[::1]:1/six',
    'http://localhost:1/name',
    'http://localhost/bare',
  ];

  it('[AS-REDIR-21 AS-REDIR-22 AS-REDIR-26] T004: allows a different port in a loopback redirect URI, and no other difference', async () => {
    const t = await setScene();
    const client_id = await t.registerClient({ redirect_uris: loopback });
    for (const redirect_uri of [
      ...loopback,
      'http://127.0.0.1:51004/cb',
      'http://127.0.0.1/cb',
      'http://[::1]:2/six',
      'http://localhost:65535/name',
      'http://localhost:49152/bare',
    ]) {
      // biome-ignore format: a table
      await expectLogin(t, requestOf({ client_id, redirect_uri }));
    }
    for (const redirect_uri of [
      'http://127.0.0.1:3000/other',
      'https://127.0.0.1:3000/cb',
      'http://127.0.0.2:3000/cb',
      'http://localhost:3000/cb',
      'http://[::1]:3000/cb',
      'http://127.1:3000/cb',
      'http://0x7f.1:3000/cb',
      'http://127.0.0.1.evil.test:3000/cb',
      'http://localhost.evil.test/bare',
      'http://127.0.0.1:3000/cb?x=1',
      'http://127.0.0.1:65536/cb',
      'http://127.0.0.1:/cb',
    ]) {
      // biome-ignore format: a table
      await expectPage(t, requestOf({ client_id, redirect_uri }));
    }
  });

  it('[AS-REDIR-5 AS-REDIR-24] T005: never redirects to an unsafe URI in a stored client record', async () => {
    const t = await setScene();
    const legacy = [
      `${ISSUER}/callback`, 'javascript:alert(1)', 'JaVaScRiPt:alert(1)', ' javascript:alert(1)', 'java\tscript:alert(1)', 'data:text/html,x',
      'vbscript:x', 'blob:https://x/y', 'file:///etc/passwd', 'view-source:https://x', 'http://evil.example/cb', 'myapp://cb',
      'com.example.app:/cb', 'https://evil.example;frame-ancestors/cb',
    ]; // biome-ignore format: a table
    await t.store.saveClient({
      id: 'client_legacy',
      origin: 'registered',
      metadata: {
        redirect_uris: [...legacy, 'https://fine.example/cb'],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        application_type: 'web',
      },
      secretHash: null,
      previousSecret: null,
      managementHash: null,
      disabledAt: null,
      enabledAt: null,
      verifiedAt: null,
      lastUsedAt: null,
      expiresAt: null,
      createdAt: t.clock.now,
    });
    for (const redirect_uri of legacy) {
      const sight = await expectPage(t, requestOf({ client_id: 'client_legacy', redirect_uri }));
      expect(sight.html).not.toMatch(/href="(?!\/assets\/|\/language\?)|http-equiv|script:/i);
      const { status, body } = await t.register({ redirect_uris: [redirect_uri] });
      expect([redirect_uri, status, body['error']]).toEqual([redirect_uri, 400, 'invalid_redirect_uri']);
    }
    await expectLogin(t, requestOf({ client_id: 'client_legacy', redirect_uri: 'https://fine.example/cb' }));
  });

  it('[AS-AUTHZ-79] T067: rejects a redirect URI whose host would end a CSP directive of the consent page', async () => {
    const t = await setScene();
    for (const end of [';frame-ancestors', ',x', "'", '&=']) {
      const before = t.snapshot();
      const { status, body } = await t.register({ redirect_uris: [`https://evil.example${end}/cb`] });
      expect([end, status, body['error']]).toEqual([end, 400, 'invalid_redirect_uri']);
      expect(t.snapshot()).toBe(before);
    }
    // After the host these characters are harmless, and kept.
    const redirect_uri = 'https://fine.example/cb;frame-ancestors';
    const client_id = await t.registerClient({ redirect_uris: [redirect_uri] });
    const consent = await t.visitor.signIn(requestOf({ client_id, redirect_uri }));
    expect(consent.headers.get('content-security-policy')?.split('; ')).toEqual([
      "default-src 'none'",
      "style-src 'self'",
      expect.stringMatching(/^form-action 'self' https:\/\/fine\.example /),
      "img-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ]);
  });

  it('[AS-AUTHZ-64 AS-AUTHZ-65] requires a redirect URI unless exactly one is registered', async () => {
    const t = await setScene();
    const two = await t.registerClient({ redirect_uris: ['https://a.example/cb', 'https://b.example/cb'] });
    await expectPage(t, requestOf({ client_id: two, redirect_uri: undefined }));
    const { left } = await decide(t.visitor, requestOf({ redirect_uri: undefined }));
    expect(left?.href.startsWith('https://app.example/callback?code=')).toBe(true);
  });

  it('[AS-AUTHZ-61] T006: rejects repeated parameters, with a page if they identify the client', async () => {
    const t = await setScene();
    for (const repeated of ['client_id=web', 'redirect_uri=https%3A%2F%2Fapp.example%2Fcallback']) {
      await expectPage(t, `${requestOf()}&${repeated}`);
    }
    for (const repeated of [
      'state=b',
      'scope=notes:read',
      `code_challenge=${CHALLENGE}`,
      'response_type=code',
      'prompt=login',
      'response_mode=query',
      'ui_locales=en',
    ]) {
      // biome-ignore format: a table
      const path = `${requestOf({ scope: 'notes:read', prompt: 'login', response_mode: 'query', ui_locales: 'de' })}&${repeated}`;
      const url = await expectRedirect(t, path, 'invalid_request');
      expect(url.searchParams.get('state')).toBe(repeated.startsWith('state') ? null : 'xyz');
    }
    await expectLogin(t, `${requestOf({ resource: NOTES })}&resource=${encodeURIComponent(NOTES)}`);
  });

  it('[AS-AUTHZ-61] T006: ignores unknown parameters and treats empty ones as left out', async () => {
    const t = await setScene();
    await expectLogin(
      t,
      `${requestOf()}&__proto__[scope]=admin&constructor.prototype.x=1&x=1&x=2&scope=&prompt=`,
    );
    expect(({} as Record<string, unknown>)['scope']).toBeUndefined();
    await expectPage(t, requestOf({ client_id: undefined }).replace('?', '?client_id[$ne]=&'));
    await expectPage(
      t,
      requestOf({ redirect_uri: undefined }).replace('?', '?redirect_uri[]=https://evil.example&client_id='),
    );
  });
});

describe('parameters of an authorization request', () => {
  const refusals: readonly [string, Record<string, string | undefined>, string][] = [
    ['[AS-AUTHZ-66] T009: no response type', { response_type: undefined }, 'invalid_request'],
    ['[AS-AUTHZ-66] T009: an access token in the front channel', { response_type: 'token' }, 'unsupported_response_type'],
    ['[AS-AUTHZ-66] T009: an ID token', { response_type: 'id_token' }, 'unsupported_response_type'],
    ['[AS-AUTHZ-66] T009: a hybrid', { response_type: 'code token' }, 'unsupported_response_type'],
    ['T009: a fragment', { response_mode: 'fragment' }, 'invalid_request'],
    ['T009: a web message', { response_mode: 'web_message' }, 'invalid_request'],
    ['T009: a signed form', { response_mode: 'form_post.jwt' }, 'invalid_request'],
    ['[AS-AUTHZ-67 AS-PKCE-1] T007: no challenge', { code_challenge: undefined }, 'invalid_request'],
    ['[AS-AUTHZ-68] T008: plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['[AS-AUTHZ-68] T008: no method', { code_challenge_method: undefined }, 'invalid_request'],
    ['[AS-AUTHZ-68] T008: a method in lower case', { code_challenge_method: 's256' }, 'invalid_request'],
    ['[AS-AUTHZ-68] T008: another method', { code_challenge_method: 'S512' }, 'invalid_request'],
    ['[AS-AUTHZ-70] T008: 42 characters', { code_challenge: 'a'.repeat(42) }, 'invalid_request'],
    ['[AS-AUTHZ-70] T008: 129 characters', { code_challenge: 'a'.repeat(129) }, 'invalid_request'],
    ['[AS-AUTHZ-70] T008: padding', { code_challenge: `${'a'.repeat(42)}=` }, 'invalid_request'],
    ['[AS-AUTHZ-70] T008: base64', { code_challenge: `${'a'.repeat(41)}+/` }, 'invalid_request'],
    ['[AS-AUTHZ-71] T013: an unknown scope', { scope: 'nonsense' }, 'invalid_scope'],
    ['[AS-AUTHZ-71] T013: a malformed scope', { scope: 'notes:read "x"' }, 'invalid_scope'],
    ['a control character in acr_values', { acr_values: '2fa\u0000' }, 'invalid_request'],
    ['T013: a control character', { scope: 'notes:read\u0007' }, 'invalid_scope'],
    ['T013: a backslash', { scope: 'a\\b' }, 'invalid_scope'],
    ['T013: a wildcard', { scope: '*' }, 'invalid_scope'],
    ['T013: ten thousand scopes', { scope: 'a '.repeat(10_000) }, 'invalid_scope'],
    ['[AS-AUTHZ-85] T014: an unknown resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['[AS-AUTHZ-85 ALL-RES-11 AS-RES-61] T014: a fragment', { resource: `${NOTES}#x` }, 'invalid_target'],
    ['[AS-AUTHZ-85 ALL-RES-11 AS-RES-61] T014: no scheme', { resource: 'mcp.example/notes' }, 'invalid_target'],
    ['T014: a script', { resource: 'javascript:alert(1)' }, 'invalid_target'],
    ['T014: user information', { resource: 'https://mcp.example@evil.test/notes' }, 'invalid_target'],
    ['a request object by reference', { request_uri: 'https://app.example/request' }, 'request_uri_not_supported'],
    ['a state that is too long', { state: 'x'.repeat(5000) }, 'invalid_request'],
    ['acr_values that are too long', { acr_values: `1fa ${'x'.repeat(5120)}` }, 'invalid_request'],
    ['prompt=none without a session', { prompt: 'none' }, 'login_required'],
    ['prompt=none with login', { prompt: 'none login' }, 'invalid_request'],
  ]; // biome-ignore format: a table

  it.each(refusals)('%s: redirects the error to a configured client', async (_what, parameters, error) => {
    const t = await setScene();
    await expectRedirect(t, requestOf(parameters), error);
    await expectLogin(t, requestOf());
  });

  it('[AS-RES-61] T014: rejects two resources in one authorization request', async () => {
    const t = await setScene();
    await expectRedirect(
      t,
      `${requestOf({ resource: NOTES })}&resource=${encodeURIComponent(FILES)}`,
      'invalid_target',
    );
  });

  it('[AS-AUTHZ-75] rejects a client that is not registered for authorization codes', async () => {
    const robot = {
      client_id: 'robot',
      client_secret: 'robot-secret',
      redirect_uris: ['https://robot.example/cb'],
      grant_types: ['client_credentials'],
    };
    const t = await setScene({ clients: [...CLIENTS, robot] });
    const path = requestOf({ client_id: 'robot', redirect_uri: 'https://robot.example/cb' });
    await expectRedirect(t, path, 'unauthorized_client');
  });

  it('[AS-AUTHZ-69 AS-AUTHZ-72 AS-AUTHZ-86 AS-FALLBACK-2] applies defaults to a request without scope and resource', async () => {
    const t = await setScene({ metadata: false });
    const { left } = await decide(t.visitor, requestOf());
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'authorization_code.issued', scopes: ['notes:read'] }),
    );
    expect(await foundCode(t, left)).toMatchObject({
      scopes: ['notes:read'],
      resources: [NOTES],
      codeChallenge: CHALLENGE,
    });
  });

  it('[AS-AUTHZ-71] T013: drops unknown scopes if known ones remain, and lists exactly what is granted', async () => {
    const t = await setScene();
    const consent = await t.visitor.signIn(requestOf({ scope: 'openid notes:write offline_access' }));
    expect(textOf(consent)).toContain('Change your notes');
    expect(textOf(consent)).not.toMatch(/Read your notes|openid|offline/);
    const { left } = await t.visitor.submit(consent, { decision: 'allow' });
    expect(await foundCode(t, left)).toMatchObject({ scopes: ['notes:write'] });
  });

  it('T013: rejects a client that may have none of the resource’s scopes, and accepts any client where the resource has no scopes', async () => {
    const bare = 'https://mcp.example/bare';
    const clients = [
      { client_id: 'narrow', redirect_uris: ['https://app.example/callback'], scope: 'files:read' },
      ...CLIENTS,
    ];
    const resources = [
      {
        resource: NOTES,
        name: 'Notes',
        scopes: { 'notes:read': 'Read' },
        introspectionClients: ['notes-server'],
      },
      { resource: FILES, name: 'Files', scopes: { 'files:read': 'Read' } },
      { resource: bare, name: 'Bare', scopes: {} },
    ];
    const t = await setScene({ clients, resources });
    const narrow = { client_id: 'narrow', resource: NOTES };
    for (const scope of [undefined, 'notes:read']) {
      const url = await expectRedirect(t, requestOf({ ...narrow, scope }), 'invalid_scope');
      expect(url.searchParams.get('error_description')).toContain('None of the scopes asked for');
    }
    await expectRedirect(t, requestOf({ resource: bare, scope: 'notes:read' }), 'invalid_scope');
    await expectLogin(t, requestOf({ ...narrow, resource: FILES }));
    await expectLogin(t, requestOf({ resource: bare }));
  });

  it('T013: limits a client to its configured scope, but not to the scope it registered itself', async () => {
    const limited = {
      client_id: 'limited',
      redirect_uris: ['https://limited.example/cb'],
      scope: 'notes:read',
    };
    const t = await setScene({ clients: [...CLIENTS, { ...limited, token_endpoint_auth_method: 'none' }] });
    const own = { client_id: 'limited', redirect_uri: 'https://limited.example/cb' };
    await expectRedirect(t, requestOf({ ...own, scope: 'notes:write' }), 'invalid_scope');
    await expectLogin(t, requestOf({ ...own, scope: 'notes:read' }));
    const client_id = await t.registerClient({
      redirect_uris: ['https://free.example/cb'],
      scope: 'notes:read',
    });
    await expectLogin(
      t,
      requestOf({ client_id, redirect_uri: 'https://free.example/cb', scope: 'notes:write' }),
    );
  });

  it('[AS-RES-63 ALL-RES-9] T014: accepts a resource in upper case and with a slash, and stores its canonical form', async () => {
    const t = await setScene();
    for (const resource of ['HTTPS://MCP.EXAMPLE/files', `${FILES}/`]) {
      const consent = await t.visitor.signIn(requestOf({ resource }));
      expect(textOf(consent)).toContain('mcp.example/files');
      const { left } = await t.visitor.submit(consent, { decision: 'allow' });
      expect(await foundCode(t, left)).toMatchObject({ resources: [FILES], scopes: ['files:read'] });
    }
  });

  it('redirects consent_required to a client with prompt=none although the user is signed in', async () => {
    const t = await setScene();
    await t.visitor.signIn(requestOf());
    await expectRedirect(t, requestOf({ prompt: 'none' }), 'consent_required');
  });
});

describe('an error for a client that registered itself', () => {
  const phish = { client_name: 'Your Bank', redirect_uris: ['https://phish.example/cb'] };

  it.each([
    ['a nonsensical scope', { scope: 'nonsense' }, 'invalid_scope'],
    ['silence', { prompt: 'none' }, 'login_required'],
    ['a token', { response_type: 'token' }, 'unsupported_response_type'],
    ['a foreign resource', { resource: 'https://evil.example' }, 'invalid_target'],
  ])(
    '[AS-REDIR-2 AS-REDIR-4] T011: shows an error page that names the redirect host to an anonymous browser (%s)',
    async (_what, wrong, error) => {
      const t = await setScene();
      const client_id = await t.registerClient(phish);
      const sight = await expectPage(
        t,
        requestOf({ client_id, redirect_uri: 'https://phish.example/cb', ...wrong }),
      );
      expect(textOf(sight)).toContain('This takes you to phish.example');
      const href = /<a class="button" href="([^"]+)"/.exec(sight.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
      const url = new URL(href);
      expect([url.host, url.searchParams.get('error'), url.searchParams.get('state')]).toEqual([
        'phish.example',
        error,
        'xyz',
      ]);
      expect(url.searchParams.getAll('iss')).toEqual([ISSUER]);
      expect(textOf(sight)).toContain('Your Bank');
      expect(textOf(sight)).toContain('is not verified');
      // For the app's developer, as in the response.
      expect(textOf(sight)).toContain(url.searchParams.get('error_description'));
      expect(sight.headers.get('retry-after')).toBeNull();
      expect(t.events).toContainEqual(
        expect.objectContaining({
          type: 'request.rejected',
          endpoint: '/authorize',
          clientId: client_id,
          error,
          reference: referenceOf(sight),
        }),
      );
    },
  );

  it.each([
    ['nothing catches', new Error('no such column: secrets'), 'server_error', 500, null],
    ['passes', temporarilyUnavailable('no such disk: secrets', 7), 'temporarily_unavailable', 503, '7'],
  ] as const)(
    'T010 T011: reports an error that %s without details, by redirect or by a page',
    async (_what, failure, error, status, retryAfter) => {
      const store = await openEmptyStore();
      const t = await setScene({ store: { ...store, openTransaction: () => Promise.reject(failure) } });
      const { left } = await t.visitor.open(requestOf());
      expect(left?.searchParams.get('error')).toBe(error);
      const client_id = await t.registerClient(phish);
      const asked = requestOf({ client_id, redirect_uri: 'https://phish.example/cb' });
      const page = await t.newVisitor().open(asked);
      expect([page.status, page.left, page.headers.get('retry-after')]).toEqual([status, null, retryAfter]);
      for (const told of [left?.href ?? '', page.html]) expect(told).not.toContain('secrets');
      const reasons = t.events.flatMap((event) => (event.type === 'request.rejected' ? [event.reason] : []));
      expect(reasons).toEqual(Array(2).fill(expect.stringContaining('secrets')));
    },
  );

  it.each([
    ['from another site', { 'sec-fetch-site': 'cross-site' }],
    ['from another host of the same site', { 'sec-fetch-site': 'same-site' }],
    ['from a mail or the address bar', { 'sec-fetch-site': 'none' }],
    ['of an unknown origin', {}],
  ])(
    '[AS-REDIR-3 AS-REDIR-4] T010: shows a page to a signed-in user who follows a link %s',
    async (_what, headers) => {
      const t = await setScene();
      const client_id = await t.registerClient(phish);
      await t.visitor.signIn(requestOf());
      t.visitor.headers = headers;
      const own = { client_id, redirect_uri: 'https://phish.example/cb' };
      for (const wrong of [{ scope: 'nonsense' }, { prompt: 'none login' }, { prompt: ['none', 'none'] }]) {
        const sight = await expectPage(t, requestOf({ ...own, ...wrong }));
        expect(textOf(sight)).toContain('This takes you to phish.example');
      }
      // A trusted client gets its errors, and where no page may be shown there is none.
      await expectRedirect(t, requestOf({ scope: 'nonsense' }), 'invalid_scope');
      await expectRedirect(t, requestOf({ ...own, prompt: 'none' }), 'consent_required');
    },
  );

  it('T010: never redirects if client and redirect URI do not match, whatever else is wrong', async () => {
    const t = await setScene();
    await t.visitor.signIn(requestOf());
    const evil = { redirect_uri: 'https://evil.example/cb' };
    for (const wrong of [
      { response_type: 'token' },
      { scope: 'nonsense' },
      { prompt: 'none' },
      { resource: 'x#y' },
      { client_id: 'unknown' },
      { code_challenge: '%%%' },
      { state: '\u0000' },
    ]) {
      // biome-ignore format: a table
      await expectPage(t, requestOf({ ...evil, ...wrong }));
    }
  });
});

describe('the authorization endpoint', () => {
  it('[AS-AUTHZ-60] answers GET and POST authorization requests and no other method', async () => {
    const t = await setScene();
    const body = new URLSearchParams(requestOf().split('?')[1]);
    const sight = await t.visitor.open('/authorize', { method: 'POST', body });
    expect([sight.status, sight.path.split('?')[0]]).toEqual([200, '/login']);
    for (const method of ['HEAD', 'PUT', 'DELETE', 'PATCH']) {
      const { status, headers } = await t.visitor.open(requestOf(), { method });
      expect([status, headers.get('allow')]).toEqual([405, 'GET, POST, OPTIONS']);
    }
  });

  it('[AS-AUTHZ-61] keeps repeated parameters of a posted request, so that they are rejected', async () => {
    const t = await setScene();
    const body = new URLSearchParams(`${requestOf().split('?')[1]}&client_id=other`);
    const sight = await t.visitor.open('/authorize', { method: 'POST', body });
    expect([sight.status, sight.left]).toEqual([400, null]);
  });

  it('[AS-AUTHZ-60] redirects a posted request to its GET form up to the safe URL length, and not an octet beyond', async () => {
    const t = await setScene();
    const post = (length: number) => {
      const body = new URLSearchParams(requestOf({ state: 's'.repeat(length) }).split('?')[1]);
      return t.server.handle(new Request(`${ISSUER}/authorize`, { method: 'POST', body }));
    };
    const rest = `${ISSUER}${(await post(1)).headers.get('location')}`.length - 1;
    const longest = await post(8000 - rest);
    expect(longest.status).toBe(303);
    expect(`${ISSUER}${longest.headers.get('location')}`).toHaveLength(8000);
    const before = t.snapshot();
    const refused = await post(8001 - rest);
    expect([refused.status, refused.headers.get('location')]).toEqual([413, null]);
    expect(await refused.text()).toContain('8000 octets');
    expect(t.snapshot()).toBe(before);
  });

  it('[AS-AUTHZ-80 AS-CORS-64] sends no CORS headers from the authorization endpoint', async () => {
    const t = await setScene();
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    for (const path of [requestOf(), '/login', '/consent', '/setup']) {
      for (const method of ['GET', 'OPTIONS']) {
        const sight = await t.visitor.open(path, { method, headers });
        expect([...sight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
    }
  });

  it('[AS-AUTHZ-83] keeps error descriptions in ASCII', async () => {
    const t = await setScene();
    for (const wrong of [
      { scope: 'nötes "é" \\ \u0000' },
      { resource: 'https://ünï.example/"' },
      { response_type: 'cödé' },
    ]) {
      const { left } = await t.visitor.open(requestOf(wrong));
      for (const name of ['error', 'error_description']) {
        expect(left?.searchParams.get(name)).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
      }
    }
  });

  it('[AS-AUTHZ-74 AS-ISS-60] T016: redirects a server error once the redirect URI is verified', async () => {
    const store = await openEmptyStore();
    const failing = {
      ...store,
      openTransaction: () => Promise.reject(temporarilyUnavailable('the disk is full')),
    };
    const t = await setScene({ store: failing });
    const { left, status } = await t.visitor.open(requestOf());
    expect([status, left?.searchParams.get('error')]).toEqual([303, 'temporarily_unavailable']);
    expect([left?.searchParams.get('state'), left?.searchParams.get('iss')]).toEqual(['xyz', ISSUER]);
    expect(left?.href).not.toContain('disk');
    expect(t.events).toContainEqual(expect.objectContaining({ reason: 'the disk is full' }));
  });

  it('[AS-AUTHZ-74] shows a server error before that as a page with Retry-After', async () => {
    const store = await openEmptyStore();
    const failing = { ...store, findClient: () => Promise.reject(new Error('no such table: clients')) };
    const t = await setScene({ store: failing });
    const visitor = createVisitor(t.server);
    const sight = await visitor.open(requestOf({ client_id: 'registered' }));
    expect([sight.status, sight.left]).toEqual([500, null]);
    expect(sight.html).not.toContain('no such table');
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'request.failed', reference: referenceOf(sight) }),
    );
  });
});

/** The record of the code that a redirect carries. */
async function foundCode(t: Scene, left: URL | null): Promise<unknown> {
  return t.store.findCode(lookupKeyOf(left?.searchParams.get('code') ?? ''));
}
