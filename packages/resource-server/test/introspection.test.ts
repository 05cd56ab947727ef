import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ConfigurationError,
  createGuard,
  type IntrospectionVerifierOptions,
  introspectionVerifier,
} from '../src/index.ts';
import { goodClaims, ISSUER, NOW, RESOURCE } from './support/issuer.ts';
import {
  answering,
  down,
  failing,
  type KeyServer,
  type Manner,
  silent,
  startKeyServer,
} from './support/key-server.ts';

let server: KeyServer;
let now = NOW;

beforeEach(async () => {
  now = NOW;
  server = await startKeyServer(answering({ active: true, ...goodClaims(ISSUER) }));
});

afterEach(() => server.close());

function guardWith(freshness = 10, timeout = 100_000): (token?: string) => Promise<number> {
  const verifier = introspectionVerifier({
    issuer: ISSUER,
    endpoint: `${server.url}/introspect`,
    clientId: 'guard',
    clientSecret: 'sec:ret',
    freshness,
    timeout,
  });
  const guard = createGuard({ resource: RESOURCE, verifier, clock: () => now, events: () => {} });
  return async (token = 'opaque-token') => {
    const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization: `Bearer ${token}` });
    return decision.authorized ? 200 : decision.response.status;
  };
}

describe('introspection', () => {
  it('introspects as a client, once while the result is fresh, and accepts active tokens', async () => {
    const seen: unknown[] = [];
    const fetch = async (url: string, init: RequestInit): Promise<Response> => {
      seen.push([url, init.method, init.body, new Headers(init.headers).get('authorization')]);
      return Response.json({
        active: true,
        ...goodClaims(ISSUER),
        iss: undefined,
        jti: undefined,
        iat: undefined,
      });
    };
    const endpoint = 'https://as.example/introspect';
    const verifier = introspectionVerifier({
      issuer: ISSUER,
      endpoint,
      clientId: 'guard',
      clientSecret: 'sec:ret',
      fetch,
    });
    const verified = await verifier.verify('opaque+token', { resource: RESOURCE, now, clockTolerance: 0 });
    expect(verified).toMatchObject({ claims: { iss: ISSUER, sub: 'alice' }, freshUntil: NOW + 10 });
    expect(seen).toEqual([
      [
        endpoint,
        'POST',
        'token=opaque%2Btoken&token_type_hint=access_token',
        `Basic ${btoa('guard:sec%3Aret')}`,
      ],
    ]);
  });

  it('T095 rejects a revoked token within the documented delay, and caches the rejection', async () => {
    const ask = guardWith(10);
    expect(await ask()).toBe(200);
    server.behave(answering({ active: false }));
    now += 9;
    expect(await ask()).toBe(200);
    expect(server.asked.length).toBe(1);
    now += 1;
    expect(await ask()).toBe(401);
    expect(await ask()).toBe(401);
    expect(server.asked.length).toBe(2);
  });

  it('introspects a token single-flight, however many requests carry it', async () => {
    const ask = guardWith();
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask()));
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(server.asked.length).toBe(1);
  });

  it.each([
    ['another audience', { aud: 'https://api.example/other' }],
    ['no audience', { aud: undefined }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['an end in the past', { exp: NOW - 60 }],
    ['no end', { exp: undefined }],
    ['no subject', { sub: undefined }],
  ])('[S-AUD-2 S-AUD-40] rejects an active token with %s', async (_, claims) => {
    server.behave(answering({ active: true, ...goodClaims(ISSUER, claims) }));
    expect(await guardWith()()).toBe(401);
  });

  it.each([
    ['a refresh token of Ory Hydra', { token_type: 'Bearer', token_use: 'refresh_token' }],
    ['a refresh token of Keycloak', { typ: 'Refresh' }],
    ['an offline token of Keycloak', { typ: 'Offline' }],
    ['an ID token', { token_type: 'id_token' }],
    ['a refresh token by its type', { token_type: 'refresh-token' }],
  ])('[S-AUD-2] rejects an active token that is %s, which lives longer', async (_, claims) => {
    server.behave(answering({ active: true, ...goodClaims(ISSUER, claims) }));
    const ask = guardWith();
    expect(await ask()).toBe(401);
    expect(await ask()).toBe(401);
    // It never becomes an access token, so the answer is kept.
    expect(server.asked.length).toBe(1);
  });

  it.each([
    [{ token_type: 'Bearer', token_use: 'access_token' }],
    [{ token_type: 'bearer', typ: 'Bearer' }],
    [{ token_type: 'access_token' }],
    [{ token_type: 'urn:ietf:params:oauth:token-type:access_token', typ: 'at+jwt' }],
    [{ token_use: 'access', typ: 7 }],
  ])('accepts an active access token that its server describes as %j', async (claims) => {
    server.behave(answering({ active: true, ...goodClaims(ISSUER, claims) }));
    expect(await guardWith()()).toBe(200);
  });

  it.each([
    ['down', down],
    ['failing', failing(503)],
    ['not letting us in', failing(401, '{"error":"invalid_client"}')],
    ['a page', failing(200, '<html>')],
    ['silent', silent],
    ['not saying', answering({ scope: 'notes:read' })],
    ['saying it in words', answering({ active: 'true', ...goodClaims(ISSUER) })],
  ] satisfies [string, Manner][])('that is unavailable means 503, never 401: %s', async (_, manner) => {
    server.behave(manner);
    const ask = guardWith(10, manner === silent ? 1000 : 5000);
    expect(await ask()).toBe(503);
    expect(await ask('another')).toBe(503);
    expect(server.asked).toEqual(['/introspect']);
    server.behave(answering({ active: true, ...goodClaims(ISSUER) }));
    now += 1;
    expect(await ask()).toBe(200);
  });

  it.each([400, 413, 500])(
    'introspects other tokens although introspection of one fails (%i)',
    async (status) => {
      const ask = guardWith();
      server.behave(failing(status));
      expect(await ask('strange')).toBe(503);
      server.behave(answering({ active: true, ...goodClaims(ISSUER) }));
      expect(await ask('usual')).toBe(200);
      expect(await ask('strange')).toBe(200);
    },
  );

  it.each<[string, Manner]>([
    ['too long', (response) => void response.end('x'.repeat(300_000))],
    ['that breaks off', (response) => void response.write('x', () => response.destroy())],
    ['that never ends', (response) => void response.write('x')],
  ])('reads the status of an error response with a body %s', async (_, body) => {
    const ask = guardWith();
    for (const [status, other] of [
      [413, 200],
      [503, 503],
    ] as const) {
      server.behave((response) => body(response.writeHead(status, { 'retry-after': '30' })));
      expect(await ask('strange')).toBe(503);
      server.behave(answering({ active: true, ...goodClaims(ISSUER) }));
      now += status === 503 ? 29 : 0;
      expect(await ask(`usual-${status}`)).toBe(other);
    }
  });

  it('does not introspect during the Retry-After of the issuer, up to a limit', async () => {
    const ask = guardWith();
    server.behave(failing(429, '', { 'retry-after': '20' }));
    expect(await ask()).toBe(503);
    server.behave(answering({ active: true, ...goodClaims(ISSUER) }));
    now += 19;
    expect([await ask(), server.asked.length]).toEqual([503, 1]);
    now += 1;
    expect(await ask()).toBe(200);
    for (const [wanted, seconds] of [
      ['99999', 60],
      ['Fri, 31 Dec 2099 23:59:59 GMT', 1],
      ['-5', 1],
    ] as const) {
      server.behave(failing(503, '', { 'retry-after': wanted }));
      expect(await ask(`token-${wanted.length}`)).toBe(503);
      server.behave(answering({ active: true, ...goodClaims(ISSUER) }));
      now += seconds;
      expect(await ask(`token-${wanted.length}`)).toBe(200);
    }
  });

  it('introspects again once the clock was ahead, although it failed or the token was active meanwhile', async () => {
    const ask = guardWith();
    now += 300;
    expect(await ask()).toBe(200);
    server.behave(failing(503));
    expect(await ask('another')).toBe(503);
    now = NOW;
    server.behave(answering({ active: false }));
    expect([await ask('another'), await ask()]).toEqual([401, 401]);
  });

  it('T093 introspects at most 256 tokens concurrently, however many are sent', async () => {
    const ask = guardWith();
    server.behave((response) =>
      setTimeout(() => answering({ active: true, ...goodClaims(ISSUER) })(response), 300),
    );
    const answers = await Promise.all(Array.from({ length: 300 }, (_, index) => ask(`token-${index}`)));
    expect(answers.filter((status) => status === 200).length).toBe(256);
    expect(answers.filter((status) => status === 503).length).toBe(44);
    expect(await ask('afterwards')).toBe(200);
  });

  /** A guard whose issuer answers when it is told to. */
  function guardOfSlowIssuer(options: Partial<IntrospectionVerifierOptions> = {}) {
    const waiting: (() => void)[] = [];
    let isSlow = true;
    const fetch = async (_url: string, { body }: RequestInit): Promise<Response> => {
      if (isSlow) await new Promise<void>((resolve) => waiting.push(resolve));
      const isGood = new URLSearchParams(String(body)).get('token')?.startsWith('opaque.') === true;
      return Response.json(isGood ? { active: true, ...goodClaims(ISSUER) } : { active: false });
    };
    const verifier = introspectionVerifier({
      ...{
        issuer: ISSUER,
        endpoint: `${ISSUER}/introspect`,
        clientId: 'guard',
        clientSecret: 'secret',
        fetch,
      },
      ...options,
    });
    const guard = createGuard({ resource: RESOURCE, verifier, clock: () => now, events: () => {} });
    const ask = async (token: string, address?: string): Promise<number> => {
      const decision = await guard.authorize({
        ...{ method: 'GET', url: '/mcp', authorization: `Bearer ${token}` },
        ...(address !== undefined && { address }),
      });
      return decision.authorized ? 200 : decision.response.status;
    };
    const finish = (): void => {
      isSlow = false;
      for (const release of waiting.splice(0)) release();
    };
    return { ask, finish, waiting, setSlow: (slow: boolean) => (isSlow = slow) };
  }

  it('T093 shares its requests by remote address, so that junk from some does not displace others', async () => {
    const { ask, finish, waiting } = guardOfSlowIssuer();
    const junk = (from: string) =>
      Array.from({ length: 300 }, (_, index) => ask(`junk-${from}-${index}`, from));
    const flood = [...junk('192.0.2.1'), ...junk('192.0.2.2')];
    const own = ['192.0.2.3', '192.0.2.4', '192.0.2.5'].map((from) => ask(`opaque.${from}`, from));
    expect(waiting.length).toBe(128 + 64 + 3);
    finish();
    expect(await Promise.all(own)).toEqual([200, 200, 200]);
    const statuses = await Promise.all(flood);
    expect(statuses.filter((status) => status === 401).length).toBe(128 + 64);
    expect(await ask('opaque.later', '192.0.2.1')).toBe(200);
  });

  it('T093 leaves half of its requests to tokens that look like those of the issuer', async () => {
    const { ask, finish, waiting, setSlow } = guardOfSlowIssuer();
    setSlow(false);
    expect(await ask('opaque.first')).toBe(200);
    setSlow(true);
    const flood = Array.from({ length: 300 }, (_, index) => ask(`junk-${index}-`.padEnd(40, 'x')));
    expect(waiting.length).toBe(128);
    const own = ask('opaque.second');
    finish();
    expect(await own).toBe(200);
    expect(new Set(await Promise.all(flood))).toEqual(new Set([401, 503]));
  });

  it('refuses without a request to the issuer what cannot be a token of it', async () => {
    const { ask, waiting, setSlow } = guardOfSlowIssuer({ tokenPattern: /^opaque\.[\w-]+$|^ey/ });
    const jwt = (claims: object): string =>
      ['{"alg":"ES256"}', JSON.stringify(claims), 'x'].map((part) => btoa(part).replace(/=+$/, '')).join('.');
    const junk = [
      'junk',
      'opaque.',
      jwt({ iss: 'https://other.example' }),
      jwt({ iss: ISSUER, exp: NOW - 60 }),
    ];
    for (const token of junk) expect(await ask(token)).toBe(401);
    expect(waiting.length).toBe(0);
    setSlow(false);
    expect(await ask('opaque.good')).toBe(200);
    expect(() => guardOfSlowIssuer({ tokenPattern: /x/g })).toThrow('tokenPattern');
    expect(() => guardOfSlowIssuer({ tokenPattern: 'x' as never })).toThrow('tokenPattern');
  });

  it('blocks later requests only until the deadline if an introspection request was aborted', async () => {
    const lost = (): Promise<Response> => new Promise(() => {});
    const well = async (): Promise<Response> => Response.json({ active: true, ...goodClaims(ISSUER) });
    let fetch = lost;
    const verifier = introspectionVerifier({
      issuer: ISSUER,
      endpoint: 'https://as.example/introspect',
      clientId: 'guard',
      clientSecret: 'secret',
      timeout: 200,
      fetch: () => fetch(),
    });
    const verify = async (token: string): Promise<unknown> =>
      verifier.verify(token, { resource: RESOURCE, now, clockTolerance: 0 });
    const lostOnes = Array.from({ length: 256 }, (_, index) => verify(`token-${index}`));
    fetch = well;
    await expect(verify('one more')).rejects.toMatchObject({ status: 503 });
    now += 2;
    for (const token of ['token-0', 'one more'])
      expect(await verify(token)).toMatchObject({ claims: { sub: 'alice' } });
    for (const outcome of await Promise.allSettled(lostOnes)) expect(outcome.status).toBe('rejected');
  });

  it('reports all issues of its options at once', () => {
    const make = (): unknown =>
      introspectionVerifier({ issuer: 'as', endpoint: 'http://as.example', clientId: '', clientSecret: '' });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(/issuer .*endpoint .*clientId .*clientSecret/s);
  });

  it('T095 rejects durations given as text, which would be concatenated, and a missing secret', () => {
    const endpoint = `${ISSUER}/introspect`;
    const good = { issuer: ISSUER, endpoint, clientId: 'api', clientSecret: 'secret', freshness: 10 };
    expect(() => introspectionVerifier(good)).not.toThrow();
    const wrong = { ...good, clientSecret: undefined, freshness: '10', timeout: '5000' } as object;
    expect(() => introspectionVerifier(wrong as typeof good)).toThrow(
      /freshness must be a number.*timeout must be a number.*clientSecret is empty/s,
    );
  });
});
