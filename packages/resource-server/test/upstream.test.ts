/** Tokens of identity providers: the exchange with the authorization server, its cache, and its errors. */
import { inspect } from 'node:util';
import { exportJWK, generateKeyPair, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { authInfoOf } from '../src/adapters/mcp.ts';
import { ConfigurationError, createGuard, type Guard, type Principal } from '../src/index.ts';
import { createTokenExchange } from '../src/upstream/token-exchange.ts';
import {
  createUpstreamTokens,
  localUpstreamTokens,
  type UpstreamOptions,
} from '../src/upstream/upstream-tokens.ts';
import { createIssuer, ISSUER, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';
import { answering, down, failing, type Manner, silent } from './support/key-server.ts';
import { giving, startTokenEndpoint, type TokenEndpoint } from './support/token-endpoint.ts';

/** A token response whose last byte is no UTF-8. */
const damaged: Manner = (response) => void response.end(Buffer.from('{"access_token":"\xff', 'latin1'));

let endpoint: TokenEndpoint;
let issuer: TestIssuer;
let guard: Guard;
let now = NOW;

beforeEach(async () => {
  now = NOW;
  endpoint = await startTokenEndpoint();
  issuer = await createIssuer();
  guard = createGuard({
    resource: RESOURCE,
    verifier: issuer.verifier(),
    clock: () => now,
    events: () => {},
  });
});

afterEach(() => endpoint.close());

async function admit(token: string): Promise<Principal> {
  const decision = await guard.authorize({ method: 'POST', url: '/mcp', authorization: `Bearer ${token}` });
  if (!decision.authorized) throw new Error(`refused with ${decision.response.status}`);
  return decision.principal;
}

function upstreamTokens(options: Partial<UpstreamOptions> = {}) {
  const all = {
    issuer: ISSUER,
    clientId: 'notes-server',
    clientSecret: 'sec:ret',
    tokenEndpoint: endpoint.url,
    clock: () => now,
    ...options,
  };
  return createUpstreamTokens(all as UpstreamOptions);
}

describe('the exchange', () => {
  it('sends the token of the request only to its own issuer, and gets a token of the identity provider', async () => {
    const token = await issuer.token();
    const upstream = upstreamTokens();
    const given = await upstream.tokenFor(await admit(token), {
      identityProvider: 'github',
      scopes: ['repo'],
    });
    expect(given).toEqual({
      accessToken: `third-1-of-${token.slice(-8)}`,
      tokenType: 'Bearer',
      expiresAt: NOW + 3600,
      scopes: ['files:read'],
    });
    expect(endpoint.asked).toHaveLength(1);
    const [{ authorization, form } = { authorization: '', form: new URLSearchParams() }] = endpoint.asked;
    expect(authorization).toBe(`Basic ${btoa('notes-server:sec%3Aret')}`);
    expect(Object.fromEntries(form)).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: 'github',
      scope: 'repo',
    });
  });

  it('authenticates with a private key, by an assertion for that server and one use', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const clientKey = { ...(await exportJWK(privateKey)), alg: 'ES256', kid: 'mine' };
    const upstream = createUpstreamTokens({
      issuer: ISSUER,
      clientId: 'notes-server',
      tokenEndpoint: endpoint.url,
      freshness: 0,
      clock: () => now,
      clientKey,
    });
    const principal = await admit(await issuer.token());
    for (let count = 0; count < 2; count += 1) await upstream.tokenFor(principal);
    const proofs = await Promise.all(
      endpoint.asked.map(({ form }) =>
        jwtVerify(form.get('client_assertion') ?? '', publicKey, {
          audience: ISSUER,
          issuer: 'notes-server',
          subject: 'notes-server',
          currentDate: new Date(now * 1000),
          requiredClaims: ['jti', 'exp'],
        }),
      ),
    );
    expect(proofs).toHaveLength(2);
    expect(proofs[0]?.payload.jti).not.toBe(proofs[1]?.payload.jti);
    expect(endpoint.asked[0]?.authorization).toBeUndefined();
  });

  it('discovers the token endpoint, and rejects metadata that names another issuer', async () => {
    const asked: string[] = [];
    const finding = (named: string) => async (url: string, init: RequestInit) => {
      asked.push(url);
      if (!url.startsWith(ISSUER)) return fetch(url, init);
      return Response.json({ issuer: named, token_endpoint: endpoint.url });
    };
    const options: UpstreamOptions = { issuer: ISSUER, clientId: 'notes-server', clientSecret: 'secret' };
    const principal = await admit(await issuer.token());
    await createUpstreamTokens({ ...options, fetch: finding(ISSUER) }).tokenFor(principal);
    expect(asked).toEqual([`${ISSUER}/.well-known/oauth-authorization-server`, endpoint.url]);
    const deceived = createUpstreamTokens({ ...options, fetch: finding('https://other.example') });
    await expect(deceived.tokenFor(principal)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(endpoint.asked).toHaveLength(1);
  });

  it.each([
    ['status 404', failing(404)],
    ['status 405', failing(405)],
    ['status 410', failing(410)],
    ['no connection', down],
    ['a redirect', failing(308, '', { location: 'http://127.0.0.1:1/' })],
  ])('discovers the token endpoint again after %s, and keeps a configured one', async (_what, manner) => {
    const next = await startTokenEndpoint();
    onTestFinished(() => next.close());
    const urls: string[] = [];
    let current = endpoint.url;
    const finding = async (url: string, init: RequestInit) => {
      urls.push(url);
      if (!url.startsWith(ISSUER)) return fetch(url, init);
      return Response.json({ issuer: ISSUER, token_endpoint: current });
    };
    const discovering = upstreamTokens({ tokenEndpoint: undefined, fetch: finding, freshness: 0 } as never);
    const configured = upstreamTokens({ fetch: finding, freshness: 0 });
    const principal = await admit(await issuer.token());
    for (const upstream of [discovering, configured]) await upstream.tokenFor(principal);
    endpoint.behave(manner);
    current = next.url;
    await expect(discovering.tokenFor(principal)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    await expect(configured.tokenFor(principal)).rejects.toThrow();
    now += 60;
    await expect(discovering.tokenFor(principal)).resolves.toBeDefined();
    await expect(configured.tokenFor(principal)).rejects.toThrow();
    expect(next.asked).toHaveLength(1);
    expect(urls.filter((url) => url.startsWith(ISSUER))).toHaveLength(2);
  });

  it('sends an exchange to the discovered endpoint while another one fails', async () => {
    const [sent, outage, proof] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<Response>(),
      Promise.withResolvers<void>(),
    ];
    const urls: string[] = [];
    const exchange = createTokenExchange({
      issuer: ISSUER,
      endpoint: null,
      remote: {
        fetch: async (url, init) => {
          urls.push(url);
          if (url.startsWith(ISSUER)) return Response.json({ issuer: ISSUER, token_endpoint: endpoint.url });
          if (urls.length > 2) return fetch(url, init);
          sent.resolve();
          return outage.promise;
        },
        timeout: 5000,
      },
      prove: async () => {
        if (urls.length > 1) await proof.promise;
        return { parameters: {}, headers: {} };
      },
      clock: () => now,
    });
    const first = exchange('one', {});
    await sent.promise;
    const second = exchange('two', {});
    outage.reject(new Error('reset'));
    await expect(first).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    proof.resolve();
    await expect(second).resolves.toMatchObject({ tokenType: 'Bearer' });
    expect(urls.slice(1)).toEqual([endpoint.url, endpoint.url]);
  });

  it('rejects a forged principal, and never sends a token to a server that did not issue it', async () => {
    const upstream = upstreamTokens();
    const principal = await admit(await issuer.token());
    for (const made of [{ ...principal }, Object.create(principal), structuredClone({ ...principal })]) {
      await expect(upstream.tokenFor(made)).rejects.toThrow(TypeError);
    }
    await expect(
      upstreamTokens({ issuer: 'https://other.example' }).tokenFor(principal),
    ).rejects.toMatchObject({
      code: 'server_error',
    });
    expect(endpoint.asked).toEqual([]);
    await upstream.tokenFor(principal);
    expect(endpoint.asked).toHaveLength(1);
  });

  it('keeps the token where applications cannot find it by accident', async () => {
    const token = await issuer.token();
    const principal = await admit(token);
    await upstreamTokens().tokenFor(principal);
    const seen = inspect([principal, authInfoOf(principal)], { showHidden: true, depth: 20, getters: true });
    expect(seen + JSON.stringify(principal)).not.toContain(token.slice(-20));
    expect(seen).toContain(principal.subject);
  });
});

describe('how long an exchanged token is cached', () => {
  it('exchanges single-flight, and again after the freshness', async () => {
    const upstream = upstreamTokens();
    const principal = await admit(await issuer.token());
    const answers = await Promise.all(Array.from({ length: 20 }, () => upstream.tokenFor(principal)));
    expect(new Set(answers.map(({ accessToken }) => accessToken)).size).toBe(1);
    now += 59;
    await upstream.tokenFor(principal);
    expect(endpoint.asked).toHaveLength(1);
    now += 1;
    await upstream.tokenFor(principal);
    expect(endpoint.asked).toHaveLength(2);
  });

  it('keeps a cached exchange when the guard verifies the token again', async () => {
    const upstream = upstreamTokens();
    const token = await issuer.token();
    const strict = createGuard({
      resource: RESOURCE,
      verifier: issuer.verifier({ freshness: 0 }),
      clock: () => now,
      events: () => {},
    });
    const principals = new Set<Principal>();
    for (let count = 0; count < 3; count += 1) {
      const decision = await strict.authorize({
        method: 'POST',
        url: '/mcp',
        authorization: `Bearer ${token}`,
      });
      if (decision.authorized) principals.add(decision.principal);
    }
    expect(principals.size).toBe(3);
    for (const principal of principals) await upstream.tokenFor(principal);
    expect(endpoint.asked).toHaveLength(1);
  });

  it('never returns a token that is about to expire', async () => {
    endpoint.behave(giving({ expires_in: 40 }) as never);
    const upstream = upstreamTokens();
    const principal = await admit(await issuer.token());
    await upstream.tokenFor(principal);
    now += 9;
    await upstream.tokenFor(principal);
    expect(endpoint.asked).toHaveLength(1);
    now += 1;
    await upstream.tokenFor(principal);
    expect(endpoint.asked).toHaveLength(2);
  });

  it('never shares a cached exchange between users, clients or requested tokens', async () => {
    const upstream = upstreamTokens();
    const tokens = await Promise.all([
      issuer.token(),
      issuer.token({ sub: 'bob' }),
      issuer.token({ client_id: 'other-app' }),
    ]);
    for (const token of tokens) {
      const { accessToken } = await upstream.tokenFor(await admit(token));
      expect(accessToken).toContain(token.slice(-8));
    }
    await upstream.tokenFor(await admit(tokens[0] ?? ''), { identityProvider: 'github' });
    await upstream.tokenFor(await admit(tokens[0] ?? ''), { scopes: ['b', 'a', 'a'] });
    await upstream.tokenFor(await admit(tokens[0] ?? ''), { scopes: ['a', 'b'] });
    expect(endpoint.asked).toHaveLength(5);
  });

  it('drops a token that the identity provider rejected', async () => {
    const upstream = upstreamTokens();
    const principal = await admit(await issuer.token());
    const first = await upstream.tokenFor(principal);
    upstream.forget(principal);
    expect((await upstream.tokenFor(principal)).accessToken).not.toBe(first.accessToken);
  });
});

describe('errors of the exchange, as the served request sees them', () => {
  it.each([
    { error: 'invalid_request', status: 401, challenge: 'error="invalid_token"' },
    { error: 'invalid_grant', status: 401, challenge: 'error="invalid_token"' },
    { error: 'invalid_target', status: 403, challenge: null },
    { error: 'invalid_scope', status: 403, challenge: null },
    { error: 'unauthorized_client', status: 500, challenge: null },
    { error: 'invalid_client', status: 500, challenge: null },
  ])('converts the exchange error $error to status $status', async ({ error, status, challenge }) => {
    endpoint.behave(failing(400, JSON.stringify({ error }), { 'content-type': 'application/json' }));
    const upstream = upstreamTokens();
    const principal = await admit(await issuer.token());
    const refusal = await upstream.tokenFor(principal).catch((thrown: unknown) => thrown);
    const answer = guard.errorResponse(refusal, { method: 'POST', url: '/mcp', authorization: null });
    expect(answer.status).toBe(status);
    if (challenge === null) expect(answer.headers).not.toHaveProperty('www-authenticate');
    else expect(answer.headers['www-authenticate']).toContain(challenge);
    await upstream.tokenFor(principal).catch(() => {});
    expect(endpoint.asked).toHaveLength(1);
    endpoint.behave(giving() as never);
    now += 60;
    await expect(upstream.tokenFor(principal)).resolves.toBeDefined();
  });

  it.each([
    { what: 'a crash', manner: down, after: 5 },
    { what: 'silence', manner: silent, after: 5 },
    { what: 'a failure', manner: failing(500, 'broken'), after: 5 },
    { what: 'too many', manner: failing(429, '{}', { 'retry-after': '7' }), after: 7 },
    { what: 'an outage there', manner: failing(503, '{}', { 'retry-after': '3' }), after: 3 },
    { what: 'an endless wait', manner: failing(503, '{}', { 'retry-after': '86400' }), after: 60 },
    { what: 'a redirect', manner: failing(307, '', { location: 'http://127.0.0.1:1/' }), after: 5 },
    { what: 'an answer without end', manner: answering('x'.repeat(300_000)), after: 5 },
    { what: 'a damaged text', manner: damaged, after: 5 },
  ])(
    'responds 503 with Retry-After to $what, without a retry storm, and recovers afterwards',
    async ({ manner, after }) => {
      const upstream = upstreamTokens({ timeout: 3000 });
      const principal = await admit(await issuer.token());
      endpoint.behave(manner);
      const refusal = await upstream.tokenFor(principal).catch((thrown: unknown) => thrown);
      const answer = guard.errorResponse(refusal, { method: 'POST', url: '/mcp', authorization: null });
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, String(after)]);
      endpoint.behave(giving() as never);
      now += after - 1;
      await expect(upstream.tokenFor(principal)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
      expect(endpoint.asked).toHaveLength(1);
      now += 1;
      await expect(upstream.tokenFor(principal)).resolves.toBeDefined();
    },
  );

  it.each([
    ['no JSON', answering(undefined)],
    ['another type of token', answering({ access_token: 'a', token_type: 'Bearer', issued_token_type: 'x' })],
  ])('responds 500 to %s, since a retry would not help', async (_name, manner) => {
    endpoint.behave(manner);
    const refused = upstreamTokens().tokenFor(await admit(await issuer.token()));
    await expect(refused).rejects.toMatchObject({ code: 'server_error' });
  });
});

describe('a server in the same process', () => {
  it('passes the verified claims to a server in the same process, whose errors mean the same as over HTTP', async () => {
    const asked: unknown[] = [];
    const token = { accessToken: 'third', tokenType: 'Bearer', expiresAt: null, scopes: [] };
    const upstream = localUpstreamTokens({
      async upstreamToken(claims, want) {
        asked.push([claims.grant_id, want]);
        return token;
      },
    });
    const principal = await admit(await issuer.token());
    expect(await upstream.tokenFor(principal, { identityProvider: 'github' })).toBe(token);
    await expect(upstream.tokenFor({ ...principal })).rejects.toThrow(TypeError);
    expect(asked).toEqual([['grant-1', { identityProvider: 'github' }]]);
  });
});

describe('options', () => {
  it.each([
    ['no issuer', { issuer: 'nowhere' }, 'issuer'],
    ['an empty client', { clientId: '' }, 'clientId'],
    ['an empty secret', { clientSecret: '' }, 'clientSecret'],
    ['neither secret nor key', { clientSecret: undefined }, 'exactly one of clientSecret and clientKey'],
    ['a public key', { clientSecret: undefined, clientKey: { kty: 'EC', alg: 'ES256' } }, 'private key'],
    ['an endpoint in the clear', { tokenEndpoint: 'http://as.example/token' }, 'tokenEndpoint'],
    ['a freshness before now', { freshness: -1 }, 'freshness'],
  ])('rejects the options of upstream tokens with %s', (_name, options, expected) => {
    expect(() => upstreamTokens(options as never)).toThrow(ConfigurationError);
    expect(() => upstreamTokens(options as never)).toThrow(expected);
  });
});
