/** The fixed test vectors of the requirements, word for word. */
import {
  authorizationBaseUrl,
  authorizationRequestUrl,
  canonicalResource,
  defaultEndpoints,
  deriveCodeChallenge,
  resourceMetadataUrls,
  serverMetadataUrls,
} from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';

describe('base URL of Profile A', () => {
  it('[C-BASE-1] the base URL of Profile A keeps scheme, host and port only', () => {
    expect(authorizationBaseUrl('https://api.example.com/v1/mcp')).toBe('https://api.example.com');
    expect(authorizationBaseUrl('https://api.example.com:8443/x?y=1')).toBe('https://api.example.com:8443');
  });

  it('Profile A looks for metadata under the base URL', () => {
    const base = authorizationBaseUrl('https://api.example.com/v1/mcp');
    expect(serverMetadataUrls(base, ['oauth'])).toEqual([
      'https://api.example.com/.well-known/oauth-authorization-server',
    ]);
  });

  it('Profile A has its default endpoints at the origin of the server, whatever its path', () => {
    const expected = {
      authorization_endpoint: 'https://api.example.com/authorize',
      token_endpoint: 'https://api.example.com/token',
      registration_endpoint: 'https://api.example.com/register',
    };
    expect(defaultEndpoints('https://api.example.com')).toEqual(expected);
    expect(defaultEndpoints('https://api.example.com/')).toEqual(expected);
    expect(defaultEndpoints('https://api.example.com/v1/mcp')).toEqual(expected);
  });
});

describe('protected resource metadata URLs', () => {
  it('[C-PRM-22] protected resource metadata URLs are the path form, then the root form', () => {
    expect(resourceMetadataUrls('https://ex.com/public/mcp')).toEqual([
      'https://ex.com/.well-known/oauth-protected-resource/public/mcp',
      'https://ex.com/.well-known/oauth-protected-resource',
    ]);
  });

  it.each(['https://ex.com', 'https://ex.com/'])(
    '[C-PRM-23] the protected resource metadata URL is the root form only for %s',
    (given) => {
      expect(resourceMetadataUrls(given)).toEqual(['https://ex.com/.well-known/oauth-protected-resource']);
    },
  );
});

describe('authorization server metadata URLs', () => {
  it('[C-META-21 C-META-23] an issuer with a path has three metadata URLs, in order, none of them at the root', () => {
    expect(serverMetadataUrls('https://a.ex/t1', ['oauth', 'oidc'])).toEqual([
      'https://a.ex/.well-known/oauth-authorization-server/t1',
      'https://a.ex/.well-known/openid-configuration/t1',
      'https://a.ex/t1/.well-known/openid-configuration',
    ]);
  });

  it('[C-META-22] an issuer without a path has two metadata URLs, in order', () => {
    expect(serverMetadataUrls('https://a.ex', ['oauth', 'oidc'])).toEqual([
      'https://a.ex/.well-known/oauth-authorization-server',
      'https://a.ex/.well-known/openid-configuration',
    ]);
  });
});

describe('PKCE S256, RFC 7636 appendix B', () => {
  it('[C-PKCE-2] derives the S256 code challenge of RFC 7636 appendix B from its code verifier', async () => {
    expect(await deriveCodeChallenge('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')).toBe(
      'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    );
  });
});

describe('canonical resource', () => {
  it.each([
    'https://mcp.example.com/mcp',
    'https://mcp.example.com',
    'https://mcp.example.com:8443',
    'https://mcp.example.com/server/mcp',
  ])('[C-RES-6 C-RES-7] the canonical resource of %s is that URL itself', (given) => {
    expect(canonicalResource(given)).toBe(given);
  });

  it.each(['mcp.example.com', 'https://mcp.example.com#fragment'])(
    '[ALL-RES-11] %s is never a canonical resource',
    (given) => {
      expect(canonicalResource(given)).toBeNull();
    },
  );

  it('[C-RES-12] the canonical resource is percent-encoded in the query', () => {
    const url = authorizationRequestUrl('https://as.example/authorize', {
      clientId: 'c',
      redirectUri: 'http://127.0.0.1:1/cb',
      codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      state: 's',
      resource: 'https://mcp.example.com',
      scopes: [],
    });
    expect(url.split(/[?&]/)).toContain('resource=https%3A%2F%2Fmcp.example.com');
  });
});
