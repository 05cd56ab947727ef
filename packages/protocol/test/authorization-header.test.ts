/** The `Authorization` header: which token a request presents, and how a client presents its secret. */
import { basicCredentials, readAuthorizationHeader } from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { growthOf, LINEAR } from './growth.ts';
import { anyText } from './texts.ts';

const token = (text: string, scheme = 'Bearer') => ({ kind: 'token', scheme, token: text });

describe('readCredentials', () => {
  const cases: readonly {
    description: string;
    given: Parameters<typeof readAuthorizationHeader>[0];
    expect: object;
  }[] = [
    {
      description: 'readCredentials reads a Bearer token',
      given: 'Bearer abc.def-_~+/==',
      expect: token('abc.def-_~+/=='),
    },
    {
      description: '[S-BEAR-60 C-TOK-4] readCredentials accepts the Bearer scheme in lowercase',
      given: 'bearer abc',
      expect: token('abc'),
    },
    {
      description: '[S-BEAR-60 C-TOK-4] readCredentials accepts the Bearer scheme in uppercase',
      given: 'BEARER abc',
      expect: token('abc'),
    },
    {
      description: '[S-BEAR-60] readCredentials accepts two spaces after the scheme',
      given: 'Bearer  abc',
      expect: token('abc'),
    },
    {
      description: '[S-BEAR-60] readCredentials handles a tab and the spaces around it',
      given: ' \tBearer\tabc \t',
      expect: token('abc'),
    },
    { description: 'readCredentials reads a DPoP token', given: 'dpop abc', expect: token('abc', 'DPoP') },
    {
      description: 'readCredentials reads the only field of a list',
      given: ['Bearer abc'],
      expect: token('abc'),
    },
    {
      description: 'readCredentials accepts a token of the maximum length',
      given: `Bearer ${'a'.repeat(16_384)}`,
      expect: token('a'.repeat(16_384)),
    },
    {
      description: 'readCredentials finds no token in an absent field',
      given: null,
      expect: { kind: 'none' },
    },
    {
      description: 'readCredentials finds no token in an empty list of fields',
      given: [],
      expect: { kind: 'none' },
    },
    {
      description: 'readCredentials finds no token in an undefined field',
      given: undefined,
      expect: { kind: 'none' },
    },
    { description: 'readCredentials finds no token in an empty field', given: '', expect: { kind: 'none' } },
    {
      description: 'readCredentials finds no token in Basic credentials',
      given: 'Basic YTpi',
      expect: { kind: 'none' },
    },
    {
      description: 'readCredentials finds no token in an unknown scheme',
      given: 'Bearer2 abc',
      expect: { kind: 'none' },
    },
    {
      description: 'readCredentials finds no token in a field without a scheme',
      given: 'abc.def.ghi',
      expect: { kind: 'none' },
    },
  ];
  it.each(cases)('$description', ({ given, expect: expected }) => {
    expect(readAuthorizationHeader(given)).toEqual(expected);
  });

  const malformed: readonly { description: string; given: string | readonly string[] }[] = [
    { description: 'a scheme without a token', given: 'Bearer' },
    { description: 'spaces in place of a token', given: 'Bearer   ' },
    { description: 'two fields', given: ['Bearer a', 'Bearer b'] },
    { description: 'the same field twice', given: ['Bearer a', 'Bearer a'] },
    { description: 'two schemes', given: ['Bearer a', 'Basic b'] },
    { description: 'two joined fields', given: 'Bearer a, Bearer b' },
    { description: '[C-TOK-4] two tokens', given: 'Bearer a b' },
    { description: 'a token of 100 KB', given: `Bearer ${'a'.repeat(100_000)}` },
    { description: 'a control character', given: 'Bearer a\u0000b' },
    { description: 'a line break', given: 'Bearer a\r\nb' },
    { description: 'a no-break space at the end', given: 'Bearer a\u00a0' },
    { description: 'a letter outside of ASCII', given: 'Bearer tökén' },
    { description: 'quotes', given: 'Bearer "abc"' },
    { description: 'leading padding', given: 'Bearer =abc' },
    { description: 'a parameter', given: 'Bearer token="abc"' },
  ];
  it.each(malformed)(
    'readCredentials rejects $description as malformed without repeating it',
    ({ given }) => {
      const credentials = readAuthorizationHeader(given);
      expect(credentials.kind).toBe('malformed');
      expect(credentials).toEqual({
        kind: 'malformed',
        reason: expect.stringMatching(/^[A-Z][A-Za-z -]+\.$/),
      });
    },
  );

  it('readCredentials tells a developer who sent only the scheme what is missing', () => {
    const missing = { kind: 'malformed', reason: 'The Authorization header contains no token.' };
    expect([readAuthorizationHeader('Bearer'), readAuthorizationHeader('DPoP ')]).toEqual([missing, missing]);
  });

  it('readCredentials rejects a token that is one character too long', () => {
    expect(readAuthorizationHeader(`Bearer ${'a'.repeat(16_385)}`).kind).toBe('malformed');
  });

  it.each([
    { description: 'spaces', given: (length: number) => ' '.repeat(length) },
    { description: 'spaces before two words', given: (length: number) => `Bearer${' '.repeat(length)}x y` },
    { description: 'spaces within', given: (length: number) => `Bearer x${' '.repeat(length)}y` },
    { description: 'a long token', given: (length: number) => `Bearer ${'a'.repeat(length)}` },
    { description: 'a long scheme', given: (length: number) => 'B'.repeat(length) },
  ])('T093 the cost of readCredentials grows no faster than the input for $description', ({ given }) => {
    expect(growthOf(readAuthorizationHeader, given)).toBeLessThan(LINEAR);
  });
});

describe('basicCredentials', () => {
  it.each([
    ['web', 'secret', 'web:secret'],
    [
      'https://app.example/client.json',
      'a:b c%+é',
      'https%3A%2F%2Fapp.example%2Fclient.json:a%3Ab+c%25%2B%C3%A9',
    ],
  ])(
    'basicCredentials form-encodes the identifier %j and the secret %j before they are joined',
    (id, secret, joined) => {
      const [scheme, encoded = ''] = basicCredentials(id, secret).split(' ');
      expect([scheme, atob(encoded)]).toEqual(['Basic', joined]);
    },
  );
});

describe('for all fields', () => {
  it('every token that readCredentials returns is well-formed and part of the field', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('Bearer', 'bearer', 'DPoP', 'Basic', ''),
        fc.constantFrom(' ', '  ', '\t', ''),
        anyText,
        (scheme, space, text) => {
          const read = readAuthorizationHeader(`${scheme}${space}${text}`);
          if (read.kind !== 'token') return;
          expect(read.token).toMatch(/^[A-Za-z0-9\-._~+/]+=*$/);
          expect(text).toContain(read.token);
        },
      ),
    );
  });
});
