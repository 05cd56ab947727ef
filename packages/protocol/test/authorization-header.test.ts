/** The `Authorization` header: which token a request presents. */
import { readAuthorizationHeader } from '@portcullis/protocol';
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
    { description: 'Bearer', given: 'Bearer abc.def-_~+/==', expect: token('abc.def-_~+/==') },
    { description: '[S-BEAR-60 C-TOK-4] lowercase', given: 'bearer abc', expect: token('abc') },
    { description: '[S-BEAR-60 C-TOK-4] uppercase', given: 'BEARER abc', expect: token('abc') },
    { description: '[S-BEAR-60] two spaces', given: 'Bearer  abc', expect: token('abc') },
    {
      description: '[S-BEAR-60] a tab, and spaces round it',
      given: ' \tBearer\tabc \t',
      expect: token('abc'),
    },
    { description: 'DPoP', given: 'dpop abc', expect: token('abc', 'DPoP') },
    { description: 'one field of a list', given: ['Bearer abc'], expect: token('abc') },
    {
      description: 'the longest token',
      given: `Bearer ${'a'.repeat(16_384)}`,
      expect: token('a'.repeat(16_384)),
    },
    { description: 'no field', given: null, expect: { kind: 'none' } },
    { description: 'no field of a list', given: [], expect: { kind: 'none' } },
    { description: 'nothing', given: undefined, expect: { kind: 'none' } },
    { description: 'an empty field', given: '', expect: { kind: 'none' } },
    { description: 'Basic', given: 'Basic YTpi', expect: { kind: 'none' } },
    { description: 'an unknown scheme', given: 'Bearer2 abc', expect: { kind: 'none' } },
    { description: 'a token without scheme', given: 'abc.def.ghi', expect: { kind: 'none' } },
  ];
  it.each(cases)('$description', ({ given, expect: expected }) => {
    expect(readAuthorizationHeader(given)).toEqual(expected);
  });

  const malformed: readonly { description: string; given: string | readonly string[] }[] = [
    { description: 'no token', given: 'Bearer' },
    { description: 'spaces for a token', given: 'Bearer   ' },
    { description: 'two fields', given: ['Bearer a', 'Bearer b'] },
    { description: 'the same field twice', given: ['Bearer a', 'Bearer a'] },
    { description: 'two schemes', given: ['Bearer a', 'Basic b'] },
    { description: 'two fields that were joined', given: 'Bearer a, Bearer b' },
    { description: '[C-TOK-4] two tokens', given: 'Bearer a b' },
    { description: '100 KB', given: `Bearer ${'a'.repeat(100_000)}` },
    { description: 'a control character', given: 'Bearer a\u0000b' },
    { description: 'a line break', given: 'Bearer a\r\nb' },
    { description: 'a no-break space at the end', given: 'Bearer a\u00a0' },
    { description: 'a letter outside of ASCII', given: 'Bearer tökén' },
    { description: 'quotes', given: 'Bearer "abc"' },
    { description: 'padding first', given: 'Bearer =abc' },
    { description: 'a parameter', given: 'Bearer token="abc"' },
  ];
  it.each(malformed)('$description is malformed, and not repeated', ({ given }) => {
    const credentials = readAuthorizationHeader(given);
    expect(credentials.kind).toBe('malformed');
    expect(credentials).toEqual({ kind: 'malformed', reason: expect.stringMatching(/^[A-Z][A-Za-z -]+\.$/) });
  });

  it('tells a developer who sent only the scheme what is missing', () => {
    const missing = { kind: 'malformed', reason: 'The Authorization header contains no token.' };
    expect([readAuthorizationHeader('Bearer'), readAuthorizationHeader('DPoP ')]).toEqual([missing, missing]);
  });

  it('a token that is one character too long is malformed', () => {
    expect(readAuthorizationHeader(`Bearer ${'a'.repeat(16_385)}`).kind).toBe('malformed');
  });

  it.each([
    { description: 'spaces', given: (length: number) => ' '.repeat(length) },
    { description: 'spaces before two words', given: (length: number) => `Bearer${' '.repeat(length)}x y` },
    { description: 'spaces within', given: (length: number) => `Bearer x${' '.repeat(length)}y` },
    { description: 'a long token', given: (length: number) => `Bearer ${'a'.repeat(length)}` },
    { description: 'a long scheme', given: (length: number) => 'B'.repeat(length) },
  ])('T093 the cost grows no faster than the input: $description', ({ given }) => {
    expect(growthOf(readAuthorizationHeader, given)).toBeLessThan(LINEAR);
  });
});

describe('for all fields', () => {
  it('what is taken for a token is one, and stood in the field', () => {
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
