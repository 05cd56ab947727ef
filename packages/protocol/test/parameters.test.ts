/** Form and query parameters: absent, present, repeated, hostile. */
import { readParameters } from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerOf, refusalOf } from './refusal.ts';
import { anyText, wholeText } from './texts.ts';

describe('one', () => {
  it.each([
    { description: 'readParameters reads a parameter that is present', given: 'a=b', expect: 'b' },
    {
      description: 'readParameters percent-decodes a parameter exactly once',
      given: 'a=b%2520c+d',
      expect: 'b%20c d',
    },
    { description: 'readParameters reads a parameter as UTF-8', given: 'a=%C3%BC', expect: 'ü' },
    {
      description: 'readParameters reads an absent parameter as undefined',
      given: 'b=c',
      expect: undefined,
    },
    {
      description: '[AS-AUTHZ-61 AS-TOK-63] readParameters reads a parameter sent without a value as absent',
      given: 'a=',
      expect: undefined,
    },
    {
      description:
        '[AS-AUTHZ-61 AS-TOK-63] readParameters reads a parameter sent without an equals sign as absent',
      given: 'a',
      expect: undefined,
    },
    {
      description: '[AS-AUTHZ-61 AS-TOK-63] T006 readParameters rejects a repeated parameter',
      given: 'a=b&a=c',
      expect: 'invalid_request',
    },
    {
      description:
        '[AS-AUTHZ-61 AS-TOK-63] T006 readParameters rejects a parameter repeated with the same value',
      given: 'a=b&a=b',
      expect: 'invalid_request',
    },
    {
      description: 'T006 readParameters rejects a repeated parameter even if one value is empty',
      given: 'a=&a=b',
      expect: 'invalid_request',
    },
    {
      description: 'T006 readParameters rejects a parameter repeated under a percent-encoded name',
      given: 'a=b&%61=c',
      expect: 'invalid_request',
    },
    {
      description: '[AS-AUTHZ-61 AS-TOK-63] readParameters reads a parameter beside unknown ones',
      given: 'x=1&x=2&a=b&y[]=3',
      expect: 'b',
    },
    {
      description: 'T006 readParameters does not read a name with brackets as an array',
      given: 'a[]=b',
      expect: undefined,
    },
    {
      description: 'T006 readParameters does not read a bracketed operator as part of a parameter',
      given: 'a[$ne]=b',
      expect: undefined,
    },
    {
      description: 'readParameters compares parameter names case-sensitively',
      given: 'A=b',
      expect: undefined,
    },
    {
      description: 'readParameters keeps malformed percent-encoding as it is',
      given: 'a=%zz',
      expect: '%zz',
    },
    {
      description: 'readParameters takes a leading question mark as part of the name',
      given: '?a=b',
      expect: undefined,
    },
    {
      description: 'readParameters takes a leading question mark as part of the name beside malformed UTF-8',
      given: '?a=b&c=%ff',
      expect: undefined,
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(answerOf(() => readParameters(given).one('a'))).toBe(expected);
  });

  it.each(['redirect_uri', 'client_id', 'state', 'scope', 'code_challenge', 'response_type'])(
    '[AS-AUTHZ-61] T006 readParameters rejects two %s parameters and accepts one',
    (name) => {
      expect(refusalOf(() => readParameters(`${name}=1&${name}=2`).one(name))).toMatchObject({
        code: 'invalid_request',
        status: 400,
        description: `Send the parameter ${name} only once.`,
      });
      expect(readParameters(`${name}=1`).one(name)).toBe('1');
    },
  );
});

describe('required', () => {
  it.each([
    { description: 'present', given: 'a=b', expect: 'b' },
    { description: 'absent', given: '', expect: 'invalid_request' },
    { description: 'empty', given: 'a=', expect: 'invalid_request' },
    { description: 'repeated', given: 'a=b&a=c', expect: 'invalid_request' },
  ])('a required parameter that is $description reads as $expect', ({ given, expect: expected }) => {
    expect(answerOf(() => readParameters(given).required('a'))).toBe(expected);
  });
});

describe('all', () => {
  it.each([
    {
      description: '[AS-AUTHZ-61] T006 readParameters lets only resource repeat',
      given: 'resource=a&resource=b',
      expect: ['a', 'b'],
    },
    {
      description: 'readParameters returns an empty list of values for an absent parameter',
      given: '',
      expect: [],
    },
    {
      description: 'readParameters omits empty values from a list of values',
      given: 'resource=&resource=a',
      expect: ['a'],
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(readParameters(given).all('resource')).toEqual(expected);
  });
});

describe('names that objects have', () => {
  const hostile = '__proto__[scope]=admin&__proto__=x&constructor.prototype.scope=1&constructor=y&toString=z';

  it('T006 parameters named like object members change no object', () => {
    const parameters = readParameters(hostile);
    expect(parameters.one('scope')).toBeUndefined();
    expect(Reflect.get({}, 'scope')).toBeUndefined();
    expect(Reflect.get(Object.prototype, 'scope')).toBeUndefined();
  });

  it('T006 parameters named like object members are read as ordinary parameters', () => {
    const parameters = readParameters(hostile);
    expect([
      parameters.one('__proto__'),
      parameters.one('constructor'),
      parameters.one('hasOwnProperty'),
    ]).toEqual(['x', 'y', undefined]);
  });
});

describe('for all parameters', () => {
  const name = fc.oneof(
    fc.string({ maxLength: 5 }),
    fc.constantFrom('a', 'b', '__proto__', 'constructor', 'valueOf'),
  );
  const pairs = fc.array(fc.tuple(name, fc.option(wholeText, { nil: '' })), { maxLength: 10 });

  it('reads a parameter as absent, single or repeated by the number of times it was sent', () => {
    fc.assert(
      fc.property(pairs, name, (given, asked) => {
        const sent = given.filter(([key]) => key === asked).map(([, value]) => value);
        const parameters = readParameters(new URLSearchParams(given));
        expect(parameters.all(asked)).toEqual(sent.filter((value) => value !== ''));
        const expected = sent.length > 1 ? 'invalid_request' : sent[0] === '' ? undefined : sent[0];
        expect(answerOf(() => parameters.one(asked))).toBe(expected);
        expect(answerOf(() => parameters.required(asked))).toBe(expected ?? 'invalid_request');
      }),
    );
  });

  it('readParameters never throws, whatever the text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(Array.isArray(readParameters(text).all('a'))).toBe(true);
      }),
    );
  });
});

describe('a form', () => {
  it('reads any form exactly as URLSearchParams does', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'a',
        '&',
        '=',
        '+',
        '%',
        '%41',
        '%c3%bc',
        '%C3',
        '%ff',
        '%EF%BB%BF',
        '?',
        '#',
        '\ud800',
        'ü',
        '%26',
        '%zz',
      ),
      anyText,
    );
    const form = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(form, (encoded) => {
        // It takes a question mark at the beginning for the one that ends a path.
        const expected = new URLSearchParams(`&${encoded}`);
        const parameters = readParameters(encoded);
        for (const name of new Set(expected.keys())) {
          expect(parameters.all(name)).toEqual(expected.getAll(name).filter((value) => value !== ''));
        }
      }),
      { numRuns: 2000 },
    );
  });
});
