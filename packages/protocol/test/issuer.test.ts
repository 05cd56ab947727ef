/** Issuer identifiers, and where metadata stands. */
import {
  authorizationBaseUrl,
  defaultEndpoints,
  issuerError,
  resourceMetadataUrls,
  serverMetadataUrls,
} from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';

describe('issuerError', () => {
  it.each([
    { given: 'https://as.example' },
    { given: 'https://as.example/' },
    { given: 'https://as.example/tenant' },
    { given: 'https://as.example:8443' },
    { given: 'http://localhost:8484' },
    { given: 'http://127.0.0.1:8484' },
    { given: 'http://[::1]:8484' },
  ])('takes $given', ({ given }) => {
    expect(issuerError(given)).toBeNull();
  });

  it.each([
    { description: 'plain http', given: 'http://as.example', expect: 'https' },
    { description: 'a query', given: 'https://as.example?x=1', expect: 'no query' },
    { description: 'an empty query', given: 'https://as.example/?', expect: 'no query' },
    { description: 'a fragment', given: 'https://as.example#x', expect: 'no fragment' },
    { description: 'an empty fragment', given: 'https://as.example/#', expect: 'no fragment' },
    { description: 'no URL', given: 'as.example', expect: 'absolute' },
    { description: 'user info', given: 'https://u@as.example', expect: 'absolute' },
    { description: 'a script', given: 'javascript:alert(1)', expect: 'absolute' },
    { description: 'nothing', given: '', expect: 'absolute' },
  ])('[AS-META-60] refuses $description', ({ given, expect: expected }) => {
    expect(issuerError(given)).toContain(expected);
  });
});

describe('serverMetadataUrls', () => {
  const cases: readonly {
    description: string;
    given: Parameters<typeof serverMetadataUrls>;
    expect: readonly string[];
  }[] = [
    {
      description: 'RFC 8414 only',
      given: ['https://a.ex/t1', ['oauth']],
      expect: ['https://a.ex/.well-known/oauth-authorization-server/t1'],
    },
    {
      description: 'OpenID Connect only',
      given: ['https://a.ex/t1', ['oidc']],
      expect: [
        'https://a.ex/.well-known/openid-configuration/t1',
        'https://a.ex/t1/.well-known/openid-configuration',
      ],
    },
    { description: 'neither', given: ['https://a.ex', []], expect: [] },
    {
      description: 'any terminating slash MUST be removed: after the host',
      given: ['https://a.ex/', ['oauth']],
      expect: ['https://a.ex/.well-known/oauth-authorization-server'],
    },
    {
      description: 'any terminating slash MUST be removed: after a path',
      given: ['https://a.ex/t1/t2/', ['oauth', 'oidc']],
      expect: [
        'https://a.ex/.well-known/oauth-authorization-server/t1/t2',
        'https://a.ex/.well-known/openid-configuration/t1/t2',
        'https://a.ex/t1/t2/.well-known/openid-configuration',
      ],
    },
    {
      description: 'a port stays',
      given: ['http://localhost:8484', ['oauth']],
      expect: ['http://localhost:8484/.well-known/oauth-authorization-server'],
    },
    {
      description: 'query and fragment, which no issuer has, do not get in',
      given: ['https://a.ex/t1?x=1#y', ['oauth']],
      expect: ['https://a.ex/.well-known/oauth-authorization-server/t1'],
    },
  ];
  it.each(cases)('$description', ({ given, expect: expected }) => {
    expect(serverMetadataUrls(...given)).toEqual(expected);
  });
});

describe('resourceMetadataUrls', () => {
  it.each([
    {
      description: '[S-PRM-61] the slash after the host is dropped before insertion',
      given: 'https://h.example/mcp',
      expect: [
        'https://h.example/.well-known/oauth-protected-resource/mcp',
        'https://h.example/.well-known/oauth-protected-resource',
      ],
    },
    {
      description: 'the slash after a path stays at first',
      given: 'https://h.example/mcp/',
      expect: [
        'https://h.example/.well-known/oauth-protected-resource/mcp/',
        'https://h.example/.well-known/oauth-protected-resource/mcp',
        'https://h.example/.well-known/oauth-protected-resource',
      ],
    },
    {
      description: 'a query goes with the path',
      given: 'https://h.example/mcp?tenant=1',
      expect: [
        'https://h.example/.well-known/oauth-protected-resource/mcp?tenant=1',
        'https://h.example/.well-known/oauth-protected-resource',
      ],
    },
    {
      description: 'a query without path',
      given: 'https://h.example/?tenant=1',
      expect: [
        'https://h.example/.well-known/oauth-protected-resource?tenant=1',
        'https://h.example/.well-known/oauth-protected-resource',
      ],
    },
    {
      description: 'a fragment does not get in',
      given: 'https://h.example/#x',
      expect: ['https://h.example/.well-known/oauth-protected-resource'],
    },
    {
      description: 'a path that begins with two slashes leads to no other host',
      given: 'https://h.example//evil.example/x',
      expect: [
        'https://h.example/.well-known/oauth-protected-resource//evil.example/x',
        'https://h.example/.well-known/oauth-protected-resource',
      ],
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(resourceMetadataUrls(given)).toEqual(expected);
  });
});

describe('what is no web address', () => {
  it.each([
    { description: 'authorizationBaseUrl', given: authorizationBaseUrl },
    { description: 'defaultEndpoints', given: defaultEndpoints },
    { description: 'resourceMetadataUrls', given: resourceMetadataUrls },
    { description: 'serverMetadataUrls', given: (text: string) => serverMetadataUrls(text, ['oauth']) },
  ])('$description throws a TypeError that does not repeat it', ({ given }) => {
    for (const text of ['javascript:alert(1)', 'a.example', 'https://u@evil.example', '']) {
      expect(() => given(text)).toThrow(TypeError);
      expect(() => given(text)).toThrow(/^The URL must be an absolute/);
    }
  });
});
