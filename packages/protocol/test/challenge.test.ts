/** `WWW-Authenticate`: what the parser understands, how its cost grows, and what cannot be injected. */
import {
  type BearerChallenge,
  type Challenge,
  findChallenge,
  formatBearerChallenge,
  formatChallenge,
  parseChallenges,
} from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { growthOf, LINEAR } from './growth.ts';

/** A challenge as a tuple, so that a table can be read. */
type Plain = readonly [scheme: string, details: string | null | Readonly<Record<string, string>>];

function plain({ scheme, token68, parameters }: Challenge): Plain {
  return [scheme, parameters.size > 0 ? Object.fromEntries(parameters) : token68];
}

const metadata = 'https://mcp.example/.well-known/oauth-protected-resource/mcp';

describe('parseChallenges', () => {
  const understood: readonly {
    description: string;
    given: string | readonly string[];
    expect: readonly Plain[];
  }[] = [
    {
      description: 'the example of RFC 9728',
      given: `Bearer resource_metadata="${metadata}"`,
      expect: [['Bearer', { resource_metadata: metadata }]],
    },
    {
      description: 'the example of RFC 9110: several challenges with a comma and an escaped quote',
      given: 'Basic realm="simple", Newauth realm="apps", type=1, title="Login to \\"apps\\""',
      expect: [
        ['Basic', { realm: 'simple' }],
        ['Newauth', { realm: 'apps', type: '1', title: 'Login to "apps"' }],
      ],
    },
    {
      description: 'several header fields',
      given: ['Basic realm="a"', `Bearer scope="x y", resource_metadata="${metadata}"`],
      expect: [
        ['Basic', { realm: 'a' }],
        ['Bearer', { scope: 'x y', resource_metadata: metadata }],
      ],
    },
    {
      description: 'each header field on its own, joining no parameter to the challenge of another field',
      given: ['Basic realm="a"', 'scope="x"'],
      expect: [['Basic', { realm: 'a' }]],
    },
    {
      description: 'parameters in any order and commas within quotes',
      given: `Bearer scope="a,b", resource_metadata="${metadata}", error="invalid_token", realm="x, y"`,
      expect: [
        ['Bearer', { scope: 'a,b', resource_metadata: metadata, error: 'invalid_token', realm: 'x, y' }],
      ],
    },
    {
      description: 'folded lines',
      given: 'Bearer realm="a",\r\n scope="x\r\n\ty",\n\terror="z"',
      expect: [['Bearer', { realm: 'a', scope: 'x y', error: 'z' }]],
    },
    {
      description: 'the DPoP scheme',
      given: 'DPoP algs="ES256 PS256", error="use_dpop_nonce"',
      expect: [['DPoP', { algs: 'ES256 PS256', error: 'use_dpop_nonce' }]],
    },
    {
      description: 'names in any case',
      given: 'bEARER Realm="A", SCOPE="B"',
      expect: [['bEARER', { realm: 'A', scope: 'B' }]],
    },
    {
      description: 'any white space between parts',
      given: '  ,, Bearer \t realm =\t"a"  ,,\t, scope= b ,',
      expect: [['Bearer', { realm: 'a', scope: 'b' }]],
    },
    { description: 'a field with a leading space', given: ' Bearer a=b', expect: [['Bearer', { a: 'b' }]] },
    { description: 'a bare scheme', given: 'Bearer', expect: [['Bearer', null]] },
    {
      description: 'bare schemes',
      given: 'Bearer, Negotiate ,Basic',
      expect: [
        ['Bearer', null],
        ['Negotiate', null],
        ['Basic', null],
      ],
    },
    {
      description: 'token68 with and without padding',
      given: 'Negotiate YIIB+/az==, NTLM TlRMTVNT , Bearer realm="a"',
      expect: [
        ['Negotiate', 'YIIB+/az=='],
        ['NTLM', 'TlRMTVNT'],
        ['Bearer', { realm: 'a' }],
      ],
    },
    {
      description: 'token68 with one equals sign',
      given: 'Negotiate abc=, Basic realm=x',
      expect: [
        ['Negotiate', 'abc='],
        ['Basic', { realm: 'x' }],
      ],
    },
    {
      description: 'quoted pairs',
      given: 'Bearer realm="a\\"b\\\\c\\d"',
      expect: [['Bearer', { realm: 'a"b\\cd' }]],
    },
    { description: 'an empty quoted string', given: 'Bearer realm=""', expect: [['Bearer', { realm: '' }]] },
    {
      description: 'a token as a parameter value',
      given: 'Bearer error=invalid_token',
      expect: [['Bearer', { error: 'invalid_token' }]],
    },
    {
      description: 'a repeated parameter by its first value',
      given: 'Bearer a=1, A="2", a=3',
      expect: [['Bearer', { a: '1' }]],
    },
    {
      description: 'the same scheme twice',
      given: 'Bearer a=1, Bearer a=2',
      expect: [
        ['Bearer', { a: '1' }],
        ['Bearer', { a: '2' }],
      ],
    },
    {
      description: 'a URL without quotes, as some servers write it',
      given: `Bearer resource_metadata=${metadata}, a=b`,
      expect: [['Bearer', { resource_metadata: metadata, a: 'b' }]],
    },
    {
      description: 'parameters without commas, as some servers write them',
      given: 'Bearer error="e" scope="a b" realm=c',
      expect: [['Bearer', { error: 'e', scope: 'a b', realm: 'c' }]],
    },
    {
      description: 'a comma after the scheme',
      given: 'Bearer, realm="a"',
      expect: [['Bearer', { realm: 'a' }]],
    },
    {
      description: 'parameters named like members of Object.prototype',
      given: 'Bearer __proto__="a", constructor=b',
      expect: [['Bearer', { ['__proto__']: 'a', constructor: 'b' }]],
    },
  ];
  it.each(understood)('parseChallenges parses $description', ({ given, expect: expected }) => {
    const seen = parseChallenges(given).map(plain);
    expect(JSON.stringify(seen)).toBe(JSON.stringify(expected));
  });

  const junk: readonly { description: string; given: string; expect: readonly Plain[] }[] = [
    { description: 'nothing', given: '', expect: [] },
    { description: 'commas and spaces', given: ' , ,\t,', expect: [] },
    {
      description: 'junk before a challenge',
      given: '@@@ ???, Bearer error="x"',
      expect: [['Bearer', { error: 'x' }]],
    },
    { description: 'junk without a comma before a challenge', given: '@@@ Bearer error="x"', expect: [] },
    {
      description: 'a parameter before every scheme',
      given: 'error="x", Bearer realm="y"',
      expect: [['Bearer', { realm: 'y' }]],
    },
    { description: 'a bare equals sign', given: '="x", Bearer a=b', expect: [['Bearer', { a: 'b' }]] },
    {
      description: 'a value left out',
      given: 'Bearer a="1", realm=, b="2"',
      expect: [['Bearer', { a: '1', b: '2' }]],
    },
    {
      description: 'junk between parameters',
      given: 'Bearer a="1", @@@, b="2"',
      expect: [['Bearer', { a: '1', b: '2' }]],
    },
    {
      description: 'junk after a value',
      given: 'Bearer a="1"x y z, b="2"',
      expect: [['Bearer', { a: '1', b: '2' }]],
    },
    {
      description: 'a challenge within junk',
      given: 'Basic x y Bearer error="x"',
      expect: [['Basic', null]],
    },
    {
      description: 'a challenge within a quoted string',
      given: 'Basic realm="a, Bearer error=\\"x\\", b=c"',
      expect: [['Basic', { realm: 'a, Bearer error="x", b=c' }]],
    },
    {
      description: 'a quoted string within junk',
      given: 'Basic @ "a, Bearer error=x, ", b=c',
      expect: [['Basic', { b: 'c' }]],
    },
    {
      description: 'a quote that is never closed',
      given: 'Bearer a="1", b="2, Basic c=3',
      expect: [['Bearer', { a: '1' }]],
    },
    {
      description: 'a quote that is never closed, first',
      given: 'Bearer error="invalid_token',
      expect: [['Bearer', null]],
    },
    {
      description: 'a quote that is never closed, without scheme',
      given: 'error="x, Bearer a=b',
      expect: [],
    },
    {
      description: 'a quote that only a quoted pair closes',
      given: 'Bearer a="b\\", c="d"',
      expect: [['Bearer', { a: 'b", c=' }]],
    },
    { description: 'a backslash at the very end', given: 'Bearer a="b\\', expect: [['Bearer', null]] },
    { description: 'a lone quote', given: '"', expect: [] },
    { description: 'a colon for a space', given: 'Bearer: error="x"', expect: [] },
    { description: 'JSON', given: '{"error":"x"}', expect: [] },
    {
      description: 'characters outside of ASCII',
      given: 'Bearér a=b, Bearer é="x", c="ü"',
      expect: [['Bearer', { c: 'ü' }]],
    },
  ];
  it.each(junk)('T113 parseChallenges tolerates $description', ({ given, expect: expected }) => {
    expect(parseChallenges(given).map(plain)).toEqual(expected);
  });

  it.each([null, undefined, []])('parseChallenges returns no challenges for %j', (given) => {
    expect(parseChallenges(given)).toEqual([]);
  });

  it('T113 parseChallenges stops reading a field after a thousand elements, and reads the next field', () => {
    const [hostile, ...others] = parseChallenges([`Bearer ${'a=1,b=2,'.repeat(100_000)}`, 'Basic realm=x']);
    expect(hostile?.parameters.size).toBe(2);
    expect(others.map(plain)).toEqual([['Basic', { realm: 'x' }]]);
    expect(parseChallenges('A,'.repeat(500_000)).length).toBe(1000);
    expect(parseChallenges('A b=1,'.repeat(100_000)).length).toBe(500);
    const unseparated = Array.from({ length: 1500 }, (_, index) => `p${index}=x`).join(' ');
    expect(parseChallenges(`Bearer ${unseparated}`)[0]?.parameters.size).toBe(1000);
  });
});

describe('cost', () => {
  const hostile: readonly { description: string; given: (length: number) => string }[] = [
    { description: 'an open quote', given: (length) => `Bearer a="${'x'.repeat(length)}` },
    { description: 'quoted pairs', given: (length) => `Bearer a="${'\\"'.repeat(length / 2)}` },
    {
      description: 'a closed quote of quoted pairs',
      given: (length) => `Bearer a="${'\\"'.repeat(length / 2)}"`,
    },
    { description: 'quotes', given: (length) => `Bearer ${'"'.repeat(length)}` },
    { description: 'open quotes after commas', given: (length) => 'a="\\",'.repeat(length / 6) },
    { description: 'one token', given: (length) => 'a'.repeat(length) },
    { description: 'a token68 that is none', given: (length) => `Bearer ${'a'.repeat(length)}!` },
    { description: 'equals signs', given: (length) => `Bearer a${'='.repeat(length)}x` },
    { description: 'spaces', given: (length) => `Bearer a${' '.repeat(length)}x` },
    {
      description: 'spaces and tabs before nothing',
      given: (length) => `Bearer a=${' \t'.repeat(length / 2)}`,
    },
    { description: 'words', given: (length) => 'a '.repeat(length / 2) },
    { description: 'words and equals signs', given: (length) => `Bearer ${'a = '.repeat(length / 4)}` },
    { description: 'parameters without commas', given: (length) => `Bearer ${'a=b '.repeat(length / 4)}` },
    { description: 'commas', given: (length) => ','.repeat(length) },
    { description: 'schemes', given: (length) => 'A,'.repeat(length / 2) },
    { description: 'folded lines', given: (length) => `Bearer a="${'\r\n '.repeat(length / 3)}` },
    { description: 'line breaks', given: (length) => `Bearer ${'\r\n'.repeat(length / 2)}` },
    { description: 'junk', given: (length) => '@'.repeat(length) },
  ];

  it.each(hostile)(
    'T113 the cost of parsing challenges grows no faster than the input for $description',
    ({ given }) => {
      expect(growthOf(parseChallenges, given)).toBeLessThan(LINEAR);
    },
  );
});

describe('findChallenge', () => {
  it('findChallenge finds the first challenge of a scheme, whatever its case', () => {
    const challenges = parseChallenges('Basic a=1, BEARER a=2, bearer a=3');
    expect(findChallenge(challenges, 'Bearer')?.parameters.get('a')).toBe('2');
    expect(findChallenge(challenges, 'DPoP')).toBeUndefined();
  });
});

describe('formatChallenge', () => {
  it.each<{ description: string; given: Parameters<typeof formatChallenge>; expect: string }>([
    { description: 'a bare scheme', given: ['Bearer', {}], expect: 'Bearer' },
    {
      description: 'parameters in the given order',
      given: ['Basic', { realm: 'a', charset: 'UTF-8' }],
      expect: 'Basic realm="a", charset="UTF-8"',
    },
    {
      description: 'no parameter whose value is undefined',
      given: ['Basic', { realm: undefined, x: 'y' }],
      expect: 'Basic x="y"',
    },
    {
      description: 'quotes and backslashes as quoted pairs',
      given: ['Basic', { realm: 'a", error="b\\' }],
      expect: 'Basic realm="a\\", error=\\"b\\\\"',
    },
  ])('formatChallenge writes $description', ({ given, expect: expected }) => {
    expect(formatChallenge(...given)).toBe(expected);
  });

  it.each<{ description: string; given: Parameters<typeof formatChallenge> }>([
    { description: 'CRLF', given: ['Bearer', { realm: 'a\r\nSet-Cookie: x' }] },
    { description: 'a line feed', given: ['Bearer', { realm: 'a\nb' }] },
    { description: 'NUL', given: ['Bearer', { realm: '\0' }] },
    { description: 'a tab', given: ['Bearer', { realm: 'a\tb' }] },
    { description: 'a letter outside of ASCII', given: ['Bearer', { realm: 'ü' }] },
    { description: 'a name that is no token', given: ['Bearer', { 'a="b", c': 'd' }] },
    { description: 'an empty name', given: ['Bearer', { '': 'd' }] },
    { description: 'a scheme that is no token', given: ['Bearer x', { a: 'd' }] },
  ])('T097 formatChallenge refuses to write $description', ({ given }) => {
    expect(() => formatChallenge(...given)).toThrow(TypeError);
  });
});

describe('formatBearerChallenge', () => {
  it('[S-WA-61] formatBearerChallenge writes each parameter once, quoted, in one order', () => {
    expect(
      formatBearerChallenge({
        resource_metadata: metadata,
        scope: 'notes:read notes:write',
        error_description: 'The access token has expired.',
        error: 'invalid_token',
        error_uri: 'https://docs.example/errors',
        realm: 'mcp',
      }),
    ).toBe(
      'Bearer realm="mcp", error="invalid_token", error_description="The access token has expired.", ' +
        `error_uri="https://docs.example/errors", resource_metadata="${metadata}", ` +
        'scope="notes:read notes:write"',
    );
  });

  it.each([
    {
      description: 'an injected parameter',
      given: 'a", error="insufficient_scope',
      expect: `"a', error 'insufficient_scope"`,
    },
    {
      description: 'text that careless clients search for',
      given: 'send scope=x, resource_metadata=y',
      expect: '"send scope x, resource_metadata y"',
    },
    { description: 'line breaks', given: 'a\r\nb', expect: '"a??b"' },
    { description: 'letters outside of ASCII', given: 'größer', expect: '"gr??er"' },
  ])(
    '[S-WA-61 S-WA-62] T097 formatBearerChallenge replaces $description in error_description',
    ({ given, expect: expected }) => {
      expect(formatBearerChallenge({ error_description: given })).toBe(
        `Bearer error_description=${expected}`,
      );
    },
  );

  it.each<{ description: string; given: BearerChallenge }>([
    { description: 'scope', given: { scope: 'a" b' } },
    { description: 'error', given: { error: 'a\\' } },
    { description: 'error_uri', given: { error_uri: 'https://a.example/"' } },
    { description: 'resource_metadata', given: { resource_metadata: 'https://a.example/", error="x' } },
    { description: 'realm with a line break', given: { realm: 'a\nb' } },
  ])('[S-WA-61] T097 formatBearerChallenge rejects a forbidden character in $description', ({ given }) => {
    expect(() => formatBearerChallenge(given)).toThrow(TypeError);
  });
});

describe('for all challenges', () => {
  const token = fc.string({ unit: fc.constantFrom(..."abzAZ09!#$%&'*+-.^_`|~"), minLength: 1, maxLength: 8 });
  const value = fc.string({ unit: 'grapheme-ascii', maxLength: 20 });
  const parameters = fc
    .uniqueArray(fc.tuple(token, value), { selector: ([name]) => name.toLowerCase(), maxLength: 5 })
    .map((entries) => Object.fromEntries(entries));
  const challenge = fc.tuple(token, parameters);
  const lowercase = (record: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(record).map(([name, text]) => [name.toLowerCase(), text]));

  it('parseChallenges reads back every challenge that formatChallenge writes, in one field or several', () => {
    fc.assert(
      fc.property(
        fc.array(challenge, { maxLength: 4 }),
        fc.constantFrom(',', ', ', '\t,, '),
        (given, comma) => {
          const fields = given.map(([scheme, record]) => formatChallenge(scheme, record));
          const expected = given.map(([scheme, record]) => ({
            scheme,
            token68: null,
            parameters: new Map(Object.entries(lowercase(record))),
          }));
          const inOrder = (list: readonly Challenge[]) =>
            list.map((one) => ({ ...one, parameters: new Map([...one.parameters].sort()) }));
          expect(inOrder(parseChallenges(fields))).toEqual(inOrder(expected));
          expect(inOrder(parseChallenges(fields.join(comma)))).toEqual(inOrder(expected));
        },
      ),
    );
  });

  it('parseChallenges never throws, and what it returns can be formatted and parsed again', () => {
    const piece = fc.oneof(
      token,
      fc.constantFrom(' ', ',', '=', '"', '\\', 'Bearer ', 'a="b"', '\r\n ', '==', '\0', 'é'),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 30 }).map((parts) => parts.join('')),
        (field) => {
          for (const { scheme, parameters: read } of parseChallenges(field)) {
            const values = [...read.values()].join('');
            if (!/^[\x20-\x7e]*$/.test(values)) continue;
            const [again] = parseChallenges(formatChallenge(scheme, Object.fromEntries(read)));
            expect(again?.scheme).toBe(scheme);
            expect(new Map([...(again?.parameters ?? [])].sort())).toEqual(new Map([...read].sort()));
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});
