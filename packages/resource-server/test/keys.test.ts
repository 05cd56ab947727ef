import { SignJWT } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ConfigurationError,
  createGuard,
  type JwsAlgorithm,
  type JwtVerifierOptions,
  jwtVerifier,
} from '../src/index.ts';
import { createIssuer, ISSUER, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';
import {
  answering,
  down,
  failing,
  type KeyServer,
  type Manner,
  silent,
  startKeyServer,
} from './support/key-server.ts';

const LIMITS = { maxAge: 600, staleIfError: 3600, cooldown: 30, retryAfter: 5 };

let old: TestIssuer;
let young: TestIssuer;
let server: KeyServer;
let now = NOW;

beforeAll(async () => {
  old = await createIssuer(ISSUER, 'ES256', 'old');
  young = await createIssuer(ISSUER, 'ES256', 'young');
});

beforeEach(async () => {
  now = NOW;
  server = await startKeyServer(answering({ keys: [old.publicJwk] }));
});

afterEach(() => server.close());

type Ask = (token: string) => Promise<{ status: number; retryAfter: string | undefined }>;

/** Creates a guard without a token cache, so that every request needs a key. */
function guardWith(options: Partial<JwtVerifierOptions> = {}, tokenCacheSize = 0): Ask {
  const verifier = jwtVerifier({
    issuer: ISSUER,
    jwksUri: `${server.url}/jwks`,
    keys: LIMITS,
    ...options,
  });
  const guard = createGuard({
    resource: RESOURCE,
    verifier,
    clock: () => now,
    tokenCacheSize,
    events: () => {},
  });
  return async (token) => {
    const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization: `Bearer ${token}` });
    return decision.authorized
      ? { status: 200, retryAfter: undefined }
      : { status: decision.response.status, retryAfter: decision.response.headers['retry-after'] };
  };
}

const token = (issuer: TestIssuer, header: Record<string, unknown> = {}): Promise<string> =>
  issuer.token({ iat: now, exp: now + 600 }, header);

/** Waits for background work of a request. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

describe('keys of an issuer', () => {
  it('fetches keys single-flight, however many requests wait for them', async () => {
    const ask = guardWith();
    const tokens = await Promise.all(Array.from({ length: 50 }, () => token(old)));
    const answers = await Promise.all(tokens.map(ask));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(server.asked).toEqual(['/jwks']);
  });

  it('[S-JWT-64] fetches the keys again for an unknown key identifier, so that a rotation rejects no token', async () => {
    const ask = guardWith();
    expect((await ask(await token(old))).status).toBe(200);
    server.behave(answering({ keys: [young.publicJwk, old.publicJwk] }));
    now += 31;
    expect((await ask(await token(young))).status).toBe(200);
    expect((await ask(await token(old))).status).toBe(200);
    expect(server.asked.length).toBe(2);
  });

  it('[S-JWT-64] fetches the keys again, for new and withdrawn ones, if the clock was ahead when they were fetched', async () => {
    const ask = guardWith();
    now += 86_400;
    expect((await ask(await token(old))).status).toBe(200);
    server.behave(answering({ keys: [young.publicJwk] }));
    now = NOW;
    expect((await ask(await token(young))).status).toBe(200);
    expect((await ask(await token(old))).status).toBe(401);
  });

  it('[S-JWT-64] fetches the keys once per cool-down, however many unknown keys are named', async () => {
    const ask = guardWith();
    await ask(await token(old));
    now += 31;
    const flood = await Promise.all(
      Array.from({ length: 200 }, (_, index) => old.token({ iat: now - 60 }, { kid: `k${index}` })),
    );
    const answers = await Promise.all(flood.map(ask));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    expect(server.asked.length).toBe(2);
    expect((await ask(await token(old))).status).toBe(200);
  });

  it('responds 401 within the cool-down to an unknown key, and 503 where a token of its client and grant was verified', async () => {
    const ask = guardWith();
    await ask(await token(old));
    now += 31;
    expect((await ask(await token(old, { kid: 'junk' }))).status).toBe(401);
    server.behave(answering({ keys: [young.publicJwk] }));
    now += 10;
    const [verified, otherGrant, otherClient] = await Promise.all([
      young.token({ iat: now }),
      young.token({ iat: now, grant_id: 'another grant' }),
      young.token({ iat: now, client_id: 'another client' }),
    ]);
    // The fetch of its own for verified grants is used up by junk that names one.
    for (const other of [otherGrant, otherClient]) expect((await ask(other)).status).toBe(401);
    expect((await ask(await young.token({ iat: now }, { kid: 'junk' }))).status).toBe(401);
    server.behave(answering({ keys: [old.publicJwk, young.publicJwk] }));
    now += 30;
    for (const one of [verified, otherGrant]) expect((await ask(one)).status).toBe(200);
  });

  it('[S-JWT-61] refuses at once, without a fetch, an algorithm that is not allowed and a known key under another', async () => {
    const ask = guardWith({ algorithms: ['ES256', 'RS256'] });
    const mac = await new SignJWT({ iss: ISSUER }).setProtectedHeader({
      alg: 'HS256',
      typ: 'at+jwt',
      kid: 'old',
    });
    const hs256 = await mac.sign(new TextEncoder().encode(JSON.stringify(old.publicJwk).slice(0, 64)));
    const [, payload] = (await token(old)).split('.');
    const forged = (header: object): string =>
      `${Buffer.from(JSON.stringify({ typ: 'at+jwt', ...header })).toString('base64url')}.${payload}.AAAA`;
    const disallowed = [
      hs256,
      ...['none', 'HS256', 'ES384', 'toString', ''].flatMap((alg) => [
        forged({ alg, kid: 'old' }),
        forged({ alg, kid: 'junk' }),
        forged({ alg }),
      ]),
    ];
    for (const junk of disallowed) expect((await ask(junk)).status).toBe(401);
    expect(server.asked).toEqual([]);

    expect((await ask(await token(old))).status).toBe(200);
    for (const junk of [...disallowed, forged({ alg: 'RS256', kid: 'old' }), forged({ alg: 'RS256' })])
      expect((await ask(junk)).status).toBe(401);
    expect((await ask(await token(old))).status).toBe(200);
    expect(server.asked.length).toBe(1);
  });

  it('[S-JWT-61] refuses an unknown key identifier at once if the issuer is in this process', async () => {
    let published = [old.publicJwk];
    let calls = 0;
    const jwks = async () => {
      calls += 1;
      return { keys: published };
    };
    const ask = guardWith({ jwks, jwksUri: undefined, keys: undefined } as object);
    expect((await ask(await token(old))).status).toBe(200);
    const flood = await Promise.all(
      Array.from({ length: 50 }, (_, index) => old.token({ iat: now }, { kid: `k${index}` })),
    );
    for (const junk of flood) expect((await ask(junk)).status).toBe(401);
    const atOnce = await Promise.all(flood.map(ask));
    expect(new Set(atOnce.map(({ status }) => status))).toEqual(new Set([401]));
    expect(calls).toBeLessThan(100);
    published = [young.publicJwk, old.publicJwk];
    expect((await ask(await token(young))).status).toBe(200);
  });

  it('lets junk neither raise the rate of 503 nor use up the fetch for tokens of known grants', async () => {
    const ask = guardWith();
    expect((await ask(await token(old))).status).toBe(200);
    const junk = async (index: number): Promise<number> => {
      const forged = await old.token({ iat: now, grant_id: `forged-${index}` }, { kid: `junk-${index}` });
      return (await ask(forged)).status;
    };
    const statuses: number[] = [];
    for (let second = 0; second < 90; second += 1) {
      now += 1;
      statuses.push(await junk(second), await junk(1000 + second));
    }
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect(server.asked.length).toBe(4);

    server.behave(answering({ keys: [young.publicJwk, old.publicJwk] }));
    now += 1;
    await junk(2000);
    expect((await ask(await token(young))).status).toBe(200);
    expect(server.asked.length).toBe(5);
  });

  it.each([
    ['a known client and user, which anyone can guess', { grant_id: undefined }],
    ['a known grant, as its holder can', {}],
  ])('lets junk that names %s not raise the rate of 503', async (_whose, claims) => {
    const ask = guardWith();
    expect((await ask(await old.token({ iat: now, ...claims }))).status).toBe(200);
    const statuses: number[] = [];
    for (let index = 0; index < 60; index += 1) {
      const forged = await old.token({ iat: now, ...claims }, { kid: `junk-${index}` });
      statuses.push((await ask(forged)).status);
    }
    expect(statuses.filter((status) => status === 503).length).toBeLessThanOrEqual(20);
    expect(statuses.at(-1)).toBe(401);
    expect((await ask(await old.token({ iat: now, ...claims }))).status).toBe(200);
  });

  it('[S-JWT-64] fetches the keys twice per cool-down at most, however many known grants junk names', async () => {
    const ask = guardWith();
    const grants = Array.from({ length: 20 }, (_, index) => `grant-${index}`);
    for (const grant_id of grants) await ask(await old.token({ iat: now, grant_id }));
    const before = server.asked.length;
    for (let second = 0; second < 90; second += 1) {
      now += 1;
      const junk = grants.map((grant_id) => old.token({ iat: now, grant_id }, { kid: `junk-${second}` }));
      await Promise.all((await Promise.all(junk)).map(ask));
    }
    // Ninety seconds are three cool-downs, and each has one fetch for all and one for known grants.
    expect(server.asked.length - before).toBeLessThanOrEqual(2 * 3 + 1);
  });

  it.each([0, 4])(
    'fetches the keys again for a verified grant whose token was issued %i s before the last fetch',
    async (earlier) => {
      const ask = guardWith();
      await ask(await token(old));
      const junk = await young.token({ iat: NOW }, { kid: 'junk' });
      server.behave(answering({ keys: [old.publicJwk] }));
      expect((await ask(junk)).status).toBe(401);
      const early = await young.token({ iat: NOW - earlier, exp: NOW + 600 });
      expect(await ask(early)).toEqual({ status: 503, retryAfter: '30' });
      server.behave(answering({ keys: [young.publicJwk, old.publicJwk] }));
      now += 30;
      expect((await ask(await young.token({ iat: NOW }))).status).toBe(200);
    },
  );

  it('fetches the keys from the current metadata of the issuer, not from its first', async () => {
    const local = await createIssuer(server.url);
    let path = '/keys';
    server.behave((response) =>
      answering(
        server.asked.at(-1)?.includes('well-known')
          ? { issuer: server.url, jwks_uri: `${server.url}${path}` }
          : { keys: server.asked.at(-1) === path ? [local.publicJwk] : [] },
      )(response),
    );
    const found = jwtVerifier({ issuer: server.url, keys: LIMITS });
    const good = async (): Promise<string> => local.token({ iat: now, exp: now + 60 });
    const expected = (): { resource: string; now: number; clockTolerance: number } => ({
      resource: RESOURCE,
      now,
      clockTolerance: 0,
    });
    await found.verify(await good(), expected());
    path = '/moved';
    now += LIMITS.maxAge;
    await found.verify(await good(), expected());
    await expect.poll(() => server.asked).toContain('/moved');
    now += LIMITS.maxAge + LIMITS.staleIfError - 1;
    expect((await found.verify(await good(), expected())).claims.sub).toBe('alice');
  });

  it.each([
    ['down', down],
    ['failing', failing(500)],
    ['gone', failing(404)],
    ['redirecting', failing(302, '', { location: '/elsewhere' })],
    ['a page', failing(200, '<html>keys</html>')],
    ['empty', answering({ keys: [] })],
    ['no set', answering({ nothing: true })],
    ['null', answering(null)],
    ['endless', failing(200, `{"keys":[],"x":"${'x'.repeat(300_000)}"}`)],
    ['symmetric', answering({ keys: [{ kty: 'oct', k: 'c2VjcmV0', kid: 'old', alg: 'HS256' }] })],
    [
      'no key after all',
      answering({ keys: [{ kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA', kid: 'old' }] }),
    ],
    ['silent', silent],
  ] satisfies [string, Manner][])(
    'uses cached keys through an outage for a bounded time: %s',
    async (_, manner) => {
      const ask = guardWith(manner === silent ? { timeout: 3000 } : {});
      expect((await ask(await token(old))).status).toBe(200);
      server.behave(manner);

      now += LIMITS.maxAge + 1;
      for (let round = 0; round < 10; round += 1) expect((await ask(await token(old))).status).toBe(200);
      expect((await ask(await token(young))).status).toBe(503);
      expect(server.asked.length).toBe(2);

      now = NOW + LIMITS.maxAge + LIMITS.staleIfError;
      expect((await ask(await token(old))).status).toBe(503);

      server.behave(answering({ keys: [old.publicJwk] }));
      now += LIMITS.retryAfter;
      expect((await ask(await token(old))).status).toBe(200);
      now += LIMITS.cooldown;
      expect((await ask(await token(old, { kid: 'junk' }))).status).toBe(401);
    },
  );

  it('never follows a redirect to keys', async () => {
    server.behave((response) =>
      server.asked.at(-1) === '/elsewhere'
        ? answering({ keys: [old.publicJwk] })(response)
        : failing(307, '', { location: '/elsewhere' })(response),
    );
    const ask = guardWith();
    expect((await ask(await token(old))).status).toBe(503);
    expect(server.asked).toEqual(['/jwks']);
    // As a runtime answers that shows nothing of a redirect.
    const hiding = guardWith({ fetch: async () => Response.error() });
    expect((await hiding(await token(old))).status).toBe(503);
  });

  it('responds 503 with Retry-After if keys were never fetched, and fetches once per interval', async () => {
    server.behave(down);
    const ask = guardWith();
    const first = await ask(await token(old));
    expect(first).toEqual({ status: 503, retryAfter: '5' });
    now += 2;
    expect(await ask(await token(old))).toEqual({ status: 503, retryAfter: '3' });
    expect(server.asked.length).toBe(1);
    now += 3;
    server.behave(answering({ keys: [old.publicJwk] }));
    expect((await ask(await token(old))).status).toBe(200);
  });

  it('responds 503 after the deadline if the function jwks never returns', async () => {
    const ask = guardWith({ jwks: () => new Promise(() => {}), jwksUri: undefined, timeout: 50 } as object);
    expect((await ask(await token(old))).status).toBe(503);
  });

  it('blocks later requests only until the deadline if a key fetch was aborted', async () => {
    const lost = (): Promise<Response> => new Promise(() => {});
    const well = async (): Promise<Response> => Response.json({ keys: [old.publicJwk] });
    let fetch = lost;
    const ask = guardWith({ fetch: () => fetch(), timeout: 300 });
    expect((await ask(await token(old))).status).toBe(503);
    fetch = well;
    now += LIMITS.retryAfter;
    expect((await ask(await token(old))).status).toBe(200);

    fetch = lost;
    now += LIMITS.maxAge;
    expect((await ask(await token(old))).status).toBe(200);
    fetch = well;
    now += LIMITS.cooldown;
    expect((await ask(await token(old))).status).toBe(200);
    await settle();
    now += LIMITS.maxAge + LIMITS.staleIfError - 1;
    expect((await ask(await token(old))).status).toBe(200);
  });

  it('refreshes keys in the background, so that a slow issuer delays no request', async () => {
    // Longer than a test may take.
    const ask = guardWith({ timeout: 600_000 });
    await ask(await token(old));
    server.behave(silent);
    now += LIMITS.maxAge / 2;
    expect((await ask(await token(old))).status).toBe(200);
    await expect.poll(() => server.asked).toHaveLength(2);
  });

  it('uses withdrawn keys no longer than maximum age and cache allow', async () => {
    const ask = guardWith({ freshness: 60 }, 100);
    const lasting = await old.token({ exp: NOW + 10_000 });
    expect((await ask(lasting)).status).toBe(200);
    server.behave(answering({ keys: [young.publicJwk] }));
    now += LIMITS.maxAge / 2;
    expect((await ask(lasting)).status).toBe(200);
    // Once the new keys have come, one of them is known.
    await expect.poll(async () => (await ask(await token(young))).status).toBe(200);
    now += 60;
    expect((await ask(lasting)).status).toBe(401);
  });

  it('accepts no token of a withdrawn key after a pause in which the keys grew too old', async () => {
    const ask = guardWith({ freshness: 60 }, 100);
    const lasting = await old.token({ exp: NOW + 10_000 });
    expect((await ask(lasting)).status).toBe(200);
    server.behave(answering({ keys: [young.publicJwk] }));
    now += LIMITS.maxAge;
    expect((await ask(lasting)).status).toBe(401);
    expect((await ask(await token(young))).status).toBe(200);
  });

  it('discovers keys through the metadata of the issuer, which must name that issuer', async () => {
    const local = await createIssuer(server.url);
    server.behave((response) =>
      answering(
        server.asked.at(-1) === '/keys'
          ? { keys: [local.publicJwk] }
          : { issuer: server.url, jwks_uri: `${server.url}/keys` },
      )(response),
    );
    const found = jwtVerifier({ issuer: server.url });
    const verified = await found.verify(await local.token(), { resource: RESOURCE, now, clockTolerance: 0 });
    expect(verified.claims.sub).toBe('alice');
    expect(server.asked).toEqual(['/.well-known/oauth-authorization-server', '/keys']);

    server.behave(answering({ issuer: 'https://evil.example', jwks_uri: `${server.url}/keys` }));
    const lied = jwtVerifier({ issuer: server.url });
    const refused = lied.verify(await local.token(), { resource: RESOURCE, now, clockTolerance: 0 });
    await expect(refused).rejects.toMatchObject({ status: 503 });
  });

  it('T090 never fetches keys from a URL in a token', async () => {
    const ask = guardWith({ jwks: { keys: [old.publicJwk] }, jwksUri: undefined } as object);
    const headers = [
      { jku: `${server.url}/evil` },
      { x5u: `${server.url}/evil` },
      { kid: `${server.url}/evil` },
    ];
    for (const header of headers) await ask(await token(young, header));
    expect(server.asked).toEqual([]);
    expect((await ask(await token(old))).status).toBe(200);
  });
});

describe('keys and algorithms', () => {
  it.each([
    'ES256',
    'ES384',
    'ES512',
    'EdDSA',
    'Ed25519',
    'RS256',
    'RS384',
    'RS512',
    'PS256',
    'PS384',
    'PS512',
  ] satisfies JwsAlgorithm[])(
    '[S-JWT-61] verifies %s signatures only if the algorithm is allowed',
    async (algorithm) => {
      const issuer = await createIssuer(ISSUER, algorithm);
      const expectation = { resource: RESOURCE, now, clockTolerance: 0 };
      const good = await issuer.token();
      const [header, payload] = good.split('.');
      const [, , foreign] = (await (await createIssuer(ISSUER, algorithm)).token()).split('.');
      const allowing = issuer.verifier({ algorithms: [algorithm] });
      expect((await allowing.verify(good, expectation)).claims.sub).toBe('alice');
      const wrong = async (): Promise<unknown> =>
        allowing.verify(`${header}.${payload}.${foreign}`, expectation);
      await expect(wrong()).rejects.toMatchObject({ code: 'invalid_token' });

      const other = algorithm === 'ES256' ? 'ES384' : 'ES256';
      const { publicJwk } = await createIssuer(ISSUER, other, 'other');
      const set = { keys: [publicJwk, issuer.publicJwk] };
      const barring = async (): Promise<unknown> =>
        issuer.verifier({ jwks: set, algorithms: [other] }).verify(good, expectation);
      await expect(barring()).rejects.toMatchObject({ code: 'invalid_token' });
    },
  );

  it.each([
    ['EdDSA', 'Ed25519'],
    ['Ed25519', 'EdDSA'],
  ] satisfies [JwsAlgorithm, string][])(
    'verifies %s signatures with a key whose alg is %s',
    async (algorithm, alg) => {
      const issuer = await createIssuer(ISSUER, algorithm);
      const set = { keys: [{ ...issuer.publicJwk, alg }] };
      const expectation = { resource: RESOURCE, now, clockTolerance: 0 };
      expect(
        (await issuer.verifier({ jwks: set }).verify(await issuer.token(), expectation)).claims.sub,
      ).toBe('alice');
    },
  );

  it('accepts a token without a key identifier if exactly one key fits', async () => {
    const expectation = { resource: RESOURCE, now, clockTolerance: 0 };
    const anonymous = await old.token({}, { kid: undefined });
    const verified = await old.verifier().verify(anonymous, expectation);
    expect(verified.claims.sub).toBe('alice');
    const two = old.verifier({ jwks: { keys: [old.publicJwk, young.publicJwk] } });
    expect(() => two.verify(anonymous, expectation)).toThrow(
      expect.objectContaining({ code: 'invalid_token' }),
    );
  });

  it('ignores keys that are not for verification, too small, with a long exponent, or published with their private part', async () => {
    const small = { kty: 'RSA', n: 'A'.repeat(171), e: 'AQAB', kid: 'small' };
    const expensive = { kty: 'RSA', n: 'A'.repeat(400), e: 'A'.repeat(12), kid: 'expensive' };
    const bad = [
      { ...old.publicJwk, use: 'enc' },
      { ...old.publicJwk, key_ops: ['sign'] },
      { ...old.publicJwk, d: 'AAAA' },
      { ...old.publicJwk, alg: 'ES384' },
      { ...old.publicJwk, crv: 'P-384' },
      { ...old.publicJwk, x: 'AAAA' },
      { kty: 'RSA', n: 'A'.repeat(400), kid: 'broken' },
      small,
      expensive,
      null,
      'key',
    ];
    for (const key of bad) expect(() => old.verifier({ jwks: { keys: [key] } })).toThrow('no public key');
  });

  it('reports all issues of the key options at once', () => {
    const make = (): unknown =>
      jwtVerifier({
        issuer: 'as',
        jwksUri: 'http://as.example/jwks',
        algorithms: ['HS256', 'none'] as never,
      });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(/issuer .*jwksUri .*HS256 .*none/s);
    expect(() => jwtVerifier({ issuer: ISSUER, jwks: { keys: [] }, jwksUri: 'https://a.example' })).toThrow(
      'mutually exclusive',
    );
    expect(() => jwtVerifier({ issuer: ISSUER, algorithms: [] })).toThrow('at least one');
  });

  it('T095 rejects durations given as text, which would be concatenated', () => {
    const good = { issuer: ISSUER, freshness: 60, timeout: 5000, keys: { maxAge: 600 } };
    expect(() => jwtVerifier(good)).not.toThrow();
    const wrong = { issuer: ISSUER, freshness: '60', timeout: '5000', keys: { maxAge: '600' } } as object;
    expect(() => jwtVerifier(wrong as typeof good)).toThrow(
      /freshness must be a number.*timeout must be a number.*keys\.maxAge must be a number/s,
    );
  });
});
