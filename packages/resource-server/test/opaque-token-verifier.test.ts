/** Opaque tokens that a function of the same process reads, beside JWTs. */
import { describe, expect, it } from 'vitest';
import {
  ConfigurationError,
  combineVerifiers,
  createGuard,
  jwtVerifier,
  opaqueTokenVerifier,
} from '../src/index.ts';
import { createIssuer, goodClaims, ISSUER, NOW, RESOURCE } from './support/issuer.ts';

const TOKEN = 'portcullis_pat_of_alice';

async function setUp(claims: Record<string, unknown> = {}) {
  const { publicJwk } = (await createIssuer(ISSUER)) as unknown as { readonly publicJwk: never };
  const state = { live: true, now: NOW };
  const guard = createGuard({
    resource: RESOURCE,
    verifier: combineVerifiers([
      jwtVerifier({
        issuer: ISSUER,
        jwks: async () => ({ keys: [publicJwk] }),
        isLive: async () => state.live,
      }),
      opaqueTokenVerifier({
        issuer: ISSUER,
        read: async (token) => (token === TOKEN ? ({ ...goodClaims(ISSUER), ...claims } as never) : null),
      }),
    ]),
    clock: () => state.now,
    events: () => {},
  });
  const present = async (token: string) => {
    const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization: `Bearer ${token}` });
    return decision.authorized ? decision.principal.subject : decision.response.status;
  };
  return { state, present };
}

describe('the verifier of opaque tokens', () => {
  it('accepts what the function reads, and rejects any other text', async () => {
    const { present } = await setUp();
    expect([await present(TOKEN), await present('portcullis_pat_of_bob')]).toEqual(['alice', 401]);
  });

  it('checks audience, issuer and expiry like those of any token', async () => {
    for (const claims of [
      { aud: 'https://other.example/' },
      { iss: 'https://other.example' },
      { exp: NOW - 60 },
    ]) {
      expect(await (await setUp(claims)).present(TOKEN)).toBe(401);
    }
  });

  it('rejects a revoked token at the next request, also while its claims are cached', async () => {
    const { state, present } = await setUp();
    expect(await present(TOKEN)).toBe('alice');
    state.live = false;
    expect(await present(TOKEN)).toBe(401);
  });

  it('rejects an issuer that is no URL', () => {
    expect(() => opaqueTokenVerifier({ issuer: 'nowhere', read: async () => null })).toThrow(
      ConfigurationError,
    );
  });
});
