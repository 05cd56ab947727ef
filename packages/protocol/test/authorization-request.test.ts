/** The authorization request: what the authorization server rejects, and what the client writes. */

import { authorizationRequestUrl, checkAuthorizationRequest, readParameters } from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { webUrl } from '../../../tests/support/any-text.ts';
import { answerOf, refusalOf } from './refusal.ts';
import { wholeText } from './texts.ts';

const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const sound = { response_type: 'code', code_challenge: challenge, code_challenge_method: 'S256' };

/** Checks a sound request with some parameters changed; `undefined` leaves one out. */
function check(changes: Readonly<Record<string, string | undefined>>) {
  const present = Object.entries({ ...sound, ...changes }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return checkAuthorizationRequest(readParameters(new URLSearchParams(present)));
}

describe('checkAuthorization', () => {
  const good: readonly { description: string; given: Readonly<Record<string, string>>; expect: object }[] = [
    {
      description: '[AS-AUTHZ-69 AS-PKCE-1] checkAuthorization accepts the code challenge method S256',
      given: {},
      expect: { codeChallenge: challenge, scopes: null, state: undefined, resources: [], prompt: new Set() },
    },
    {
      description: 'checkAuthorization accepts scopes',
      given: { scope: 'a b' },
      expect: { scopes: ['a', 'b'] },
    },
    {
      description: '[AS-AUTHZ-72] checkAuthorization reads an empty scope as absent',
      given: { scope: '' },
      expect: { scopes: null },
    },
    {
      description: '[AS-AUTHZ-72] checkAuthorization reads a blank scope as absent',
      given: { scope: ' ' },
      expect: { scopes: null },
    },
    {
      description: '[AS-AUTHZ-76] checkAuthorization accepts any state',
      given: { state: 'a b+%/=' },
      expect: { state: 'a b+%/=' },
    },
    {
      description: 'checkAuthorization accepts a state of the maximum length',
      given: { state: 's'.repeat(4096) },
      expect: { state: 's'.repeat(4096) },
    },
    {
      description: 'checkAuthorization accepts a resource as it was sent',
      given: { resource: 'HTTPS://A.example' },
      expect: { resources: ['HTTPS://A.example'] },
    },
    {
      description: 'checkAuthorization accepts the default response mode',
      given: { response_mode: 'query' },
      expect: { state: undefined },
    },
    {
      description: 'checkAuthorization accepts prompts',
      given: { prompt: 'login consent' },
      expect: { prompt: new Set(['login', 'consent']) },
    },
    {
      description: 'checkAuthorization accepts an unknown prompt',
      given: { prompt: 'create dance' },
      expect: { prompt: new Set() },
    },
    {
      description: 'checkAuthorization accepts prompt none',
      given: { prompt: 'none' },
      expect: { prompt: new Set(['none']) },
    },
    {
      description: '[AS-AUTHZ-61] checkAuthorization accepts unknown parameters',
      given: { display: 'popup', nonce: 'n' },
      expect: { scopes: null },
    },
  ];
  it.each(good)('$description', ({ given, expect: expected }) => {
    expect(check(given)).toMatchObject(expected);
  });

  const bad: readonly {
    description: string;
    given: Readonly<Record<string, string | undefined>>;
    expect: string;
  }[] = [
    {
      description: '[AS-PKCE-1 AS-AUTHZ-67] T007 checkAuthorization rejects a missing code challenge',
      given: { code_challenge: undefined },
      expect: 'invalid_request',
    },
    {
      description:
        '[AS-PKCE-1 AS-AUTHZ-67] T007 checkAuthorization rejects a request with neither code challenge nor method',
      given: { code_challenge: undefined, code_challenge_method: undefined },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-67] T008 checkAuthorization rejects an empty challenge',
      given: { code_challenge: '' },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-68] T008 checkAuthorization rejects the code challenge method plain',
      given: { code_challenge_method: 'plain' },
      expect: 'invalid_request',
    },
    {
      description:
        '[AS-AUTHZ-68] T008 checkAuthorization rejects a missing code challenge method, which means plain',
      given: { code_challenge_method: undefined },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-68] T008 checkAuthorization rejects an empty code challenge method',
      given: { code_challenge_method: '' },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-68] T008 checkAuthorization rejects the code challenge method s256',
      given: { code_challenge_method: 's256' },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-68] T008 checkAuthorization rejects the code challenge method S512',
      given: { code_challenge_method: 'S512' },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-70] T008 checkAuthorization rejects a code challenge of 42 characters',
      given: { code_challenge: 'a'.repeat(42) },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-70] T008 checkAuthorization rejects a code challenge of 129 characters',
      given: { code_challenge: 'a'.repeat(129) },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-70] T008 checkAuthorization rejects a challenge with =',
      given: { code_challenge: `${'a'.repeat(42)}=` },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-70] T008 checkAuthorization rejects a challenge with +',
      given: { code_challenge: `${'a'.repeat(42)}+` },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-70] T008 checkAuthorization rejects a challenge with /',
      given: { code_challenge: `${'a'.repeat(42)}/` },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-66] T009 checkAuthorization rejects a missing response type',
      given: { response_type: undefined },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-66] T009 checkAuthorization rejects the response type token',
      given: { response_type: 'token' },
      expect: 'unsupported_response_type',
    },
    {
      description: '[AS-AUTHZ-66] T009 checkAuthorization rejects the response type id_token',
      given: { response_type: 'id_token' },
      expect: 'unsupported_response_type',
    },
    {
      description: '[AS-AUTHZ-66] T009 checkAuthorization rejects the response type code token',
      given: { response_type: 'code token' },
      expect: 'unsupported_response_type',
    },
    {
      description: '[AS-AUTHZ-66] T009 checkAuthorization rejects the response type code in another case',
      given: { response_type: 'CODE' },
      expect: 'unsupported_response_type',
    },
    {
      description: 'T009 checkAuthorization rejects the response mode fragment',
      given: { response_mode: 'fragment' },
      expect: 'invalid_request',
    },
    {
      description: 'T009 checkAuthorization rejects the response mode web_message',
      given: { response_mode: 'web_message' },
      expect: 'invalid_request',
    },
    {
      description: 'T009 checkAuthorization rejects the response mode form_post',
      given: { response_mode: 'form_post' },
      expect: 'invalid_request',
    },
    {
      description: 'T009 checkAuthorization rejects the response mode form_post.jwt',
      given: { response_mode: 'form_post.jwt' },
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-71] T013 checkAuthorization rejects a double quote in the scope',
      given: { scope: 'a"b' },
      expect: 'invalid_scope',
    },
    {
      description: '[AS-AUTHZ-71] T013 checkAuthorization rejects a backslash in the scope',
      given: { scope: 'a\\b' },
      expect: 'invalid_scope',
    },
    {
      description: '[AS-AUTHZ-71] T013 checkAuthorization rejects a control character in the scope',
      given: { scope: 'a\u0007' },
      expect: 'invalid_scope',
    },
    {
      description: '[AS-AUTHZ-71] T013 checkAuthorization rejects 10,000 scopes',
      given: { scope: Array.from({ length: 10_000 }, (_, n) => `s${n}`).join(' ') },
      expect: 'invalid_scope',
    },
    {
      description: 'checkAuthorization rejects a state that is too long',
      given: { state: 's'.repeat(4097) },
      expect: 'invalid_request',
    },
    {
      description: 'checkAuthorization rejects a request object',
      given: { request: 'eyJ' },
      expect: 'request_not_supported',
    },
    {
      description: 'checkAuthorization rejects a request object by reference',
      given: { request_uri: 'https://a.example' },
      expect: 'request_uri_not_supported',
    },
    {
      description: 'checkAuthorization rejects prompt none with another value',
      given: { prompt: 'none login' },
      expect: 'invalid_request',
    },
  ];
  it.each(bad)('$description', ({ given, expect: expected }) => {
    const refusal = refusalOf(() => check(given));
    expect(refusal.code).toBe(expected);
    expect(refusal.description).toMatch(/^[A-Z][\x20-\x21\x23-\x5b\x5d-\x7e]+\.$/);
  });

  it.each([
    'response_type',
    'code_challenge',
    'code_challenge_method',
    'state',
    'scope',
    'prompt',
    'response_mode',
  ])('[AS-AUTHZ-61] T006 checkAuthorization rejects %s when it is repeated', (name) => {
    const query = new URLSearchParams({ ...sound, [name]: 'code' });
    query.append(name, 'code');
    expect(answerOf(() => checkAuthorizationRequest(readParameters(query)))).toBe('invalid_request');
  });

  it('checkAuthorization tells a developer who left PKCE out what to send', () => {
    expect(refusalOf(() => check({ code_challenge: undefined })).description).toBe(
      'PKCE is required: send code_challenge with code_challenge_method=S256.',
    );
  });

  it('[AS-AUTHZ-61] T014 checkAuthorization accepts several resources, for the server to check', () => {
    const query = new URLSearchParams(sound);
    for (const resource of ['https://a.example', 'https://b.example']) query.append('resource', resource);
    expect(checkAuthorizationRequest(readParameters(query)).resources).toEqual([
      'https://a.example',
      'https://b.example',
    ]);
  });
});

const request: Parameters<typeof authorizationRequestUrl>[1] = {
  clientId: 'client 1',
  redirectUri: 'http://127.0.0.1:3000/cb?x=1',
  codeChallenge: challenge,
  state: 'a b+%/=',
  resource: 'https://mcp.example.com/mcp',
  scopes: ['notes:read', 'notes:write'],
};

describe('authorizationRequestUrl', () => {
  it('[C-PKCE-21 C-RES-1] authorizationRequestUrl writes each parameter once', () => {
    const url = new URL(authorizationRequestUrl('https://as.example/authorize', request));
    expect([...url.searchParams]).toEqual([
      ['response_type', 'code'],
      ['client_id', 'client 1'],
      ['redirect_uri', 'http://127.0.0.1:3000/cb?x=1'],
      ['code_challenge', challenge],
      ['code_challenge_method', 'S256'],
      ['state', 'a b+%/='],
      ['scope', 'notes:read notes:write'],
      ['resource', 'https://mcp.example.com/mcp'],
    ]);
  });

  it.each([
    {
      description: '[ALL-VER-1] authorizationRequestUrl leaves out resource, as in Profile A',
      given: { resource: null },
      expect: 'resource',
    },
    {
      description: '[C-SCOPE-24] authorizationRequestUrl leaves out scope, when there is none',
      given: { scopes: [] },
      expect: 'scope',
    },
    {
      description: 'authorizationRequestUrl leaves out prompt, when there is none',
      given: {},
      expect: 'prompt',
    },
  ])('$description', ({ given, expect: expected }) => {
    const url = new URL(authorizationRequestUrl('https://as.example/authorize', { ...request, ...given }));
    expect(url.searchParams.has(expected)).toBe(false);
  });

  it('authorizationRequestUrl keeps the query of the endpoint, but never lets it override the request', () => {
    const endpoint = 'https://as.example/authorize?tenant=1&state=evil&state=worse&client_id=x';
    const query = new URL(authorizationRequestUrl(endpoint, request)).searchParams;
    expect([query.get('tenant'), query.getAll('state'), query.getAll('client_id')]).toEqual([
      '1',
      ['a b+%/='],
      ['client 1'],
    ]);
  });

  it.each(['http://localhost:8484/authorize', 'http://127.0.0.1:1/authorize', 'http://[::1]:1/authorize'])(
    '[C-URL-40] authorizationRequestUrl accepts the loopback endpoint %s',
    (endpoint) => {
      expect(authorizationRequestUrl(endpoint, request)).toMatch(endpoint);
    },
  );

  it.each([
    'http://as.example/authorize',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'vbscript:x',
    'foo:bar',
    'a:$(calc)',
    'https://x/"&calc&"',
    'https://x/%USERPROFILE%',
    'https://x/\ncalc',
    'https://u@as.example/authorize',
    'https://as.example/authorize#x',
    '/authorize',
    '',
  ])('[C-URL-40 C-URL-41 C-URL-43] T110 authorizationRequestUrl refuses the endpoint %j', (endpoint) => {
    expect(() => authorizationRequestUrl(endpoint, request)).toThrow(TypeError);
  });
});

describe('for all requests', () => {
  it('the server reads every authorization request as the client writes it', () => {
    const text = wholeText;
    const scopes = fc.uniqueArray(fc.constantFrom('a', 'b:c', 'd/e', '~'), { maxLength: 4 });
    fc.assert(
      fc.property(text, text, scopes, fc.option(webUrl()), (state, clientId, wanted, resource) => {
        const url = authorizationRequestUrl('https://as.example/authorize', {
          ...request,
          ...{ clientId, state, resource, scopes: wanted },
        });
        const parameters = readParameters(new URL(url).searchParams);
        const read = checkAuthorizationRequest(parameters);
        expect(parameters.one('client_id')).toBe(clientId);
        expect(read.state).toBe(state);
        expect(read.resources).toEqual(resource === null ? [] : [resource]);
        expect(read.scopes).toEqual(wanted.length === 0 ? null : wanted);
      }),
    );
  });
});
