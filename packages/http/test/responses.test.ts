/** Responses: JSON that is not cached by default, OAuth errors, and CORS without cookies. */
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import {
  isPreflight,
  respond,
  respondCorsJson,
  respondError,
  respondJson,
  respondPreflight,
  respondSeeOther,
  withCorsHeaders,
  withSecurityHeaders,
} from '../src/index.ts';

const basicRequest = new Request('https://as.example/token', { headers: { authorization: 'bAsIc xyz' } });
const bearerRequest = new Request('https://as.example/token', { headers: { authorization: 'Bearer xyz' } });

describe('respondJson', () => {
  it('[AS-TOK-65] a JSON response forbids caching', () => {
    const { headers } = respondJson({});
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'content-type': 'application/json',
    });
  });

  it('[AS-META-72] a public JSON document may be cached for the given time', () => {
    const { headers } = respondJson({}, { maxAge: 300 });
    expect([headers['cache-control'], headers['pragma']]).toEqual(['public, max-age=300', undefined]);
  });
});

describe('respondError', () => {
  it('[AS-TOK-67 AS-TOK-77] an error response contains code and description, never the private reason', () => {
    const { status, body } = respondError(
      new OAuthError('invalid_grant', 'Use "another" cödé.', { reason: 'secret reason' }),
    );
    expect(status).toBe(400);
    expect(body).toBe('{"error":"invalid_grant","error_description":"Use \'another\' c?d?."}');
  });

  it.each([
    ['Basic was tried', basicRequest, 'Basic realm="token", charset="UTF-8"'],
    ['the form was used', new Request('https://as.example/token'), undefined],
    ['a bearer token was sent', bearerRequest, 'Basic realm="token", charset="UTF-8"'],
  ])(
    '[AS-TOK-72] a 401 response challenges a client that sent the Authorization header: %s',
    (_what, request, challenge) => {
      const { status, headers } = respondError(new OAuthError('invalid_client', 'No.'), request);
      expect([status, headers['www-authenticate']]).toEqual([401, challenge]);
    },
  );

  it.each([
    ['no token', new Request('https://as.example/register'), 'Bearer realm="registration"'],
    ['Basic credentials', basicRequest, 'Bearer realm="registration"'],
    ['a wrong token', bearerRequest, 'Bearer realm="registration", error="invalid_token"'],
  ])(
    'the challenge to a request with %s has a realm, and an error code for tokens only',
    (_what, request, challenge) => {
      const { status, headers } = respondError(new OAuthError('invalid_token', 'No.'), request);
      expect([status, headers['www-authenticate']]).toEqual([401, challenge]);
    },
  );

  it('an error response other than 401 contains no challenge', () => {
    const { headers } = respondError(new OAuthError('invalid_grant', 'No.'), basicRequest);
    expect(headers).not.toHaveProperty('www-authenticate');
  });

  it('a temporary error response contains Retry-After', () => {
    const { status, headers } = respondError(temporarilyUnavailable('the database is gone', 7));
    expect([status, headers['retry-after']]).toEqual([503, '7']);
  });
});

describe('cross-origin requests', () => {
  const preflight = (headers: Record<string, string>) =>
    new Request('https://as.example/token', { method: 'OPTIONS', headers });

  it.each([
    'authorization, content-type, accept, mcp-protocol-version, ctx-protocol-version, dpop, mcp-method, mcp-name',
    'mcp-session-id,last-event-id',
  ])('[ALL-CORS-62] a preflight response allows the headers %s', (names) => {
    const { status, headers } = respondPreflight(preflight({ 'access-control-request-headers': names }), [
      'POST',
    ]);
    expect(status).toBe(204);
    expect(headers).toMatchObject({
      'access-control-allow-headers': names,
      'access-control-allow-methods': 'POST',
      'access-control-allow-origin': '*',
    });
  });

  it('T064 a cross-origin response never allows credentials', () => {
    const asked = preflight({ origin: 'null', 'access-control-request-method': 'POST' });
    const shared = withCorsHeaders(respondCorsJson({}, { isHttps: true }));
    for (const answer of [respondPreflight(asked, ['POST']), withCorsHeaders(respondJson({})), shared]) {
      expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
    }
  });

  it.each([
    ['OPTIONS with the method that will follow', preflight({ 'access-control-request-method': 'GET' }), true],
    ['OPTIONS alone', preflight({}), false],
    [
      'another method',
      new Request('https://as.example', { headers: { 'access-control-request-method': 'GET' } }),
      false,
    ],
  ])('recognizes a preflight request by its method and headers: %s', (_what, request, expected) => {
    expect(isPreflight(request)).toBe(expected);
  });
});

describe('respondSeeOther', () => {
  it.each([
    { isHttps: true, transport: 'max-age=15768000' },
    { isHttps: false, transport: undefined },
  ])('a redirect contains all security headers (https: $isHttps)', ({ isHttps, transport }) => {
    const location = 'https://app.example/callback?code=a&state=b';
    const made = respondSeeOther(location, { isHttps });
    const headers = { location, 'cache-control': 'no-store' };
    const other = withSecurityHeaders(respond(303, headers), isHttps);
    expect([made.status, made.body, made.headers['strict-transport-security']]).toEqual([
      303,
      null,
      transport,
    ]);
    expect(made.headers).toEqual(other.headers);
    expect(withSecurityHeaders(made, isHttps)).toBe(made);
  });
});
