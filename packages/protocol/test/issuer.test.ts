/** Issuer identifiers, and the well-known URLs of metadata documents. */
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
  ])('issuerError accepts $given', ({ given }) => {
    expect(issuerError(given)).toBeNull();
  });

  it.each([
    { description: 'the http scheme', given: 'http://as.example', expect: 'https' },
    { description: 'a query', given: 'https://as.example?x=1', expect: 'no query' },
    { description: 'an empty query', given: 'https://as.example/?', expect: 'no query' },
    { description: 'a fragment', given: 'https://as.example#x', expect: 'no fragment' },
    { description: 'an empty fragment', given: 'https://as.example/#', expect: 'no fragment' },
    { description: 'no scheme', given: 'as.example', expect: 'absolute' },
    { description: 'userinfo', given: 'https://u@as.example', expect: 'absolute' },
    { description: 'the javascript scheme', given: 'javascript:alert(1)', expect: 'absolute' },
    { description: 'no characters at all', given: '', expect: 'absolute' },
  ])('[AS-META-60] issuerError rejects an issuer with $description', ({ given, expect: expected }) => {
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
      description: 'serverMetadataUrls returns the RFC 8414 URLs only',
      given: ['https://a.ex/t1', ['oauth']],
      expect: ['https://a.ex/.well-known/oauth-authorization-server/t1'],
    },
    {
      description: 'serverMetadataUrls returns the OpenID Connect URLs only',
      given: ['https://a.ex/t1', ['oidc']],
      expect: [
        'https://a.ex/.well-known/openid-configuration/t1',
        'https://a.ex/t1/.well-known/openid-configuration',
      ],
    },
    {
      description: 'serverMetadataUrls returns no URLs when neither kind is asked for',
      given: ['https://a.ex', []],
      expect: [],
    },
    {
      description: 'serverMetadataUrls removes a terminating slash after the host',
      given: ['https://a.ex/', ['oauth']],
      expect: ['https://a.ex/.well-known/oauth-authorization-server'],
    },
    {
      description: 'serverMetadataUrls removes a terminating slash after a path',
      given: ['https://a.ex/t1/t2/', ['oauth', 'oidc']],
      expect: [
        'https://a.ex/.well-known/oauth-authorization-server/t1/t2',
        'https://a.ex/.well-known/openid-configuration/t1/t2',
        'https://a.ex/t1/t2/.well-known/openid-configuration',
      ],
    },
    {
      description: 'serverMetadataUrls keeps a port',
      given: ['http://localhost:8484', ['oauth']],
      expect: ['http://localhost:8484/.well-known/oauth-authorization-server'],
    },
    {
      description: 'serverMetadataUrls omits query and fragment, which no issuer has',
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
      description: '[S-PRM-61] resourceMetadataUrls drops the slash after the host before insertion',
      given: 'https://h.example/mcp',
      expect: [
        'https://h.example/.well-known/oauth-protected-resource/mcp',
        'https://h.example/.well-known/oauth-protected-resource',
      ],
    },
    {
      description: 'resourceMetadataUrls keeps the slash after a path in the first URL',
      given: 'https://h.example/mcp/',
      expect: [
        'https://h.example/.well-known/oauth-protected-resource/mcp/',
        'https://h.example/.well-known/oauth-protected-resource/mcp',
        'https://h.example/.well-known/oauth-protected-resource',
      ],
    },
    {
      description: 'resourceMetadataUrls keeps a query with the path',
      given: 'https://h.example/mcp?tenant=1',
      expect: [
        'https://h.example/.well-known/oauth-protected-resource/mcp?tenant=1',
        'https://h.example/.well-known/oauth-protected-resource',
      ],
    },
    {
      description: 'resourceMetadataUrls keeps a query without a path',
      given: 'https://h.example/?tenant=1',
      expect: [
        'https://h.example/.well-known/oauth-protected-resource?tenant=1',
        'https://h.example/.well-known/oauth-protected-resource',
      ],
    },
    {
      description: 'resourceMetadataUrls omits a fragment',
      given: 'https://h.example/#x',
      expect: ['https://h.example/.well-known/oauth-protected-resource'],
    },
    {
      description: 'resourceMetadataUrls never leads to another host by a path that begins with two slashes',
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
  ])('$description throws a TypeError that does not repeat text that is no web URL', ({ given }) => {
    for (const text of ['javascript:alert(1)', 'a.example', 'https://u@evil.example', '']) {
      expect(() => given(text)).toThrow(TypeError);
      expect(() => given(text)).toThrow(/^The URL must be an absolute/);
    }
  });
});
