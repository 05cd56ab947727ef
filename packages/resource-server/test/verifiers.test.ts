import { beforeAll, describe, expect, it } from 'vitest';
import {
  ConfigurationError,
  combineVerifiers,
  confirmVerifier,
  dangerouslyAcceptAudiences,
  dangerouslyAcceptTypes,
  introspectionVerifier,
  type JwtVerifierOptions,
  type TokenVerifier,
} from '../src/index.ts';
import { createIssuer, goodClaims, ISSUER, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';

const EXPECTED = { resource: RESOURCE, now: NOW, clockTolerance: 0 };
const OTHER = 'https://other.example';

let issuer: TestIssuer;
let other: TestIssuer;

beforeAll(async () => {
  issuer = await createIssuer();
  other = await createIssuer(OTHER);
});

const subjectOf = async (verifier: TokenVerifier, token: string): Promise<string> =>
  (await verifier.verify(token, EXPECTED)).claims.sub;

const refusal = async (verifier: TokenVerifier, token: string): Promise<unknown> => {
  try {
    return await subjectOf(verifier, token);
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
};

/** Creates a verifier by introspection that knows one token, and records what it receives. */
function introspecting(of: string, shown: string[] = []): TokenVerifier {
  return introspectionVerifier({
    issuer: of,
    endpoint: `${of}/introspect`,
    clientId: 'guard',
    clientSecret: 'secret',
    fetch: async (_url, init) => {
      const token = new URLSearchParams(String(init.body)).get('token') ?? '';
      shown.push(token);
      return Response.json(
        token.startsWith('opaque') ? { active: true, ...goodClaims(of) } : { active: false },
      );
    },
  });
}

describe('several verifiers', () => {
  it('verifies each JWT with the keys of the issuer that it names', async () => {
    const verifier = combineVerifiers([issuer.verifier(), other.verifier()]);
    expect(verifier.issuers).toEqual([ISSUER, OTHER]);
    expect(await subjectOf(verifier, await issuer.token())).toBe('alice');
    expect(await subjectOf(verifier, await other.token({ sub: 'bob' }))).toBe('bob');
    for (const token of [
      await issuer.token({ iss: OTHER }),
      await other.token({ iss: ISSUER }),
      await issuer.token({ iss: 'https://evil.example' }),
      'opaque',
    ]) {
      expect(await refusal(verifier, token)).toBe('invalid_token');
    }
  });

  it('verifies a JWT locally and any other token by introspection', async () => {
    const shown: string[] = [];
    const verifier = combineVerifiers([introspecting(ISSUER, shown), issuer.verifier()]);
    expect(await subjectOf(verifier, 'opaque-1')).toBe('alice');
    expect(await subjectOf(verifier, await issuer.token())).toBe('alice');
    expect(shown).toEqual(['opaque-1']);
    expect(await refusal(verifier, 'unknown')).toBe('invalid_token');
  });

  it('never sends a JWT to an issuer that it does not name', async () => {
    const shown: string[] = [];
    const verifier = combineVerifiers([issuer.verifier(), introspecting(OTHER, shown)]);
    await refusal(verifier, await issuer.token({ exp: NOW - 10 }));
    await refusal(verifier, await issuer.token({ iss: 'https://evil.example' }));
    expect(shown).toEqual([]);
    await refusal(verifier, await other.token());
    expect(shown.length).toBe(1);
  });

  it('checks revocation with all verifiers of an issuer', async () => {
    const dead = combineVerifiers([issuer.verifier({ isLive: () => false }), other.verifier()]);
    const claims = async (of: TestIssuer) => (await dead.verify(await of.token(), EXPECTED)).claims;
    expect(await dead.isLive?.(await claims(issuer))).toBe(false);
    expect(await dead.isLive?.(await claims(other))).toBe(true);
    expect(combineVerifiers([issuer.verifier()]).isLive).toBeUndefined();
  });

  it('rejects combined verifiers if it is ambiguous which one applies', () => {
    expect(() => combineVerifiers([])).toThrow(ConfigurationError);
    expect(() => combineVerifiers([issuer.verifier(), issuer.verifier()])).toThrow('duplicate issuer');
    expect(() => combineVerifiers([introspecting(ISSUER), introspecting(OTHER)])).toThrow(
      'only one may accept opaque',
    );
  });
});

describe('a verifier that another confirms', () => {
  const active = new Set<string>();
  const shown: string[] = [];

  const confirming = (isDown = false): TokenVerifier =>
    confirmVerifier(
      issuer.verifier({ freshness: 60 }),
      introspectionVerifier({
        issuer: ISSUER,
        endpoint: `${ISSUER}/introspect`,
        clientId: 'guard',
        clientSecret: 'secret',
        freshness: 10,
        fetch: async (_url, init) => {
          if (isDown) throw new TypeError('fetch failed');
          const token = new URLSearchParams(String(init.body)).get('token') ?? '';
          shown.push(token);
          return Response.json(
            active.has(token) ? { active: true, ...goodClaims(ISSUER) } : { active: false },
          );
        },
      }),
    );

  it('T095 accepts what both verifiers accept, for as long as the introspection result is fresh', async () => {
    const [good, revoked] = [await issuer.token({ sub: 'carol' }), await issuer.token()];
    active.add(good);
    const verified = await confirming().verify(good, EXPECTED);
    expect(verified).toMatchObject({ claims: { sub: 'carol' }, freshUntil: NOW + 10 });
    expect(await refusal(confirming(), revoked)).toBe('invalid_token');
    expect(await refusal(confirming(true), good)).toBe('temporarily_unavailable');
  });

  it('T093 never sends junk to the issuer', async () => {
    shown.length = 0;
    for (const junk of ['opaque', await other.token({ iss: ISSUER }), await issuer.token({ exp: NOW - 10 })])
      expect(await refusal(confirming(), junk)).toBe('invalid_token');
    expect(shown).toEqual([]);
  });

  it('rejects a confirming verifier that does not trust the same issuers', () => {
    expect(() => confirmVerifier(issuer.verifier(), introspecting(OTHER))).toThrow(ConfigurationError);
  });
});

describe('tokens of issuers that do not follow RFC 9068', () => {
  const cases: readonly [
    string,
    Record<string, unknown>,
    Partial<JwtVerifierOptions>,
    Record<string, unknown>?,
  ][] = [
    ['another audience', { aud: 'api://default' }, { [dangerouslyAcceptAudiences]: ['api://default'] }],
    [
      'another audience in a list',
      { aud: ['x', 'api://default'] },
      { [dangerouslyAcceptAudiences]: ['api://default'] },
    ],
    ['no audience', { aud: undefined }, { [dangerouslyAcceptAudiences]: [null] }],
    ['several audiences', { aud: [RESOURCE, 'https://other.example'] }, { allowMultipleAudiences: true }],
    ['another type', {}, { [dangerouslyAcceptTypes]: ['JWT'] }, { typ: 'JWT' }],
    ['no type', {}, { [dangerouslyAcceptTypes]: [''] }, { typ: undefined }],
    [
      'claims by other names',
      { client_id: undefined, azp: 'app', scope: undefined, scp: ['a', 'b'], jti: undefined, uti: 'u' },
      {
        mapClaims: ({ azp, scp, uti }) => ({ client_id: azp, scope: (scp as string[]).join(' '), jti: uti }),
      },
    ],
  ];

  it.each(cases)(
    '[S-AUD-2] accepts tokens with %s only if the options allow it',
    async (_, claims, options, header) => {
      const token = await issuer.token(claims, header);
      expect(await refusal(issuer.verifier(), token)).toBe('invalid_token');
      expect(await subjectOf(issuer.verifier(options), token)).toBe('alice');
    },
  );

  it('[S-AUD-2] still rejects such tokens for any other audience or type', async () => {
    const verifier = issuer.verifier({
      [dangerouslyAcceptAudiences]: ['api://default'],
      [dangerouslyAcceptTypes]: ['JWT'],
      allowMultipleAudiences: true,
    });
    for (const token of [
      await issuer.token({ aud: 'https://other.example' }),
      await issuer.token({ aud: undefined }),
      await issuer.token({ aud: ['https://other.example', `${RESOURCE}/`] }),
      await issuer.token({}, { typ: 'logout+jwt' }),
      await issuer.token({}, { typ: undefined }),
    ]) {
      expect(await refusal(verifier, token)).toBe('invalid_token');
    }
  });

  it('never maps claims to another issuer, audience or lifetime', async () => {
    const translate = () => ({
      iss: ISSUER,
      aud: RESOURCE,
      exp: NOW + 1000,
      nbf: NOW - 1000,
      iat: NOW - 1000,
      cnf: undefined,
      sub: 'mallory',
    });
    const verifier = issuer.verifier({ mapClaims: translate });
    for (const claims of [
      { iss: OTHER },
      { aud: 'https://other.example' },
      { exp: NOW - 10 },
      { nbf: NOW + 100 },
      { iat: NOW + 100 },
      { cnf: { jkt: 'x' } },
    ]) {
      expect(await refusal(verifier, await issuer.token(claims))).toBe('invalid_token');
    }
    expect(await subjectOf(verifier, await issuer.token())).toBe('mallory');
  });
});
