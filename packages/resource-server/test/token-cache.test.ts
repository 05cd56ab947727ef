import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, it } from 'vitest';
import { createGuard, type Guard, type TokenVerifier } from '../src/index.ts';
import { createIssuer, goodClaims, ISSUER, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';

describe('cached verified tokens', () => {
  let issuer: TestIssuer;
  beforeAll(async () => {
    issuer = await createIssuer();
  });

  /** Counts how often a token is really verified. */
  function counting(verifier: TokenVerifier): { verifier: TokenVerifier; count: () => number } {
    let verified = 0;
    return {
      count: () => verified,
      verifier: {
        issuers: verifier.issuers,
        verify(token, expectation) {
          verified += 1;
          return verifier.verify(token, expectation);
        },
      },
    };
  }

  const statusOf = async (guard: Guard, authorization: string, url = '/mcp'): Promise<number> => {
    const decision = await guard.authorize({ method: 'GET', url, authorization });
    return decision.authorized ? 200 : decision.response.status;
  };

  it('verifies a token once while it is fresh, and never uses it after expiry', async () => {
    let now = NOW;
    const { verifier, count } = counting(issuer.verifier({ freshness: 60 }));
    const guard = createGuard({
      resource: RESOURCE,
      verifier,
      clock: () => now,
      clockTolerance: 0,
      events: () => {},
    });
    const token = `Bearer ${await issuer.token({ exp: NOW + 90 })}`;
    expect([await statusOf(guard, token), await statusOf(guard, token), count()]).toEqual([200, 200, 1]);
    now = NOW + 59;
    expect([await statusOf(guard, token), count()]).toEqual([200, 1]);
    now = NOW + 60;
    expect([await statusOf(guard, token), count()]).toEqual([200, 2]);
    now = NOW + 89;
    expect(await statusOf(guard, token)).toBe(200);
    now = NOW + 90;
    expect(await statusOf(guard, token)).toBe(401);
  });

  it('rejects a cached token of one resource at another (audience)', async () => {
    const { verifier } = counting(issuer.verifier());
    const resources = [{ resource: RESOURCE }, { resource: 'https://api.example/b' }];
    const guard = createGuard({ resources, verifier, clock: () => NOW, events: () => {} });
    const token = `Bearer ${await issuer.token()}`;
    expect(await statusOf(guard, token)).toBe(200);
    expect(await statusOf(guard, token, '/b')).toBe(401);
    expect(await statusOf(guard, token)).toBe(200);
  });

  it('shares an immutable principal between requests of a cached token', async () => {
    const guard = createGuard({ resource: RESOURCE, verifier: issuer.verifier(), clock: () => NOW });
    const authorization = `Bearer ${await issuer.token({ roles: ['member'], extra: { a: { b: 1 } } })}`;
    const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization });
    if (!decision.authorized) throw new Error('refused');
    const { principal } = decision;
    const claims = principal.claims as { roles: string[]; extra: { a: { b: number } } };
    expect(() => claims.roles.push('admin')).toThrow(TypeError);
    expect(() => {
      claims.extra.a.b = 2;
    }).toThrow(TypeError);
    expect(() => Object.assign(principal, { subject: 'mallory' })).toThrow(TypeError);
    expect(() => (principal.scopes as string[]).push('admin')).toThrow(TypeError);
    expect(JSON.stringify(principal)).not.toContain(authorization.slice(7));
  });

  it('caches tokens in bounded memory under 200,000 distinct tokens', async () => {
    const claims = goodClaims(ISSUER);
    const verifier: TokenVerifier = {
      issuers: [ISSUER],
      verify: (token, { now }) => ({
        claims: { ...claims, jti: token } as never,
        freshUntil: now + 60,
      }),
    };
    const guard = createGuard({ resource: RESOURCE, verifier, clock: () => NOW, tokenCacheSize: 1000 });
    const acceptTokens = async (from: number, to: number): Promise<void> => {
      for (let index = from; index < to; index += 1) await statusOf(guard, `Bearer ${index}`);
    };
    await acceptTokens(0, 20_000);
    const before = heapUsed();
    await acceptTokens(20_000, 200_000);
    const grown = heapUsed() - before;
    // Two generations of 1,000 tokens take about 3 MB; 180,000 remembered ones would take more than 200 MB.
    expect(grown).toBeLessThan(20_000_000);
  });
});

/** Bytes in use once all garbage is gone. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
  return process.memoryUsage().heapUsed;
}
