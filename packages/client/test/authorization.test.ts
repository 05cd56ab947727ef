/** User authorization: authorization requests, state and issuer checks of responses, errors, and scopes. */
import { describe, expect, it } from 'vitest';
import { ClientError, createMemoryStore } from '../src/index.ts';
import { calls, codeOf, createWorld, type World } from './support/world.ts';

const tokenRequests = ({ as }: World) => as.asked('/token');

/** Changes the answer on its way to the client. */
function tamper(world: World, change: (query: URLSearchParams) => void): void {
  world.user.divert((arrived) => {
    change(arrived.searchParams);
    return arrived;
  });
}

describe('state', () => {
  it.each([
    ['missing', (query: URLSearchParams) => query.delete('state')],
    ['empty', (query: URLSearchParams) => query.set('state', '')],
    ['another', (query: URLSearchParams) => query.set('state', 'x'.repeat(43))],
    ['repeated', (query: URLSearchParams) => query.append('state', query.get('state') ?? '')],
  ])('[C-STATE-2] T115 rejects an authorization response whose state is %s', async (_what, change) => {
    const world = await createWorld();
    tamper(world, change);
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('response_rejected');
    expect(tokenRequests(world)).toEqual([]);
  });

  it('[C-STATE-60] T115 accepts an authorization response only once', async () => {
    const world = await createWorld();
    const client = world.client();
    const url = await client.begin({ redirectUri: world.user.redirectUri });
    const arrived = (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
    expect((await client.complete(arrived)).issuer).toBe(world.issuer);
    expect(await codeOf(client.complete(arrived))).toBe('response_rejected');
    expect(tokenRequests(world)).toHaveLength(1);
  });

  it('[C-ISS-30] T115 T120 concurrent authorizations keep their own state, verifier and issuer', async () => {
    const world = await createWorld();
    const client = world.client();
    const urls = [
      await client.begin({ redirectUri: world.user.redirectUri }),
      await client.begin({ redirectUri: world.user.redirectUri }),
    ];
    const answers = await Promise.all(
      urls.map(async (url) => (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? ''),
    );
    // The later one is finished first; each verifier fits its own challenge, which the server checks.
    for (const answer of answers.toReversed()) await client.complete(answer);
    const verifiers = tokenRequests(world).map(({ form }) => form.get('code_verifier'));
    expect(new Set(verifiers).size).toBe(2);
    expect(new Set(urls.map((url) => new URL(url).searchParams.get('state'))).size).toBe(2);
  });

  it('[C-PKCE-60] uses a new verifier and state after a failed authorization request', async () => {
    const world = await createWorld();
    let refuse = true;
    tamper(world, (query) => {
      if (refuse) query.set('error', 'server_error');
    });
    const client = world.client();
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('authorization_failed');
    refuse = false;
    await client.signIn();
    const [first, second] = world.user.opened;
    for (const name of ['code_challenge', 'state']) {
      expect(first?.searchParams.get(name)).not.toBe(second?.searchParams.get(name));
    }
  });

  it('T118 rejects an authorization response received in another session of the host', async () => {
    const world = await createWorld();
    const client = world.client();
    const begin = async () => {
      const url = await client.begin({
        redirectUri: world.user.redirectUri,
        binding: 'session of the attacker',
      });
      return (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
    };
    expect(await codeOf(client.complete(await begin(), 'session of the victim'))).toBe('response_rejected');
    expect(tokenRequests(world)).toEqual([]);
    expect(await client.session()).toBeNull();
    expect((await client.complete(await begin(), 'session of the attacker')).issuer).toBe(world.issuer);
  });

  it.each([
    ['server', async () => (await createWorld()).serverUrl, 'default'],
    ['account', async () => null, 'of another user'],
  ])(
    'rejects a response to a sign-in of another %s in the same store, and sends its token nowhere',
    async (_what, urlOf, account) => {
      const world = await createWorld();
      const store = createMemoryStore();
      const honest = world.client({ store });
      const begin = async () => {
        const url = await honest.begin({ redirectUri: world.user.redirectUri });
        return (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
      };
      const serverUrl = (await urlOf()) ?? world.serverUrl;
      const other = world.client({ store, serverUrl, account });
      expect(await codeOf(other.complete(await begin()))).toBe('response_rejected');
      expect(tokenRequests(world)).toEqual([]);
      expect([await other.accessToken(), await honest.accessToken()]).toEqual([null, null]);
      expect((await honest.complete(await begin())).server).toBe(world.serverUrl);
      expect([await other.accessToken(), await honest.accessToken()]).toEqual([null, expect.any(String)]);
    },
  );

  it('rejects an authorization response that arrives too late', async () => {
    const world = await createWorld();
    const client = world.client();
    const url = await client.begin({ redirectUri: world.user.redirectUri });
    const arrived = (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
    world.advance(601_000);
    expect(await codeOf(client.complete(arrived))).toBe('response_rejected');
    expect(await codeOf(client.complete('what is this'))).toBe('response_rejected');
  });
});

describe('the issuer of the response', () => {
  const variants: readonly (readonly [string, (issuer: string) => string])[] = [
    ['another', () => 'https://evil.example'],
    ['with a slash', (issuer) => `${issuer}/`],
    ['in capitals', (issuer) => issuer.toUpperCase()],
    ['with another port', (issuer) => `${issuer}0`],
    ['percent-encoded', (issuer) => issuer.replace('127', '%31%32%37')],
  ];

  it.each(variants)(
    '[C-ISS-31 C-ISS-32 C-ISS-34 C-ISS-36] T116 %s: rejected, advertised or not',
    async (_what, change) => {
      for (const advertised of [true, undefined]) {
        const world = await createWorld({
          metadata: { authorization_response_iss_parameter_supported: advertised },
        });
        tamper(world, (query) => query.set('iss', change(world.issuer)));
        expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('response_rejected');
        expect(tokenRequests(world)).toEqual([]);
      }
    },
  );

  it.each([
    ['[C-ISS-32] advertised and right: accepted', true, undefined, 'no error'],
    ['[C-ISS-33] advertised and missing: rejected', true, null, 'response_rejected'],
    ['[C-ISS-34] not advertised and right: accepted', undefined, undefined, 'no error'],
    ['[C-ISS-35] not advertised and missing: accepted', undefined, null, 'no error'],
  ])('%s T116', async (_title, advertised, responseIssuer, expected) => {
    const world = await createWorld({
      metadata: { authorization_response_iss_parameter_supported: advertised },
      ...(responseIssuer === null && { responseIssuer }),
    });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe(expected);
    expect(tokenRequests(world)).toHaveLength(expected === 'no error' ? 1 : 0);
  });

  it('T116 rejects an authorization response with two issuers', async () => {
    const world = await createWorld();
    tamper(world, (query) => query.append('iss', world.issuer));
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('response_rejected');
  });

  it('[C-ISS-37] T116 ignores an error response from another issuer', async () => {
    const world = await createWorld();
    tamper(world, (query) => {
      query.set('iss', 'https://evil.example');
      query.set('error', 'access_denied');
      query.set('error_description', 'call-this-number');
      query.set('error_uri', 'https://evil.example/help');
    });
    const failure = await world
      .client()
      .fetch(world.serverUrl)
      .then(
        () => null,
        (error: unknown) => error,
      );
    expect(failure).toMatchObject({ code: 'response_rejected', oauthError: undefined });
    expect(String(failure)).not.toMatch(/call-this-number|access_denied|evil/);
    expect(world.user.read.join()).not.toMatch(/call-this-number|access_denied|evil/);
  });

  it('[C-MIX-30 C-CODE-60 C-ISS-30] T117 never sends the code of an honest issuer to a hostile one (mix-up attack)', async () => {
    // The hostile server sends the browser on to the honest authorization server, whose answer comes back here.
    const honest = await createWorld();
    const evil = await createWorld();
    const registered = await honest.client().begin({ redirectUri: evil.user.redirectUri });
    evil.as.on('GET /authorize', ({ query }) => {
      const url = new URL(registered);
      for (const name of ['state', 'code_challenge', 'redirect_uri'])
        url.searchParams.set(name, query.get(name) ?? '');
      return { status: 302, headers: { location: url.href } };
    });
    const browser = {
      async open(url: string) {
        const onward = (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
        await evil.user.browser.open(onward);
      },
    };
    expect(await codeOf(evil.client({ browser }).fetch(evil.serverUrl))).toBe('response_rejected');
    expect(tokenRequests(evil)).toEqual([]);
    expect(honest.as.asked('/authorize')).toHaveLength(1);
  });

  it('T117 a code injected from another session fails, because its PKCE challenge differs', async () => {
    const world = await createWorld();
    const attacker = await world.client().begin({ redirectUri: world.user.redirectUri });
    const stolen = new URL((await fetch(attacker, { redirect: 'manual' })).headers.get('location') ?? '');
    tamper(world, (query) => query.set('code', stolen.searchParams.get('code') ?? ''));
    const failure = world.client().fetch(world.serverUrl);
    await expect(failure).rejects.toMatchObject({ code: 'token_refused', oauthError: 'invalid_grant' });
  });
});

describe('errors of the authorization server', () => {
  it.each([
    ['access_denied', 'authorization_denied'],
    ['server_error', 'authorization_failed'],
    ['invalid_scope', 'authorization_failed'],
    ['something_new', 'authorization_failed'],
  ])('[C-CODE-61] the error %s ends the authorization as %s without a token request', async (error, code) => {
    const world = await createWorld();
    tamper(world, (query) => {
      query.delete('code');
      query.set('error', error);
    });
    const failure = world.client().fetch(world.serverUrl);
    await expect(failure).rejects.toMatchObject({ code, oauthError: error });
    expect(tokenRequests(world)).toEqual([]);
  });

  it.each([
    [
      'This user is not allowed to log in here.',
      'Access was denied: This user is not allowed to log in here.',
    ],
    ['', 'Access was denied.'],
  ])(
    'the error access_denied names the reason of the authorization server: "%s"',
    async (description, message) => {
      const world = await createWorld();
      tamper(world, (query) => {
        query.set('error', 'access_denied');
        query.set('error_description', description);
      });
      await expect(world.client().fetch(world.serverUrl)).rejects.toMatchObject({ message });
    },
  );

  it('rejects an authorization response with neither code nor error', async () => {
    const world = await createWorld();
    tamper(world, (query) => query.delete('code'));
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('response_rejected');
  });

  it('T126 removes control characters from error descriptions of the server', async () => {
    const world = await createWorld();
    tamper(world, (query) => {
      query.set('error', 'server_error');
      query.set('error_description', 'a\r\nb\u001b[31mc\u202e');
    });
    const failure = await world
      .client()
      .fetch(world.serverUrl)
      .catch((error: unknown) => String(error));
    expect(failure).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('[C-MIN-40] does not ask a user who declined again at once, except when the host requests it', async () => {
    const world = await createWorld();
    let declines = true;
    tamper(world, (query) => {
      if (declines) query.set('error', 'access_denied');
    });
    const client = world.client();
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('authorization_denied');
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('authorization_denied');
    expect(world.user.opened).toHaveLength(1);
    declines = false;
    await client.signIn();
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.user.opened).toHaveLength(2);
  });

  it('a client without a browser reports that a sign-in is required', async () => {
    const world = await createWorld();
    const { createClient } = await import('../src/index.ts');
    const failure = createClient({ serverUrl: world.serverUrl }).fetch(world.serverUrl);
    await expect(failure).rejects.toBeInstanceOf(ClientError);
    await expect(failure).rejects.toMatchObject({ code: 'sign_in_needed' });
  });
});

describe('scopes', () => {
  const scopeOf = (world: World) => world.user.opened.at(-1)?.searchParams.get('scope');

  it('[C-SCOPE-20 C-SCOPE-21 C-SCOPE-22 C-SCOPE-25] requests the scopes of the challenge, whatever the metadata lists', async () => {
    const world = await createWorld({ challengeScopes: 'a b', resource: { scopes_supported: ['c', 'd'] } });
    await world.client().fetch(world.serverUrl);
    expect(scopeOf(world)).toBe('a b');
  });

  it('[C-SCOPE-23] requests all scopes of the metadata when the challenge names none', async () => {
    const world = await createWorld({ resource: { scopes_supported: ['c', 'd'] } });
    await world.client().fetch(world.serverUrl);
    expect(scopeOf(world)).toBe('c d');
  });

  it('[C-SCOPE-24] omits the scope parameter when neither names scopes', async () => {
    const world = await createWorld({ metadata: { scopes_supported: ['x', 'offline_access'] } });
    await world.client().fetch(world.serverUrl);
    expect(scopeOf(world)).toBeNull();
  });

  it('[C-REFRESH-32] requests offline_access only where the authorization server lists it', async () => {
    const offered = await createWorld({
      challengeScopes: 'a',
      metadata: { scopes_supported: ['offline_access'] },
    });
    await offered.client().fetch(offered.serverUrl);
    expect(scopeOf(offered)).toBe('a offline_access');
    expect(offered.user.opened[0]?.searchParams.get('prompt')).toBe('consent');

    const other = await createWorld({
      challengeScopes: 'a',
      resource: { scopes_supported: ['offline_access'] },
    });
    await other.client().fetch(other.serverUrl);
    expect(scopeOf(other)).toBe('a');
  });

  it('lets the host add or replace scopes, and reports the reason for each', async () => {
    const world = await createWorld({ challengeScopes: 'a' });
    await world.client({ scopes: { add: ['b'] } }).fetch(world.serverUrl);
    expect(scopeOf(world)).toBe('a b');
    expect(world.events.find(({ type }) => type === 'sign_in.started')).toMatchObject({
      reason: 'no_tokens',
      scopeReasons: ['named by the challenge', 'configured additions'],
    });
    await world.client({ scopes: { only: ['c'] } }).fetch(world.serverUrl);
    expect(scopeOf(world)).toBe('c');
  });
});

it('[C-BIND-31 C-BIND-32] T107 does not use the tokens or the client of an authorization server that the resource no longer names', async () => {
  const world = await createWorld();
  const moved = await createWorld();
  const client = world.client();
  await client.fetch(world.serverUrl);
  const [first] = world.as.asked('/register');
  expect(first).toBeDefined();

  world.tokens.clear();
  world.server.on('GET /.well-known/oauth-protected-resource/mcp', {
    body: { resource: world.serverUrl, authorization_servers: [moved.issuer] },
  });
  world.server.on('/mcp', ({ headers }) => {
    const token = headers.get('authorization')?.replace('Bearer ', '') ?? '';
    return moved.tokens.has(token)
      ? { body: 'moved' }
      : { status: 401, headers: { 'www-authenticate': 'Bearer' } };
  });
  world.refreshTokens.clear();
  expect((await client.fetch(world.serverUrl)).status).toBe(200);
  expect(moved.as.asked('/register')).toHaveLength(1);
  const sent = moved.as.log
    .map(({ target, body, headers }) => `${target} ${body} ${headers.get('authorization')}`)
    .join();
  expect(sent).not.toContain(world.user.opened[0]?.searchParams.get('client_id') ?? 'none');
  expect((await client.session())?.issuer).toBe(moved.issuer);
});

it('T126 no event, error or foreign URL contains a secret', async () => {
  const world = await createWorld({
    registration: { client_secret: 'canary-secret', token_endpoint_auth_method: 'client_secret_post' },
  });
  const client = world.client();
  await client.fetch(world.serverUrl);
  world.advance(590_000);
  await client.fetch(world.serverUrl);
  const { form } = world.as.asked('/token')[0] ?? { form: new URLSearchParams() };
  const secrets = [
    'canary-secret',
    form.get('code') ?? '',
    form.get('code_verifier') ?? '',
    ...world.tokens.keys(),
    ...world.refreshTokens,
  ];
  const told = JSON.stringify([world.events, await client.session(), world.user.read]);
  const addresses = [...world.as.log, ...world.server.log].map(({ target }) => target).join();
  for (const secret of secrets) {
    expect(secret).not.toBe('');
    expect(told).not.toContain(secret);
    expect(addresses).not.toContain(secret);
  }
});

it.each([
  { description: 'a text', clientName: 'Notes CLI' },
  { description: 'a function', clientName: () => 'Notes CLI' },
])(
  'shows the user the outcome of the sign-in, with the app named by $description',
  async ({ clientName }) => {
    const world = await createWorld();
    await world.client({ registration: { clientName } }).fetch(world.serverUrl);
    const { host, pathname } = new URL(world.serverUrl);
    const server = `${host}${pathname === '/' ? '' : pathname}`;
    expect(world.user.read).toEqual([
      `Notes CLI is connected to ${server}. You can close this page and return to Notes CLI.`,
    ]);
    expect(calls(world)).toHaveLength(2);
  },
);
