/** The authorization response: what the server writes, and what the client accepts. */

import {
  checkRedirectUri,
  codeResponseUrl,
  errorResponseUrl,
  OAuthError,
  type RedirectTarget,
  readAuthorizationResponse,
} from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacters } from '../../../tests/support/any-text.ts';
import { wholeText } from './texts.ts';

const target = (uri: string, schemes: readonly string[] = []): RedirectTarget =>
  checkRedirectUri([uri], uri, { privateUseSchemes: schemes });

const issuer = 'https://as.example';

describe('successResponse', () => {
  const cases: readonly { description: string; given: string; expect: string }[] = [
    {
      description: 'successResponse adds a query to a redirect URI without one',
      given: 'https://c.example/cb',
      expect: 'https://c.example/cb?code=c&state=s',
    },
    {
      description: 'successResponse adds a query to a redirect URI without a path',
      given: 'https://c.example',
      expect: 'https://c.example?code=c&state=s',
    },
    {
      description: '[AS-AUTHZ-77] successResponse keeps the query of a redirect URI',
      given: 'https://c.example/cb?x=%20y',
      expect: 'https://c.example/cb?x=%20y&code=c&state=s',
    },
    {
      description: 'successResponse extends a redirect URI that ends with a question mark',
      given: 'https://c.example/cb?',
      expect: 'https://c.example/cb?code=c&state=s',
    },
    {
      description: 'successResponse extends a redirect URI that ends with an ampersand',
      given: 'https://c.example/cb?x=1&',
      expect: 'https://c.example/cb?x=1&code=c&state=s',
    },
    {
      description: 'successResponse extends a query that ends with a question mark',
      given: 'https://c.example/cb?x=?',
      expect: 'https://c.example/cb?x=?&code=c&state=s',
    },
  ];
  it.each(cases)('$description', ({ given, expect: expected }) => {
    expect(codeResponseUrl(target(given), 'c', { state: 's', issuer: null })).toBe(expected);
  });

  it('encodes code, state and issuer as URLSearchParams does', () => {
    const text = fc.oneof(wholeText, anyCharacters(), fc.constant("a b+c!'()*~-._%\ud800"));
    fc.assert(
      fc.property(text, text, text, (code, state, iss) => {
        const query = new URLSearchParams({ code, state, iss });
        const sent = codeResponseUrl(target('https://c.example/cb'), code, { state, issuer: iss });
        expect(sent).toBe(`https://c.example/cb?${query}`);
      }),
    );
  });

  it('successResponse writes to a private-use URI', () => {
    const uri = 'com.example.app:/cb';
    expect(codeResponseUrl(target(uri, ['com.example.app']), 'c', { state: undefined, issuer: null })).toBe(
      `${uri}?code=c`,
    );
  });

  it('[AS-ISS-30 AS-AUTHZ-76] T016 successResponse carries the state and one iss, byte for byte', () => {
    const state = 'a b+%/=';
    const url = new URL(
      codeResponseUrl(target('https://c.example/cb'), 'c', { state, issuer: 'https://as.example/t1/' }),
    );
    expect([...url.searchParams]).toEqual([
      ['code', 'c'],
      ['state', state],
      ['iss', 'https://as.example/t1/'],
    ]);
    expect(url.hash).toBe('');
  });

  it('[AS-AUTHZ-76] successResponse carries no state that was not sent', () => {
    expect(codeResponseUrl(target('https://c.example/cb'), 'c', { state: undefined, issuer: null })).toBe(
      'https://c.example/cb?code=c',
    );
  });
});

describe('errorResponse', () => {
  it('[AS-ISS-30 AS-AUTHZ-77] T016 errorResponse carries error, state and iss, and no code', () => {
    const error = new OAuthError('access_denied', 'The user declined.', { reason: 'secret reason' });
    const url = new URL(errorResponseUrl(target('https://c.example/cb?x=1'), error, { state: 's', issuer }));
    expect([...url.searchParams]).toEqual([
      ['x', '1'],
      ['error', 'access_denied'],
      ['error_description', 'The user declined.'],
      ['state', 's'],
      ['iss', issuer],
    ]);
  });

  it('[AS-AUTHZ-83] error_description of errorResponse contains only the allowed characters', () => {
    const error = new OAuthError('invalid_request', 'Größe "x" \\ \u0000\r\n😀');
    const url = new URL(
      errorResponseUrl(target('https://c.example/cb'), error, { state: undefined, issuer: null }),
    );
    expect(url.searchParams.get('error_description')).toBe("Gr??e 'x' / ????");
  });
});

type AuthorizationResponseExpectations = Parameters<typeof readAuthorizationResponse>[1];

const expected: AuthorizationResponseExpectations = {
  state: 's',
  issuer,
  issuerAdvertised: true,
  issuerRule: 'rfc9207',
};
const unadvertised: AuthorizationResponseExpectations = { ...expected, issuerAdvertised: false };
const read = (query: string, expectation: AuthorizationResponseExpectations = expected) =>
  readAuthorizationResponse(new URLSearchParams(query), expectation);

describe('readAuthorizationResponse', () => {
  const iss = encodeURIComponent(issuer);

  it.each<{ description: string; given: Parameters<typeof read>; expect: string }>([
    {
      description: '[C-ISS-32] row 1, equal',
      given: [`code=c&state=s&iss=${iss}`, expected],
      expect: 'code',
    },
    {
      description: '[C-ISS-32] row 1, different',
      given: ['code=c&state=s&iss=https%3A%2F%2Fevil.example', expected],
      expect: 'rejected',
    },
    { description: '[C-ISS-33] row 2', given: ['code=c&state=s', expected], expect: 'rejected' },
    {
      description: '[C-ISS-34] row 3, equal',
      given: [`code=c&state=s&iss=${iss}`, unadvertised],
      expect: 'code',
    },
    {
      description: '[C-ISS-34] row 3, different',
      given: ['code=c&state=s&iss=https%3A%2F%2Fevil.example', unadvertised],
      expect: 'rejected',
    },
    { description: '[C-ISS-35] row 4', given: ['code=c&state=s', unadvertised], expect: 'code' },
  ])(
    'T116 follows the iss validation table of RFC 9207, $description: $expect',
    ({ given, expect: kind }) => {
      expect(read(...given).kind).toBe(kind);
    },
  );

  it.each([
    { description: 'a slash', given: 'https://as.example/' },
    { description: 'case of the host', given: 'https://AS.example' },
    { description: 'case of the scheme', given: 'HTTPS://as.example' },
    { description: 'the default port', given: 'https://as.example:443' },
    { description: 'percent-encoding', given: 'https://as%2Eexample' },
    { description: 'a path', given: 'https://as.example/t1' },
    { description: 'a space', given: 'https://as.example ' },
    { description: 'a longer host', given: 'https://as.example.evil' },
    { description: 'nothing', given: '' },
  ])('[C-ISS-36] T116 rejects a response whose iss differs from the issuer by $description', ({ given }) => {
    const query = new URLSearchParams({ code: 'c', state: 's', iss: given }).toString();
    for (const expectation of [expected, unadvertised])
      expect(read(query, expectation).kind).toBe('rejected');
  });

  it.each(['code', 'state', 'iss', 'error', 'error_description'])(
    'T116 rejects an authorization response with two %s parameters',
    (name) => {
      const query = `code=c&state=s&iss=${iss}`;
      const value = new URLSearchParams(query).get(name) ?? 'x';
      const repeated = new URLSearchParams(query);
      repeated.delete(name);
      repeated.append(name, value);
      expect(readAuthorizationResponse(repeated, expected).kind).not.toBe('rejected');
      repeated.append(name, value);
      expect(readAuthorizationResponse(repeated, expected).kind).toBe('rejected');
    },
  );

  it.each([
    { description: 'missing', given: `code=c&iss=${iss}` },
    { description: 'empty', given: `code=c&state=&iss=${iss}` },
    { description: 'another', given: `code=c&state=x&iss=${iss}` },
    { description: 'of another case', given: `code=c&state=S&iss=${iss}` },
    { description: 'longer', given: `code=c&state=ss&iss=${iss}` },
    { description: 'missing from an error', given: `error=access_denied&iss=${iss}` },
  ])('[C-STATE-2] T115 rejects an authorization response whose state is $description', ({ given }) => {
    expect(read(given)).toEqual({ kind: 'rejected', reason: expect.stringContaining('state') });
  });

  it('[C-ISS-37] T116 shows nothing of an error response from another issuer', () => {
    const response = read(
      'error=access_denied&error_description=call+0900&error_uri=https://evil.example&state=s&iss=https://evil.example',
    );
    expect(response.kind).toBe('rejected');
    expect(JSON.stringify(response)).not.toMatch(/access_denied|0900|evil/);
  });

  it('[C-ISS-60] readAuthorizationResponse ignores iss in revisions before RFC 9207', () => {
    const ignoring: AuthorizationResponseExpectations = { ...expected, issuerRule: 'ignore' };
    for (const query of ['code=c&state=s&iss=x', 'code=c&state=s'])
      expect(read(query, ignoring)).toEqual({ kind: 'code', code: 'c' });
  });

  it('readAuthorizationResponse compares no iss for a server without metadata', () => {
    expect(read('code=c&state=s', { ...unadvertised, issuer: null }).kind).toBe('code');
  });

  it.each([
    {
      description: '[C-CODE-61] readAuthorizationResponse reads an error',
      given: 'error=access_denied&error_description=No.',
      expect: { kind: 'error', error: 'access_denied', description: 'No.' },
    },
    {
      description: '[C-CODE-61] readAuthorizationResponse reads an error beside a code',
      given: 'error=x&code=c',
      expect: { kind: 'error', error: 'x', description: '' },
    },
    {
      description: 'readAuthorizationResponse reads a code',
      given: 'code=c',
      expect: { kind: 'code', code: 'c' },
    },
    {
      description: 'readAuthorizationResponse reads a code beside an empty error',
      given: 'code=c&error=',
      expect: { kind: 'code', code: 'c' },
    },
    {
      description: 'readAuthorizationResponse ignores unknown parameters',
      given: 'code=c&session_state=x&next=https://evil',
      expect: { kind: 'code', code: 'c' },
    },
    {
      description: 'readAuthorizationResponse rejects a response with neither code nor error',
      given: 'x=y',
      expect: { kind: 'rejected', reason: 'it contains neither a code nor an error' },
    },
    {
      description: 'readAuthorizationResponse rejects an empty code',
      given: 'code=',
      expect: { kind: 'rejected', reason: 'it contains neither a code nor an error' },
    },
    {
      description: 'readAuthorizationResponse replaces control characters in an error',
      given: 'error=a%1b%5b31m&error_description=%0d%0ax%22',
      expect: { kind: 'error', error: 'a?[31m', description: "??x'" },
    },
  ])('$description', ({ given, expect: meaning }) => {
    expect(read(`${given}&state=s&iss=${iss}`)).toEqual(meaning);
  });

  it('readAuthorizationResponse truncates a long error_description', () => {
    const response = read(`error=x&error_description=${'a'.repeat(100_000)}&state=s&iss=${iss}`);
    expect(response).toMatchObject({ kind: 'error', description: 'a'.repeat(1000) });
  });
});

describe('for all responses', () => {
  const uri = fc
    .tuple(
      fc.constantFrom(
        'https://c.example/cb',
        'https://c.example',
        'http://127.0.0.1:3000/cb',
        'http://localhost/',
      ),
      fc.constantFrom('', '?', '?x=1', '?x=1&', '?&', '?x=?', '?x', '?x=a%26code%3Db'),
    )
    .map((parts) => parts.join(''));
  const text = wholeText;
  const theIssuer = fc.constantFrom('https://as.example', 'https://as.example/', 'https://as.example/t%201');

  it('the client of the request, and no other, reads the success response of the server', () => {
    fc.assert(
      fc.property(uri, text, text, theIssuer, theIssuer, (redirect, code, state, from, other) => {
        const query = new URL(codeResponseUrl(target(redirect), code, { state, issuer: from })).searchParams;
        expect(query.get('x') ?? '').toBe(new URL(redirect).searchParams.get('x') ?? '');
        expect(readAuthorizationResponse(query, { ...expected, state, issuer: from })).toEqual({
          kind: 'code',
          code,
        });
        expect(readAuthorizationResponse(query, { ...expected, state: `${state}x`, issuer: from }).kind).toBe(
          'rejected',
        );
        const mixedUp = readAuthorizationResponse(query, { ...expected, state, issuer: other });
        expect(mixedUp.kind).toBe(from === other ? 'code' : 'rejected');
      }),
    );
  });

  it('the client of the request, and no other, reads the error response of the server', () => {
    fc.assert(
      fc.property(uri, text, text, (redirect, description, state) => {
        const error = new OAuthError('access_denied', description);
        const query = new URL(errorResponseUrl(target(redirect), error, { state, issuer })).searchParams;
        expect(readAuthorizationResponse(query, { ...expected, state })).toEqual({
          kind: 'error',
          error: 'access_denied',
          description: error.description,
        });
      }),
    );
  });

  it('accepts a code only with the right state and issuer, whatever the callback contains', () => {
    const name = fc.constantFrom('code', 'state', 'iss', 'error', 'x');
    const value = fc.constantFrom('s', issuer, 'c', '', 'https://evil.example');
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value), { maxLength: 6 }), (pairs) => {
        const query = new URLSearchParams(pairs);
        if (readAuthorizationResponse(query, expected).kind === 'rejected') return;
        expect(query.getAll('state')).toEqual(['s']);
        expect(query.getAll('iss')).toEqual([issuer]);
        expect(query.getAll('code').length + query.getAll('error').length).toBeGreaterThan(0);
      }),
      { numRuns: 2000 },
    );
  });
});
