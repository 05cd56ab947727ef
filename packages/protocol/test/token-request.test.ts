/** The parameters of each grant: read by the server, written by the client. */
import {
  authorizationCodeForm,
  clientCredentialsForm,
  readAuthorizationCodeRequest,
  readClientCredentialsRequest,
  readParameters,
  readRefreshRequest,
  refreshForm,
} from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerOf, refusalOf } from './refusal.ts';
import { wholeText } from './texts.ts';

const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';

describe('readAuthorizationCodeRequest', () => {
  const read = (body: string) => answerOf(() => readAuthorizationCodeRequest(readParameters(body)));

  it.each([
    {
      description: 'OAuth 2.1: without redirect_uri',
      given: `code=c&code_verifier=${verifier}`,
      expect: { code: 'c', codeVerifier: verifier, redirectUri: undefined, resources: [] },
    },
    {
      description: 'OAuth 2.0: with redirect_uri',
      given: `code=c&code_verifier=${verifier}&redirect_uri=http%3A%2F%2Flocalhost%2Fcb`,
      expect: { code: 'c', codeVerifier: verifier, redirectUri: 'http://localhost/cb', resources: [] },
    },
    {
      description: 'Profile B: with resources',
      given: `code=c&code_verifier=${verifier}&resource=https%3A%2F%2Fa.example&resource=b`,
      expect: {
        code: 'c',
        codeVerifier: verifier,
        redirectUri: undefined,
        resources: ['https://a.example', 'b'],
      },
    },
    {
      description: '[AS-TOK-63] unknown parameters are ignored',
      given: `x=1&x=2&code=c&code_verifier=${verifier}&scope=a&scope=b`,
      expect: { code: 'c', codeVerifier: verifier, redirectUri: undefined, resources: [] },
    },
    { description: '[AS-TOK-69] no code', given: `code_verifier=${verifier}`, expect: 'invalid_request' },
    {
      description: '[AS-TOK-63] an empty code',
      given: `code=&code_verifier=${verifier}`,
      expect: 'invalid_request',
    },
    {
      description: '[AS-TOK-63] two codes',
      given: `code=a&code=b&code_verifier=${verifier}`,
      expect: 'invalid_request',
    },
    { description: '[AS-CODE-68] T020 no verifier', given: 'code=c', expect: 'invalid_request' },
    {
      description: '[AS-CODE-70] T020 a verifier of 42',
      given: `code=c&code_verifier=${'a'.repeat(42)}`,
      expect: 'invalid_grant',
    },
    {
      description: '[AS-CODE-70] a verifier of 129',
      given: `code=c&code_verifier=${'a'.repeat(129)}`,
      expect: 'invalid_grant',
    },
    {
      description: '[AS-CODE-70] a verifier with a plus',
      given: `code=c&code_verifier=${'a'.repeat(43)}%2B`,
      expect: 'invalid_grant',
    },
    {
      description: '[AS-TOK-63] two verifiers',
      given: `code=c&code_verifier=${verifier}&code_verifier=x`,
      expect: 'invalid_request',
    },
    {
      description: '[AS-TOK-63] two redirect URIs',
      given: `code=c&code_verifier=${verifier}&redirect_uri=a&redirect_uri=b`,
      expect: 'invalid_request',
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(read(given)).toEqual(expected);
  });

  it('[AS-TOK-77] repeats neither code nor verifier', () => {
    const refusal = refusalOf(() =>
      readAuthorizationCodeRequest(readParameters('code=secret&code_verifier=hidden')),
    );
    expect(JSON.stringify(refusal) + refusal.message).not.toMatch(/secret|hidden/);
  });
});

describe('readRefreshRequest', () => {
  it.each([
    {
      description: 'all that was granted',
      given: 'refresh_token=r',
      expect: { refreshToken: 'r', scopes: null, resources: [] },
    },
    {
      description: 'less',
      given: 'refresh_token=r&scope=a+b&resource=https%3A%2F%2Fa.example',
      expect: { refreshToken: 'r', scopes: ['a', 'b'], resources: ['https://a.example'] },
    },
    {
      description: 'an empty scope as none',
      given: 'refresh_token=r&scope=',
      expect: { refreshToken: 'r', scopes: null, resources: [] },
    },
    { description: '[AS-TOK-69] no refresh token', given: '', expect: 'invalid_request' },
    {
      description: '[AS-TOK-63] two refresh tokens',
      given: 'refresh_token=a&refresh_token=b',
      expect: 'invalid_request',
    },
    {
      description: '[AS-TOK-70] a malformed scope',
      given: 'refresh_token=r&scope=%22',
      expect: 'invalid_scope',
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(answerOf(() => readRefreshRequest(readParameters(given)))).toEqual(expected);
  });
});

describe('readClientCredentialsRequest', () => {
  it.each([
    { description: 'the default of the client', given: '', expect: { scopes: null, resources: [] } },
    { description: 'named scopes', given: 'scope=a', expect: { scopes: ['a'], resources: [] } },
    { description: 'a resource', given: 'resource=x', expect: { scopes: null, resources: ['x'] } },
    { description: '[AS-TOK-70] a malformed scope', given: 'scope=a%5Cb', expect: 'invalid_scope' },
    { description: '[AS-TOK-63] two scopes', given: 'scope=a&scope=b', expect: 'invalid_request' },
  ])('$description', ({ given, expect: expected }) => {
    expect(answerOf(() => readClientCredentialsRequest(readParameters(given)))).toEqual(expected);
  });
});

describe('forms', () => {
  const redirectUri = 'http://127.0.0.1:3000/cb';

  it.each([
    {
      description: '[C-PKCE-1] a code, Profile B',
      given: authorizationCodeForm({
        code: 'c',
        codeVerifier: verifier,
        redirectUri,
        resource: 'https://mcp.example.com',
      }),
      expect: `grant_type=authorization_code&code=c&code_verifier=${verifier}&redirect_uri=http%3A%2F%2F127.0.0.1%3A3000%2Fcb&resource=https%3A%2F%2Fmcp.example.com`,
    },
    {
      description: '[C-PKCE-1 ALL-VER-1] a code, Profile A: without resource',
      given: authorizationCodeForm({ code: 'c', codeVerifier: verifier, redirectUri, resource: null }),
      expect: `grant_type=authorization_code&code=c&code_verifier=${verifier}&redirect_uri=http%3A%2F%2F127.0.0.1%3A3000%2Fcb`,
    },
    {
      description: 'a refresh, Profile B',
      given: refreshForm({ refreshToken: 'r', resource: 'https://mcp.example.com', scopes: ['a', 'b'] }),
      expect: 'grant_type=refresh_token&refresh_token=r&scope=a+b&resource=https%3A%2F%2Fmcp.example.com',
    },
    {
      description: 'a refresh, Profile A',
      given: refreshForm({ refreshToken: 'r', resource: null }),
      expect: 'grant_type=refresh_token&refresh_token=r',
    },
    {
      description: 'client credentials',
      given: clientCredentialsForm({ resource: 'https://mcp.example.com', scopes: ['a'] }),
      expect: 'grant_type=client_credentials&scope=a&resource=https%3A%2F%2Fmcp.example.com',
    },
    {
      description: '[C-SCOPE-24] client credentials, no scope sent empty',
      given: clientCredentialsForm({ resource: null, scopes: [] }),
      expect: 'grant_type=client_credentials',
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(given.toString()).toBe(expected);
  });

  it('are read by the server as the client wrote them', () => {
    const text = wholeText;
    fc.assert(
      fc.property(text, text, fc.option(text), (secret, uri, resource) => {
        const resources = resource === null ? [] : [resource];
        const code = authorizationCodeForm({
          code: secret,
          codeVerifier: verifier,
          redirectUri: uri,
          resource,
        });
        expect(readAuthorizationCodeRequest(readParameters(code.toString()))).toEqual({
          code: secret,
          codeVerifier: verifier,
          redirectUri: uri,
          resources,
        });
        const refresh = refreshForm({ refreshToken: secret, resource, scopes: ['a'] });
        expect(readRefreshRequest(readParameters(refresh.toString()))).toEqual({
          refreshToken: secret,
          scopes: ['a'],
          resources,
        });
      }),
    );
  });
});
