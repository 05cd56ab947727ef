/** The claims of an access token: built by the authorization server, validated by the resource server. */

import {
  ACCESS_TOKEN_TYPE,
  accessTokenClaims,
  checkAccessToken,
  isAccessTokenType,
  scopesOf,
} from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerOf, refusalOf } from './refusal.ts';

type AccessTokenInput = Parameters<typeof accessTokenClaims>[0];
type AccessTokenExpectations = Parameters<typeof checkAccessToken>[1];

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
  it('[AS-JWT-61 AS-JWT-62 AS-JWT-63] accessTokenClaims names what RFC 9068 requires, the audience as one string', () => {
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

  it('accessTokenClaims names the workspace that the grant is bound to, where there is one', () => {
    expect(accessTokenClaims({ ...facts, workspace: 'w1' })).toEqual({ ...claims, workspace: 'w1' });
    expect(accessTokenClaims({ ...facts, workspace: null })).toEqual(claims);
  });

  it('accessTokenClaims leaves out an empty scope, and the grant of a client that acts for itself', () => {
    const own = accessTokenClaims({ ...facts, scopes: [], grantId: null });
    expect(own).not.toHaveProperty('scope');
    expect(own).not.toHaveProperty('grant_id');
    expect(scopesOf(own)).toEqual([]);
  });
});

describe('checkAccessToken', () => {
  const good: readonly { description: string; given: object; expect?: Partial<AccessTokenExpectations> }[] = [
    { description: 'checkAccessToken accepts the claims that accessTokenClaims builds', given: {} },
    {
      description: '[S-JWT-62] checkAccessToken accepts an audience list of one',
      given: { aud: ['https://mcp.example/mcp'] },
    },
    {
      description: '[S-JWT-63] checkAccessToken accepts a token in its last second',
      given: {},
      expect: { now: 1_800_000_604 },
    },
    {
      description: 'checkAccessToken tolerates a clock that is behind',
      given: {},
      expect: { now: 1_799_999_995 },
    },
    { description: 'checkAccessToken accepts nbf in the past', given: { nbf: 1_800_000_000 } },
    {
      description: '[S-JWT-63] checkAccessToken accepts nbf ahead by the clockTolerance',
      given: { nbf: 1_800_000_105 },
    },
    {
      description: 'checkAccessToken accepts a key of which the caller has proven possession',
      given: { cnf: { jkt: 'x' } },
      expect: { provesPossession: true },
    },
    {
      description: 'checkAccessToken accepts another trusted issuer',
      given: { iss: 'https://b.example' },
      expect: { issuers: ['https://a.example', 'https://b.example'] },
    },
    { description: 'checkAccessToken accepts unknown claims', given: { act: {}, groups: ['x'] } },
  ];
  it.each(good)('[S-VAL-1] T087 T088 $description', ({ given, expect: changes }) => {
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
      description:
        '[S-AUD-1] T087 checkAccessToken rejects an audience that is another resource of the same issuer',
      given: { aud: 'https://mcp.example/other' },
      expect: 'audience',
    },
    {
      description: '[S-AUD-1] T087 checkAccessToken rejects an audience that is another server',
      given: { aud: 'https://evil.example/mcp' },
      expect: 'audience',
    },
    {
      description: '[S-AUD-2] T087 checkAccessToken rejects a missing audience',
      given: { aud: undefined },
      expect: 'audience',
    },
    {
      description: '[S-AUD-2] T087 checkAccessToken rejects the client as audience',
      given: { aud: 'client_1' },
      expect: 'audience',
    },
    {
      description: '[S-AUD-2] T087 checkAccessToken rejects the issuer as audience',
      given: { aud: 'https://as.example' },
      expect: 'audience',
    },
    {
      description: 'T087 checkAccessToken rejects an audience whose path begins the same',
      given: { aud: 'https://mcp.example/mcp-evil' },
      expect: 'audience',
    },
    {
      description: 'T087 checkAccessToken rejects the origin as audience',
      given: { aud: 'https://mcp.example' },
      expect: 'audience',
    },
    {
      description: 'T087 checkAccessToken rejects an audience with an extra slash',
      given: { aud: 'https://mcp.example/mcp/' },
      expect: 'audience',
    },
    {
      description: 'T087 checkAccessToken rejects an audience with another port',
      given: { aud: 'https://mcp.example:8443/mcp' },
      expect: 'audience',
    },
    {
      description: 'T087 checkAccessToken rejects an audience with another scheme',
      given: { aud: 'http://mcp.example/mcp' },
      expect: 'audience',
    },
    {
      description: 'T087 checkAccessToken rejects an audience in another case',
      given: { aud: 'https://MCP.example/mcp' },
      expect: 'audience',
    },
    {
      description: 'T087 checkAccessToken rejects an audience of this resource and another',
      given: { aud: ['https://mcp.example/mcp', 'https://evil.example'] },
      expect: 'audience',
    },
    {
      description: '[S-JWT-62] checkAccessToken rejects an empty audience list',
      given: { aud: [] },
      expect: 'audience',
    },
    {
      description: 'checkAccessToken rejects a nested audience list',
      given: { aud: [['https://mcp.example/mcp']] },
      expect: 'audience',
    },
    {
      description: '[S-JWT-61] T088 checkAccessToken rejects an unknown issuer',
      given: { iss: 'https://evil.example' },
      expect: 'issuer',
    },
    {
      description: 'T088 checkAccessToken rejects an issuer with a slash',
      given: { iss: 'https://as.example/' },
      expect: 'issuer',
    },
    {
      description: 'T088 checkAccessToken rejects an issuer in a list',
      given: { iss: ['https://as.example'] },
      expect: 'issuer',
    },
    {
      description: "T088 checkAccessToken rejects another tenant's issuer",
      given: { iss: 'https://as.example/b' },
      expect: 'issuer',
    },
    { description: 'checkAccessToken rejects a missing issuer', given: { iss: undefined }, expect: 'issuer' },
    {
      description: '[S-JWT-63 S-VAL-3] checkAccessToken rejects an expired token',
      given: {},
      at: { now: 1_800_000_605 },
      expect: 'expired',
    },
    {
      description: '[S-JWT-63] checkAccessToken rejects a missing exp',
      given: { exp: undefined },
      expect: 'exp',
    },
    {
      description: 'checkAccessToken rejects an exp that is text',
      given: { exp: '9999999999' },
      expect: 'exp',
    },
    {
      description: 'checkAccessToken rejects an infinite exp',
      given: { exp: JSON.parse('1e999') },
      expect: 'exp',
    },
    {
      description: '[S-JWT-63] checkAccessToken rejects a token that is not valid yet',
      given: { nbf: 1_800_000_106 },
      expect: 'yet',
    },
    { description: 'checkAccessToken rejects an nbf that is text', given: { nbf: '0' }, expect: 'yet' },
    {
      description: 'checkAccessToken rejects a token issued in the future',
      given: { iat: 1_800_000_106 },
      expect: 'iat',
    },
    { description: 'checkAccessToken rejects a missing iat', given: { iat: undefined }, expect: 'iat' },
    { description: 'checkAccessToken rejects a missing subject', given: { sub: undefined }, expect: 'sub' },
    { description: 'checkAccessToken rejects an empty subject', given: { sub: '' }, expect: 'sub' },
    {
      description: 'checkAccessToken rejects a missing client_id',
      given: { client_id: undefined },
      expect: 'client_id',
    },
    {
      description: 'checkAccessToken rejects a client_id that is a number',
      given: { client_id: 1 },
      expect: 'client_id',
    },
    { description: 'checkAccessToken rejects a missing jti', given: { jti: undefined }, expect: 'jti' },
    {
      description: 'T096 checkAccessToken rejects scopes in a list',
      given: { scope: ['notes:read'] },
      expect: 'scope',
    },
    {
      description: 'checkAccessToken rejects a key without proof of possession',
      given: { cnf: { jkt: 'x' } },
      expect: 'key',
    },
    { description: 'checkAccessToken rejects a null key', given: { cnf: null }, expect: 'key' },
  ];
  it.each(bad)('[S-VAL-1] $description', ({ given, expect: reason, at }) => {
    const refusal = refusalOf(() => checkAccessToken({ ...claims, ...given }, { ...expected, ...at }));
    expect([refusal.code, refusal.status]).toEqual(['invalid_token', 401]);
    expect(refusal.reason).toContain(reason);
    expect(refusal.description).toMatch(/^The access token (is not valid here|has expired)\.$/);
  });

  it('checkAccessToken finds no claim in a prototype', () => {
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
  ])('[S-JWT-60] T092 isAccessTokenType returns $expect for $given', ({ given, expect: accepted }) => {
    expect(isAccessTokenType(given)).toBe(accepted);
  });
});

describe('scopesOf', () => {
  it.each([
    { description: 'scopesOf returns each scope once', given: 'a b a', expect: ['a', 'b'] },
    {
      description: 'T096 scopesOf never splits one scope into two',
      given: 'notes:read\u00a0admin x\ty',
      expect: [],
    },
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

  it('an access token is valid until it expires, and only at its own audience', () => {
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
