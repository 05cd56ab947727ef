/** Token requests: the parameters of each grant type, as the server reads and the client writes them. */
import {
  authorizationCodeForm,
  grantForm,
  readAuthorizationCodeRequest,
  readParameters,
  readRequestedAccess,
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
      description: 'readAuthorizationCodeRequest accepts an OAuth 2.1 request without redirect_uri',
      given: `code=c&code_verifier=${verifier}`,
      expect: { code: 'c', codeVerifier: verifier, redirectUri: undefined, resources: [] },
    },
    {
      description: 'readAuthorizationCodeRequest accepts an OAuth 2.0 request with redirect_uri',
      given: `code=c&code_verifier=${verifier}&redirect_uri=http%3A%2F%2Flocalhost%2Fcb`,
      expect: { code: 'c', codeVerifier: verifier, redirectUri: 'http://localhost/cb', resources: [] },
    },
    {
      description: 'readAuthorizationCodeRequest accepts a Profile B request with resources',
      given: `code=c&code_verifier=${verifier}&resource=https%3A%2F%2Fa.example&resource=b`,
      expect: {
        code: 'c',
        codeVerifier: verifier,
        redirectUri: undefined,
        resources: ['https://a.example', 'b'],
      },
    },
    {
      description: '[AS-TOK-63] readAuthorizationCodeRequest ignores unknown parameters',
      given: `x=1&x=2&code=c&code_verifier=${verifier}&scope=a&scope=b`,
      expect: { code: 'c', codeVerifier: verifier, redirectUri: undefined, resources: [] },
    },
    {
      description: '[AS-TOK-69] readAuthorizationCodeRequest rejects a missing code',
      given: `code_verifier=${verifier}`,
      expect: 'invalid_request',
    },
    {
      description: '[AS-TOK-63] readAuthorizationCodeRequest rejects an empty code',
      given: `code=&code_verifier=${verifier}`,
      expect: 'invalid_request',
    },
    {
      description: '[AS-TOK-63] readAuthorizationCodeRequest rejects two codes',
      given: `code=a&code=b&code_verifier=${verifier}`,
      expect: 'invalid_request',
    },
    {
      description: '[AS-CODE-68] T020 readAuthorizationCodeRequest rejects a missing code_verifier',
      given: 'code=c',
      expect: 'invalid_request',
    },
    {
      description: '[AS-CODE-70] T020 readAuthorizationCodeRequest rejects a code_verifier of 42 characters',
      given: `code=c&code_verifier=${'a'.repeat(42)}`,
      expect: 'invalid_grant',
    },
    {
      description: '[AS-CODE-70] readAuthorizationCodeRequest rejects a code_verifier of 129 characters',
      given: `code=c&code_verifier=${'a'.repeat(129)}`,
      expect: 'invalid_grant',
    },
    {
      description: '[AS-CODE-70] readAuthorizationCodeRequest rejects a code_verifier with a plus',
      given: `code=c&code_verifier=${'a'.repeat(43)}%2B`,
      expect: 'invalid_grant',
    },
    {
      description: '[AS-TOK-63] readAuthorizationCodeRequest rejects two code_verifier parameters',
      given: `code=c&code_verifier=${verifier}&code_verifier=x`,
      expect: 'invalid_request',
    },
    {
      description: '[AS-TOK-63] readAuthorizationCodeRequest rejects two redirect URIs',
      given: `code=c&code_verifier=${verifier}&redirect_uri=a&redirect_uri=b`,
      expect: 'invalid_request',
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(read(given)).toEqual(expected);
  });

  it('[AS-TOK-77] readAuthorizationCodeRequest repeats neither code nor verifier in its errors', () => {
    const refusal = refusalOf(() =>
      readAuthorizationCodeRequest(readParameters('code=secret&code_verifier=hidden')),
    );
    expect(JSON.stringify(refusal) + refusal.message).not.toMatch(/secret|hidden/);
  });
});

describe('readRequestedAccess', () => {
  it.each([
    {
      description: 'readRequestedAccess accepts a request for everything that may be granted',
      given: '',
      expect: { scopes: null, resources: [] },
    },
    {
      description: 'readRequestedAccess accepts named scopes and a resource',
      given: 'scope=a+b&resource=https%3A%2F%2Fa.example',
      expect: { scopes: ['a', 'b'], resources: ['https://a.example'] },
    },
    {
      description: 'readRequestedAccess reads an empty scope as absent',
      given: 'scope=',
      expect: { scopes: null, resources: [] },
    },
    {
      description: '[AS-TOK-70] readRequestedAccess rejects a malformed scope',
      given: 'scope=a%5Cb',
      expect: 'invalid_scope',
    },
    {
      description: '[AS-TOK-63] readRequestedAccess rejects two scope parameters',
      given: 'scope=a&scope=b',
      expect: 'invalid_request',
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(answerOf(() => readRequestedAccess(readParameters(given)))).toEqual(expected);
  });
});

describe('forms', () => {
  const redirectUri = 'http://127.0.0.1:3000/cb';

  it.each([
    {
      description: '[C-PKCE-1] authorizationCodeForm writes a resource for Profile B',
      given: authorizationCodeForm({
        code: 'c',
        codeVerifier: verifier,
        redirectUri,
        resource: 'https://mcp.example.com',
      }),
      expect: `grant_type=authorization_code&code=c&code_verifier=${verifier}&redirect_uri=http%3A%2F%2F127.0.0.1%3A3000%2Fcb&resource=https%3A%2F%2Fmcp.example.com`,
    },
    {
      description: '[C-PKCE-1 ALL-VER-1] authorizationCodeForm writes no resource for Profile A',
      given: authorizationCodeForm({ code: 'c', codeVerifier: verifier, redirectUri, resource: null }),
      expect: `grant_type=authorization_code&code=c&code_verifier=${verifier}&redirect_uri=http%3A%2F%2F127.0.0.1%3A3000%2Fcb`,
    },
    {
      description: 'the refresh form has a resource for Profile B',
      given: refreshForm({ refreshToken: 'r', resource: 'https://mcp.example.com' }),
      expect: 'grant_type=refresh_token&refresh_token=r&resource=https%3A%2F%2Fmcp.example.com',
    },
    {
      description: 'the refresh form has no resource for Profile A',
      given: refreshForm({ refreshToken: 'r', resource: null }),
      expect: 'grant_type=refresh_token&refresh_token=r',
    },
    {
      description: 'the client credentials form has each parameter once',
      given: grantForm(
        { grant_type: 'client_credentials' },
        { resource: 'https://mcp.example.com', scopes: ['a'] },
      ),
      expect: 'grant_type=client_credentials&scope=a&resource=https%3A%2F%2Fmcp.example.com',
    },
    {
      description: '[C-SCOPE-24] the client credentials form sends no empty scope',
      given: grantForm({ grant_type: 'client_credentials' }, { resource: null, scopes: [] }),
      expect: 'grant_type=client_credentials',
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(given.toString()).toBe(expected);
  });

  it('the server reads each token request form as the client wrote it', () => {
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
        const refresh = grantForm(
          { grant_type: 'refresh_token', refresh_token: secret },
          { resource, scopes: ['a'] },
        );
        const sent = readParameters(refresh.toString());
        expect(sent.one('refresh_token')).toBe(secret === '' ? undefined : secret);
        expect(readRequestedAccess(sent)).toEqual({ scopes: ['a'], resources });
      }),
    );
  });
});
