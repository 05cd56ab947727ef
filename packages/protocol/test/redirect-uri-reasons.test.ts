/** Error descriptions for redirect URIs, and URIs that only look like loopback. */
import { checkRedirectUri, matchesRedirectUri, OAuthError, validateRedirectUri } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';

describe('a redirect URI', () => {
  it.each([
    ['/callback', 'must be an absolute URI'],
    ['//c.example/a:b', 'must be an absolute URI'],
    ['?next=https://c.example/', 'must be an absolute URI'],
    ['JavaScript:alert(1)', 'must not use the scheme javascript'],
    ['view-source:https://c.example', 'must not use the scheme view-source'],
    ['https://c.example/*', 'must have no wildcard'],
    ['https://c.example/#x', 'must have no fragment'],
    [
      'https://c.example/?state=1',
      'must have none of the parameters code, state, iss, error, error_description, error_uri in its query',
    ],
    [
      'cursor://callback',
      'uses a private-use scheme that this server does not allow: its operator can, with the setting privateUseSchemes',
    ],
    ['http://c.example/', 'must use https (http is for localhost, 127.0.0.1 and [::1] only)'],
  ])('rejects the redirect URI %s with a helpful description', (uri, reason) => {
    expect(validateRedirectUri(uri)).toMatchObject({ reason });
    expect(() => checkRedirectUri([uri], uri)).toThrow(
      new OAuthError('invalid_request', `The redirect_uri ${reason}.`),
    );
    expect(checkRedirectUri(['https://c.example/cb'], 'https://c.example/cb').uri).toBe(
      'https://c.example/cb',
    );
  });

  it('a private-use redirect URI that was dropped at registration is rejected with the reason for that', () => {
    const registered = ['https://c.example/cb'];
    expect(() => checkRedirectUri(registered, 'cursor://callback')).toThrow(/private-use scheme/);
    expect(() =>
      checkRedirectUri(registered, 'cursor://callback', { privateUseSchemes: ['cursor'] }),
    ).toThrow('is not registered');
  });

  it('rejects a redirect URI that is unregistered, or omitted when several are registered, with a helpful description', () => {
    const registered = ['https://c.example/cb', 'https://c.example/other'];
    expect(() => checkRedirectUri(registered, 'https://c.example/third')).toThrow(
      new OAuthError('invalid_request', 'The redirect_uri is not registered for this client.'),
    );
    expect(() => checkRedirectUri(registered, undefined)).toThrow(
      new OAuthError('invalid_request', 'Send the redirect_uri: this client has not registered exactly one.'),
    );
    expect(checkRedirectUri(registered, 'https://c.example/other').uri).toBe('https://c.example/other');
  });

  it.each([
    'https://evil.example/?http://localhost:1/cb',
    'evil:http://localhost:1/cb',
    ' http://localhost:1/cb',
    'http://localhost:1/cb ',
    'http://localhost:1/cb\n',
  ])(
    'T004 %j, which only contains a loopback address, does not match a loopback redirect URI',
    (requested) => {
      expect(matchesRedirectUri('http://localhost/cb', requested)).toBe(false);
      expect(matchesRedirectUri(requested, 'http://localhost/cb')).toBe(false);
      expect(matchesRedirectUri('http://localhost/cb', 'http://localhost:1/cb')).toBe(true);
    },
  );
});
