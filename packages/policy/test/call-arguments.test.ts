/** Arguments of calls as conditions read them: what is exact, what is counted, and what is refused. */
import { describe, expect, it } from 'vitest';
import { createCallArguments } from '../src/index.ts';

const read = (text: string) => createCallArguments(() => text).read();

describe('the arguments of a call', () => {
  it.each(['null', '5', '"text"', 'true', '[]'])('are refused if they are %s, which is no object', (text) => {
    expect(() => read(text)).toThrow('no object');
    expect(read(`{"a":${text}}`).value).toEqual({ a: JSON.parse(text) });
  });

  it.each([
    ['9007199254740991', 9_007_199_254_740_991],
    ['-9007199254740991', -9_007_199_254_740_991],
    ['9007199254740992', 9_007_199_254_740_992n],
    ['9223372036854775807', 9_223_372_036_854_775_807n],
    ['-9223372036854775807', -9_223_372_036_854_775_807n],
  ])('keep the integer %s exact', (text, value) => {
    expect(read(`{"a":${text}}`).value).toEqual({ a: value });
  });

  it.each(['9223372036854775808', '-9223372036854775808', '1e300'])(
    'are refused with %s, which not every server represents',
    (text) => {
      expect(() => read(`{"a":${text}}`)).toThrow('too large to compare exactly');
    },
  );

  it.each([
    '100.000000000000000000001',
    '99.99999999999999999999',
    '1234567890.12345678901',
    '0.12345678901234567',
    '1e-400',
  ])('are refused with %s, which a double does not represent', (text) => {
    expect(() => read(`{"a":[${text}]}`)).toThrow('too many digits to compare exactly');
  });

  it.each(['1.00e2', '100.00000000000000000000', '-0.0', '0e99', '-1.5E-3', '0.1234567890123456', '5e-324'])(
    'have the number %s, which a double represents, in any form',
    (text) => {
      expect(read(`{"a":${text}}`).value).toEqual({ a: Number(text) });
    },
  );

  it('have the names of all members as parsers read them that ignore case, each as it is written', () => {
    expect([...read('{"ß":1,"A":[2,{"a":3}],"b":{"a":4}}').names]).toEqual([
      ['ss', new Set(['ß'])],
      ['a', new Set(['A', 'a'])],
      ['b', new Set(['b'])],
    ]);
  });
});
