/** The claims of an access token: built by the authorization server, checked by the resource server. */
import {
  ACCESS_TOKEN_TYPE,
  type AccessTokenExpectations,
  type AccessTokenInput,
  accessTokenClaims,
  checkAccessToken,
  isAccessTokenType,
  scopesOf,
} from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerOf, refusalOf } from './refusal.ts';

const facts: AccessTokenInput = {
  issuer: 'https://as.example',
  subject: 'user_1',
  clientId: 'client_1',
  resource: 'https://mcp.example/mcp',
  scopes: ['notes:read', 'notes:write'],
  tokenId: 'token_1',
  grantId: 'grant_1',
  issuedAt: 1_800_000_000,
  lifetime: 600,
};

const claims = accessTokenClaims(facts);
const expected: AccessTokenExpectations = {
  issuers: ['https://as.example'],
  resource: 'https://mcp.example/mcp',
  now: 1_800_000_100,
  clockTolerance: 5,
};

describe('accessTokenClaims', () => {
  it('[AS-JWT-61 AS-JWT-62 AS-JWT-63] names what RFC 9068 requires, the audience as one string', () => {
    expect(claims).toEqual({
      iss: 'https://as.example',
      sub: 'user_1',
      aud: 'https://mcp.example/mcp',
      client_id: 'client_1',
      exp: 1_800_000_600,
      iat: 1_800_000_000,
      jti: 'token_1',
      scope: 'notes:read notes:write',
      grant_id: 'grant_1',
    });
  });

  it('names the workspace that the grant is bound to, where there is one', () => {
    expect(accessTokenClaims({ ...facts, workspace: 'w1' })).toEqual({ ...claims, workspace: 'w1' });
    expect(accessTokenClaims({ ...facts, workspace: null })).toEqual(claims);
  });

  it('leaves out an empty scope, and the grant of a client that acts for itself', () => {
    const own = accessTokenClaims({ ...facts, scopes: [], grantId: null });
    expect(own).not.toHaveProperty('scope');
    expect(own).not.toHaveProperty('grant_id');
    expect(scopesOf(own)).toEqual([]);
  });
});

describe('checkAccessToken', () => {
  const good: readonly { description: string; given: object; expect?: Partial<AccessTokenExpectations> }[] = [
    { description: 'what was built', given: {} },
    { description: '[S-JWT-62] an audience of one', given: { aud: ['https://mcp.example/mcp'] } },
    { description: '[S-JWT-63] the last second', given: {}, expect: { now: 1_800_000_604 } },
    { description: 'a clock that is behind', given: {}, expect: { now: 1_799_999_995 } },
    { description: 'nbf in the past', given: { nbf: 1_800_000_000 } },
    { description: '[S-JWT-63] nbf ahead by the clockTolerance', given: { nbf: 1_800_000_105 } },
    {
      description: 'a key that the caller has proven',
      given: { cnf: { jkt: 'x' } },
      expect: { provesPossession: true },
    },
    {
      description: 'another trusted issuer',
      given: { iss: 'https://b.example' },
      expect: { issuers: ['https://a.example', 'https://b.example'] },
    },
    { description: 'unknown claims', given: { act: {}, groups: ['x'] } },
  ];
  it.each(good)('[S-VAL-1] T087 T088 takes $description', ({ given, expect: changes }) => {
    const {
      act: _act,
      groups: _groups,
      cnf: _cnf,
      ...known
    } = { ...claims, act: {}, groups: [], cnf: {}, ...given };
    expect(checkAccessToken({ ...claims, ...given }, { ...expected, ...changes })).toEqual(known);
  });

  const bad: readonly {
    description: string;
    given: object;
    expect: string;
    at?: Partial<AccessTokenExpectations>;
  }[] = [
    {
      description: '[S-AUD-1] T087 another resource of the same issuer',
      given: { aud: 'https://mcp.example/other' },
      expect: 'audience',
    },
    {
      description: '[S-AUD-1] T087 another server',
      given: { aud: 'https://evil.example/mcp' },
      expect: 'audience',
    },
    { description: '[S-AUD-2] T087 no audience', given: { aud: undefined }, expect: 'audience' },
    { description: '[S-AUD-2] T087 the client', given: { aud: 'client_1' }, expect: 'audience' },
    { description: '[S-AUD-2] T087 the issuer', given: { aud: 'https://as.example' }, expect: 'audience' },
    {
      description: 'T087 a path that begins the same',
      given: { aud: 'https://mcp.example/mcp-evil' },
      expect: 'audience',
    },
    { description: 'T087 the origin', given: { aud: 'https://mcp.example' }, expect: 'audience' },
    { description: 'T087 a slash more', given: { aud: 'https://mcp.example/mcp/' }, expect: 'audience' },
    {
      description: 'T087 another port',
      given: { aud: 'https://mcp.example:8443/mcp' },
      expect: 'audience',
    },
    { description: 'T087 another scheme', given: { aud: 'http://mcp.example/mcp' }, expect: 'audience' },
    { description: 'T087 another case', given: { aud: 'https://MCP.example/mcp' }, expect: 'audience' },
    {
      description: 'T087 this resource and another',
      given: { aud: ['https://mcp.example/mcp', 'https://evil.example'] },
      expect: 'audience',
    },
    { description: '[S-JWT-62] no audience in a list', given: { aud: [] }, expect: 'audience' },
    {
      description: 'a list within a list',
      given: { aud: [['https://mcp.example/mcp']] },
      expect: 'audience',
    },
    {
      description: '[S-JWT-61] T088 an unknown issuer',
      given: { iss: 'https://evil.example' },
      expect: 'issuer',
    },
    { description: 'T088 an issuer with a slash', given: { iss: 'https://as.example/' }, expect: 'issuer' },
    { description: 'T088 an issuer in a list', given: { iss: ['https://as.example'] }, expect: 'issuer' },
    {
      description: "T088 another tenant's issuer",
      given: { iss: 'https://as.example/b' },
      expect: 'issuer',
    },
    { description: 'no issuer', given: { iss: undefined }, expect: 'issuer' },
    { description: '[S-JWT-63 S-VAL-3] expired', given: {}, at: { now: 1_800_000_605 }, expect: 'expired' },
    { description: '[S-JWT-63] no expiry', given: { exp: undefined }, expect: 'exp' },
    { description: 'an expiry that is text', given: { exp: '9999999999' }, expect: 'exp' },
    { description: 'an endless expiry', given: { exp: JSON.parse('1e999') }, expect: 'exp' },
    { description: '[S-JWT-63] not valid yet', given: { nbf: 1_800_000_106 }, expect: 'yet' },
    { description: 'a nbf that is text', given: { nbf: '0' }, expect: 'yet' },
    { description: 'issued in the future', given: { iat: 1_800_000_106 }, expect: 'iat' },
    { description: 'no iat', given: { iat: undefined }, expect: 'iat' },
    { description: 'no subject', given: { sub: undefined }, expect: 'sub' },
    { description: 'an empty subject', given: { sub: '' }, expect: 'sub' },
    { description: 'no client', given: { client_id: undefined }, expect: 'client_id' },
    { description: 'a client that is a number', given: { client_id: 1 }, expect: 'client_id' },
    { description: 'no identifier', given: { jti: undefined }, expect: 'jti' },
    { description: 'T096 scopes in a list', given: { scope: ['notes:read'] }, expect: 'scope' },
    { description: 'a key that was not proven', given: { cnf: { jkt: 'x' } }, expect: 'key' },
    { description: 'a null key', given: { cnf: null }, expect: 'key' },
  ];
  it.each(bad)('[S-VAL-1] refuses $description', ({ given, expect: reason, at }) => {
    const refusal = refusalOf(() => checkAccessToken({ ...claims, ...given }, { ...expected, ...at }));
    expect([refusal.code, refusal.status]).toEqual(['invalid_token', 401]);
    expect(refusal.reason).toContain(reason);
    expect(refusal.description).toMatch(/^The access token (is not valid here|has expired)\.$/);
  });

  it('finds no claim in a prototype', () => {
    const given = JSON.parse(
      JSON.stringify({ ...claims, sub: undefined }).replace('{', '{"__proto__":{"sub":"admin"},'),
    );
    expect(answerOf(() => checkAccessToken(given, expected))).toBe('invalid_token');
  });
});

describe('isAccessTokenType', () => {
  it.each([
    { given: ACCESS_TOKEN_TYPE, expect: true },
    { given: 'AT+JWT', expect: true },
    { given: 'application/at+jwt', expect: true },
    { given: 'Application/At+Jwt', expect: true },
    { given: 'JWT', expect: false },
    { given: 'jwt', expect: false },
    { given: 'logout+jwt', expect: false },
    { given: 'at+jwt ', expect: false },
    { given: 'text/at+jwt', expect: false },
    { given: ['at+jwt'], expect: false },
    { given: undefined, expect: false },
  ])('[S-JWT-60] T092 $given: $expect', ({ given, expect: accepted }) => {
    expect(isAccessTokenType(given)).toBe(accepted);
  });
});

describe('scopesOf', () => {
  it.each([
    { description: 'each scope once', given: 'a b a', expect: ['a', 'b'] },
    { description: 'T096 one scope is never two', given: 'notes:read\u00a0admin x\ty', expect: [] },
  ])('$description', ({ given, expect: scopes }) => {
    expect(scopesOf({ ...claims, scope: given })).toEqual(scopes);
  });
});

describe('for all tokens', () => {
  const text = fc.string({ minLength: 1 });
  const anyFacts = fc.record({
    ...{ issuer: text, subject: text, clientId: text, resource: text, tokenId: text },
    scopes: fc.uniqueArray(fc.constantFrom('a', 'b', 'c:d')),
    grantId: fc.option(text),
    issuedAt: fc.nat(2_000_000_000),
    lifetime: fc.integer({ min: 1, max: 100_000 }),
  });

  it('what one builds the other takes until it expires, and only there', () => {
    fc.assert(
      fc.property(anyFacts, fc.nat(200_000), text, (given, age, elsewhere) => {
        const built = { ...accessTokenClaims(given) };
        const here = {
          issuers: [given.issuer],
          resource: given.resource,
          now: given.issuedAt + age,
          clockTolerance: 0,
        };
        expect(answerOf(() => checkAccessToken(built, here))).toEqual(
          age < given.lifetime ? built : 'invalid_token',
        );
        const there = { ...here, now: given.issuedAt, resource: elsewhere };
        if (elsewhere !== given.resource)
          expect(answerOf(() => checkAccessToken(built, there))).toBe('invalid_token');
        expect(scopesOf(accessTokenClaims(given))).toEqual(given.scopes);
      }),
    );
  });
});
