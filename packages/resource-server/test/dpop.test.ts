import { findChallenge, parseChallenges } from '@portcullis/protocol';
import { base64url } from 'jose';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { costHere } from '../../../tests/support/cost.ts';
import { protect } from '../src/adapters/fetch.ts';
import { createReplayCache } from '../src/dpop/replay-cache.ts';
import { createGuard, type DpopOptions, type GuardEvent } from '../src/index.ts';
import { createHolder, type Holder } from './support/holder.ts';
import { createIssuer, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';

let issuer: TestIssuer;
let holder: Holder;
let thief: Holder;
let now = NOW;
let events: GuardEvent[] = [];

beforeAll(async () => {
  issuer = await createIssuer();
  holder = await createHolder();
  thief = await createHolder();
});

beforeEach(() => {
  now = NOW;
  events = [];
});

type Send = (
  token: string,
  proofs: readonly string[],
  init?: { method?: string; url?: string; scheme?: string },
) => Promise<Response>;

function serve(dpop: DpopOptions | null = {}): Send {
  const guard = createGuard({
    resource: RESOURCE,
    verifier: issuer.verifier(),
    clock: () => now,
    events: (event) => events.push(event),
    ...(dpop !== null && { dpop }),
  });
  const handle = protect(guard, (_request, principal) => Response.json(principal));
  return (token, proofs, { method = 'POST', url = RESOURCE, scheme = 'DPoP' } = {}) => {
    const headers = new Headers({ authorization: `${scheme} ${token}` });
    for (const proof of proofs) headers.append('dpop', proof);
    return handle(new Request(url, { method, headers }));
  };
}

const boundToken = (claims: Record<string, unknown> = {}): Promise<string> =>
  issuer.token({ cnf: { jkt: holder.thumbprint }, ...claims });

/** Makes a proof with the current time. */
const makeProof = (
  token: string,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
  by: Holder = holder,
): Promise<string> => by.prove(token, { iat: now, ...claims }, header);

function expectRefused(response: Response, error: string): void {
  expect(response.status).toBe(401);
  const challenge = findChallenge(parseChallenges(response.headers.get('www-authenticate')), 'DPoP');
  expect(challenge?.parameters.get('error')).toBe(error);
  expect(challenge?.parameters.get('algs')).toContain('ES256');
  expect(challenge?.parameters.get('resource_metadata')).toContain(
    '/.well-known/oauth-protected-resource/mcp',
  );
}

describe('a token that is bound to a key', () => {
  it('[X-DPOP-6] accepts a DPoP-bound token with a proof of its key, each proof once', async () => {
    const send = serve();
    const token = await boundToken();
    for (let round = 0; round < 3; round += 1) {
      const response = await send(token, [await makeProof(token)]);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ subject: 'alice' });
    }
  });

  const wrong: readonly [string, (token: string) => Promise<readonly string[]>][] = [
    ['no proof', async () => []],
    ['two proofs', async (token) => [await makeProof(token), await makeProof(token)]],
    ['junk', async () => ['junk']],
    ['a long one', async (token) => [await makeProof(token, { padding: 'x'.repeat(9000) })]],
    ['another type', async (token) => [await makeProof(token, {}, { typ: 'at+jwt' })]],
    ['no type', async (token) => [await makeProof(token, {}, { typ: undefined })]],
    ['no key', async (token) => [await makeProof(token, {}, { jwk: undefined })]],
    ['a private key', async (token) => [await makeProof(token, {}, { jwk: { ...holder.jwk, d: 'AAAA' } })]],
    ['another key of the same kind', async (token) => [await makeProof(token, {}, { jwk: thief.jwk })]],
    [
      'a signature by the key of a thief',
      async (token) => [await makeProof(token, {}, { jwk: holder.jwk }, thief)],
    ],
    ['a signature of another proof', async (token) => [await resigned(token)]],
    [
      'a key of no kind that is taken',
      async (token) => [await makeProof(token, {}, { jwk: { kty: 'oct' } })],
    ],
    ['half a key', async (token) => [await makeProof(token, {}, { jwk: { ...holder.jwk, y: undefined } })]],
    [
      'a key that says it is for another algorithm',
      async (token) => [await makeProof(token, {}, { jwk: { ...holder.jwk, alg: 'ES384' } })],
    ],
    ['an extension', async (token) => [await makeProof(token, {}, { b64: true, crit: ['b64'] })]],
    ['a claim that stands twice', async (token) => [withClaimTwice(await makeProof(token))]],
    ['the key of a thief', async (token) => [await makeProof(token, {}, {}, thief)]],
    ['an unsigned algorithm', async (token) => [unsigned(await makeProof(token))]],
    ['another method', async (token) => [await makeProof(token, { htm: 'GET' })]],
    ['the method in lower case', async (token) => [await makeProof(token, { htm: 'post' })]],
    ['another path', async (token) => [await makeProof(token, { htu: 'https://api.example/other' })]],
    ['another origin', async (token) => [await makeProof(token, { htu: 'https://evil.example/mcp' })]],
    ['another scheme', async (token) => [await makeProof(token, { htu: 'http://api.example/mcp' })]],
    ['the internal host', async (token) => [await makeProof(token, { htu: 'https://internal.example/mcp' })]],
    ['no target', async (token) => [await makeProof(token, { htu: undefined })]],
    ['no time', async (token) => [await makeProof(token, { iat: undefined })]],
    ['a lifetime that is over', async (token) => [await makeProof(token, { exp: NOW - 30 })]],
    ['a lifetime that has not begun', async (token) => [await makeProof(token, { nbf: NOW + 31 })]],
    ['a lifetime as text', async (token) => [await makeProof(token, { exp: String(NOW + 60) })]],
    ['no identifier', async (token) => [await makeProof(token, { jti: undefined })]],
    ['a huge identifier', async (token) => [await makeProof(token, { jti: 'x'.repeat(600) })]],
    ['no hash of the token', async (token) => [await makeProof(token, { ath: undefined })]],
    ['the hash of another token', async () => [await makeProof('another')]],
  ];

  it.each(wrong)('[X-DPOP-6 X-DPOP-8] rejects a DPoP-bound token with %s', async (_, make) => {
    const send = serve();
    const token = await boundToken();
    expectRefused(await send(token, await make(token)), 'invalid_dpop_proof');
    expect(events).toMatchObject([{ type: 'request.rejected', status: 401 }]);
    expect((await send(token, [await makeProof(token)])).status).toBe(200);
  });

  it.each([
    ['a query', `${RESOURCE}?x=1`],
    ['a fragment', `${RESOURCE}#x`],
    ['another case of scheme and host', 'HTTPS://API.example/mcp'],
    ['the default port', 'https://api.example:443/mcp'],
    ['needless encoding', 'https://api.example/%6dcp'],
  ])('[X-DPOP-6] accepts a proof whose htu is equivalent to the URL of the request: %s', async (_, htu) => {
    const token = await boundToken();
    expect((await serve()(token, [await makeProof(token, { htu })])).status).toBe(200);
  });

  it('accepts a proof for a path below the resource, whatever the internal host name', async () => {
    const token = await boundToken();
    const proof = await makeProof(token, { htu: 'https://api.example/mcp/x' });
    expect((await serve()(token, [proof], { url: 'http://internal:8080/mcp/x?y=1' })).status).toBe(200);
  });

  it.each([
    [-301, 401],
    [-299, 200],
    [299, 200],
    [301, 401],
  ])('[X-DPOP-7] responds to a proof whose time is off by %i seconds with %i', async (seconds, status) => {
    const token = await boundToken();
    expect((await serve()(token, [await makeProof(token, { iat: NOW + seconds })])).status).toBe(status);
  });

  it('[X-DPOP-7] accepts a proof within its own lifetime, also if clocks differ a little', async () => {
    const token = await boundToken();
    const proofs = [
      await makeProof(token, { exp: NOW + 60, nbf: NOW }),
      await makeProof(token, { exp: NOW - 29, nbf: NOW + 30 }),
    ];
    for (const proof of proofs) expect((await serve()(token, [proof])).status).toBe(200);
  });

  it('[X-DPOP-10] rejects a replayed proof in any process that shares the replay store', async () => {
    const replays = createReplayCache(() => now);
    const [one, other] = [serve({ replays }), serve({ replays })];
    const token = await boundToken();
    const proof = await makeProof(token);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? one : other)(token, [proof])),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBe(1);
    now += 200;
    expectRefused(await one(token, [proof]), 'invalid_dpop_proof');
    now += 150;
    expectRefused(await one(token, [proof]), 'invalid_dpop_proof');
  });

  it('[X-DPOP-6] responds 503, not 401, while the replay store is unavailable', async () => {
    let isDown = true;
    const replays = {
      remember: async () => {
        if (isDown) throw new Error('connection to 10.0.0.7 refused');
        return true;
      },
    };
    const send = serve({ replays });
    const token = await boundToken();
    const response = await send(token, [await makeProof(token)]);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await response.text()).not.toContain('10.0.0.7');
    isDown = false;
    expect((await send(token, [await makeProof(token)])).status).toBe(200);
  });

  it('stores no proof that is invalid for another reason', async () => {
    const kept: string[] = [];
    const replays = { remember: (proof: string) => kept.push(proof) > 0 };
    const send = serve({ replays });
    const token = await boundToken();
    for (const [, make] of wrong) await send(token, await make(token));
    expect(kept).toEqual([]);
    await send(token, [await makeProof(token)]);
    expect(kept.length).toBe(1);
  });

  it('[X-DPOP-10] sends the nonce that a proof must contain, and the next one with each response', async () => {
    const secret = new Uint8Array(32).fill(7);
    const send = serve({ nonces: { secret, lifetime: 100 } });
    const token = await boundToken();
    const first = await send(token, [await makeProof(token)]);
    expectRefused(first, 'use_dpop_nonce');
    const nonce = first.headers.get('dpop-nonce') ?? '';
    expect(nonce).toMatch(/^[\w-]{32}$/);
    const accepted = await send(token, [await makeProof(token, { nonce })]);
    expect([accepted.status, accepted.headers.get('dpop-nonce')]).toEqual([200, nonce]);
    expect(
      (await serve({ nonces: { secret, lifetime: 100 } })(token, [await makeProof(token, { nonce })])).status,
    ).toBe(200);

    now += 100;
    const later = await send(token, [await makeProof(token, { nonce })]);
    expect(later.status).toBe(200);
    expect(later.headers.get('dpop-nonce')).not.toBe(nonce);
    now += 100;
    expectRefused(await send(token, [await makeProof(token, { nonce })]), 'use_dpop_nonce');
    const foreign = new Uint8Array(32).fill(8);
    const elsewhere = serve({ nonces: { secret: foreign, lifetime: 100 } });
    expectRefused(
      await elsewhere(token, [await makeProof(token, { nonce: later.headers.get('dpop-nonce') })]),
      'use_dpop_nonce',
    );
    // While the secret is replaced in one process after the other.
    const replacing = serve({ nonces: { secret: foreign, previousSecrets: [secret], lifetime: 100 } });
    const proof = await makeProof(token, { nonce: later.headers.get('dpop-nonce') });
    const replaced = await replacing(token, [proof]);
    expect([replaced.status, replaced.headers.get('dpop-nonce')]).toEqual([200, expect.any(String)]);
    expect(replaced.headers.get('dpop-nonce')).not.toBe(later.headers.get('dpop-nonce'));
  });

  it('requires no second proof where a route requires more scopes', async () => {
    const guard = createGuard({
      resource: RESOURCE,
      verifier: issuer.verifier(),
      clock: () => now,
      dpop: {},
      events: () => {},
    });
    const token = await boundToken();
    const requestInfo = {
      method: 'POST',
      url: '/mcp',
      authorization: `DPoP ${token}`,
      dpop: await makeProof(token),
    };
    const first = await guard.authorize(requestInfo);
    if (!first.authorized) throw new Error('refused');
    const again = { ...requestInfo, authorization: '', dpop: '', principal: first.principal };
    expect((await guard.authorize({ ...again, scopes: ['notes:read'] })).authorized).toBe(true);
    const refused = await guard.authorize({ ...again, scopes: ['admin'] });
    expect(refused).toMatchObject({ authorized: false, response: { status: 403 } });
    const made = { ...first.principal, scopes: ['admin'] };
    expect((await guard.authorize({ ...again, principal: made })).authorized).toBe(false);
    const other = createGuard({
      resource: RESOURCE,
      verifier: issuer.verifier(),
      clock: () => now,
      events: () => {},
    });
    expect((await other.authorize(again)).authorized).toBe(false);
  });

  it('[X-DPOP-9] rejects a DPoP-bound token sent as a bearer token, with DPoP enabled or not', async () => {
    const token = await boundToken();
    for (const dpop of [{}, null]) {
      const response = await serve(dpop)(token, [await makeProof(token)], { scheme: 'Bearer' });
      expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([
        401,
        'invalid_token',
      ]);
    }
  });

  it('[X-DPOP-9] rejects a DPoP-bound token for another audience', async () => {
    const token = await boundToken({ aud: 'https://api.example/other' });
    expectRefused(await serve()(token, [await makeProof(token)]), 'invalid_token');
  });

  it('rejects a token that is also bound to a certificate that the guard does not check', async () => {
    const token = await issuer.token({ cnf: { 'x5t#S256': 'abc' } });
    for (const scheme of ['Bearer', 'DPoP']) {
      expect((await serve()(token, [await makeProof(token)], { scheme })).status).toBe(401);
    }
  });

  it('[X-DPOP-6] accepts tokens bound to a key of any allowed algorithm', async () => {
    for (const algorithm of ['EdDSA', 'RS256', 'PS256']) {
      const other = await createHolder(algorithm);
      const token = await issuer.token({ cnf: { jkt: other.thumbprint } });
      const proof = (): Promise<string> => makeProof(token, {}, {}, other);
      expect((await serve()(token, [await proof()])).status).toBe(200);
      expectRefused(await serve({ algorithms: ['ES256'] })(token, [await proof()]), 'invalid_dpop_proof');
    }
  });
});

describe('a guard with DPoP', () => {
  const challengesOf = async (dpop: DpopOptions | undefined): Promise<string | null> => {
    const guard = createGuard({ resource: RESOURCE, verifier: issuer.verifier(), ...(dpop && { dpop }) });
    const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization: null });
    return decision.authorized ? null : (decision.response.headers['www-authenticate'] ?? null);
  };

  it('[X-DPOP-17] accepts bearer tokens too if DPoP is optional, and challenges with both schemes, Bearer first', async () => {
    const plain = await issuer.token();
    expect((await serve()(plain, [], { scheme: 'Bearer' })).status).toBe(200);
    const challenges = parseChallenges(await challengesOf({ algorithms: ['ES256'] }));
    expect(challenges.map(({ scheme }) => scheme)).toEqual(['Bearer', 'DPoP']);
    expect(challenges[1]?.parameters.get('algs')).toBe('ES256');
  });

  it('[X-DPOP-17] rejects bearer tokens if DPoP is required, as challenge and metadata say', async () => {
    const send = serve({ required: true, algorithms: ['ES256'] });
    expectRefused(await send(await issuer.token(), [], { scheme: 'Bearer' }), 'invalid_token');
    const [challenge, ...others] = parseChallenges(
      await challengesOf({ required: true, algorithms: ['ES256'] }),
    );
    expect(others).toEqual([]);
    expect(challenge?.scheme).toBe('DPoP');
    expect(challenge?.parameters.get('resource_metadata')).toContain('/mcp');
    const guard = createGuard({ resource: RESOURCE, verifier: issuer.verifier(), dpop: { required: true } });
    const url = '/.well-known/oauth-protected-resource/mcp';
    const document = guard.publicResponse({ method: 'GET', url, authorization: null })?.body ?? '';
    expect(JSON.parse(document)).toMatchObject({
      dpop_bound_access_tokens_required: true,
      dpop_signing_alg_values_supported: expect.arrayContaining(['ES256']),
    });
    const token = await boundToken();
    expect((await send(token, [await makeProof(token)])).status).toBe(200);
  });

  it('rejects a bearer token sent with the scheme DPoP', async () => {
    const plain = await issuer.token();
    expectRefused(await serve()(plain, [await makeProof(plain)]), 'invalid_token');
  });

  it('treats the scheme DPoP as a request without a token if DPoP is disabled', async () => {
    const token = await boundToken();
    const response = await serve(null)(token, [await makeProof(token)]);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer (?!.*error)/);
  });

  it('reports issues of the DPoP options', () => {
    const make = (dpop: DpopOptions) => () =>
      createGuard({ resource: RESOURCE, verifier: issuer.verifier(), dpop });
    expect(make({ algorithms: ['HS256'] as never })).toThrow(/HS256 cannot be allowed/);
    expect(make({ algorithms: [] })).toThrow(/at least one/);
    expect(make({ nonces: { secret: new Uint8Array(16) } })).toThrow(/32 bytes/);
    const nonces = { secret: new Uint8Array(32), previousSecrets: [new Uint8Array(16)] };
    expect(make({ nonces })).toThrow(/previousSecrets must be 32 bytes/);
    expect(make({ window: 0 })).toThrow(/dpop\.window must be a number, 1 or more/);
  });
});

describe('the in-memory replay cache', () => {
  it('deletes expired proofs from the replay cache, and rejects new ones when it is full', async () => {
    let time = 0;
    const memory = createReplayCache(() => time, { maxProofs: 2, maxProofsPerKey: 2 });
    expect(await memory.remember('a', 10, 'key')).toBe(true);
    expect(await memory.remember('b', 20, 'other')).toBe(true);
    expect(await memory.remember('a', 10, 'key')).toBe(false);
    expect(() => memory.remember('c', 10, 'key')).toThrow(expect.objectContaining({ status: 503 }));
    time = 10;
    expect(await memory.remember('c', 30, 'key')).toBe(true);
    expect(await memory.remember('b', 20, 'other')).toBe(false);
  });

  it('deletes expired proofs after the clock was ahead when the replay cache was created', async () => {
    let time = 1000;
    const memory = createReplayCache(() => time, { maxProofs: 1, maxProofsPerKey: 1 });
    time = 0;
    expect(await memory.remember('a', 10, 'key')).toBe(true);
    time = 10;
    expect(await memory.remember('b', 20, 'key')).toBe(true);
  });

  it('never lets one key fill the replay cache', async () => {
    let time = 0;
    const memory = createReplayCache(() => time, { maxProofs: 100 });
    for (let index = 0; index < 10; index += 1) await memory.remember(`proof-${index}`, 300, 'flood');
    const full = expect.objectContaining({ status: 429, retryAfter: 60 });
    expect(() => memory.remember('one more', 300, 'flood')).toThrow(full);
    expect(await memory.remember('proof-0', 300, 'flood')).toBe(false);
    expect(await memory.remember('mine', 300, 'another')).toBe(true);
    time = 300;
    expect(await memory.remember('one more', 600, 'flood')).toBe(true);
  });

  it('rejects new proofs quickly when the replay cache is full', async () => {
    const memory = createReplayCache(() => 0, { maxProofs: 200_000, maxProofsPerKey: 200_000 });
    for (let index = 0; index < 200_000; index += 1) await memory.remember(String(index), 300, 'key');
    const turnAway = () => {
      for (let index = 0; index < 1000; index += 1)
        expect(() => memory.remember(`more-${index}`, 300, 'other')).toThrow();
    };
    expect(costHere(turnAway)).toBeLessThan(1000);
  });
});

/** Puts the signature of one valid proof under another. */
async function resigned(token: string): Promise<string> {
  const [header, payload] = (await makeProof(token)).split('.');
  const [, , signature] = (await makeProof(token)).split('.');
  return `${header}.${payload}.${signature}`;
}

function withClaimTwice(proof: string): string {
  const [header, payload = '', signature] = proof.split('.');
  const claims = new TextDecoder().decode(base64url.decode(payload));
  return `${header}.${base64url.encode(claims.replace('{', '{"htm":"GET",'))}.${signature}`;
}

function unsigned(proof: string): string {
  const [header = '', payload] = proof.split('.');
  const none = { ...JSON.parse(new TextDecoder().decode(base64url.decode(header))), alg: 'none' };
  return `${base64url.encode(JSON.stringify(none))}.${payload}.AAAA`;
}
