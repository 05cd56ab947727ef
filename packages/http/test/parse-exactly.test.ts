import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMembers, parseExactly, parseMessage, readMessage, toDouble } from '../src/index.ts';

describe('parseExactly', () => {
  it.each([
    '[0,-1,12,123456789012345]',
    '[9007199254740993,-9007199254740993,12345678901234567890]',
    '[-0,1.0,1.50,-0.10]',
    '[1e2,1E2,1e+2,1e400,1e-400]',
    '{"a":{"b":[[-0]],"c":1.0}}',
    '{"text":"1.0 and 9007199254740993"}',
    '1.0',
    '[1.5,0.1234567890123456,1e30,2e30,1e+21,-1e30,1.0]',
    '{"__proto__":1.0,"1.0":{"__proto__":[2.0]}}',
    '["\\",1.0",",2.0\\\\",3.0]',
  ])('keeps the numbers of %s as they are written', (text) => {
    expect(JSON.stringify(parseExactly(text))).toBe(text);
  });

  it.each([
    '01.0',
    '[1.0',
    '[1.0.0]',
    '[1.0e]',
    '[1.0 2.0]',
    '[1.0-]',
    '{1.0:2}',
    '[1.0,"]',
    '[-01.0]',
    '[1.0,]',
  ])('rejects %s', (text) => {
    expect(() => parseExactly(text)).toThrow(SyntaxError);
  });

  it('parses values that are nested as deep as JSON.parse can', () => {
    const depth = 100_000;
    expect(parseExactly(`${'['.repeat(depth)}1.0${']'.repeat(depth)}`)).toHaveLength(1);
  });

  it('parses as JSON.parse, with numbers that JSON.stringify writes as they are', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (given) => {
        const text = JSON.stringify(given);
        expect(parseExactly(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('reads no number as an object', () => {
    expect(isMembers(parseExactly('1.0'))).toBe(false);
    expect(isMembers(parseExactly('{"rawJSON":"1.0"}'))).toBe(true);
  });

  it('writes what a number of any form was', () => {
    const number = fc
      .tuple(
        fc.constantFrom('', '-'),
        fc.oneof(fc.bigInt({ min: 0n, max: 9n }), fc.bigInt({ min: 0n, max: 10n ** 30n })),
        fc.constantFrom('', '.0', '.25', '.10', '.0000001', 'e7', 'E-3', '.5e+9'),
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(number, (text) => {
        const [value] = parseExactly(`[${text}]`) as readonly unknown[];
        expect(JSON.stringify(value)).toBe(text);
        expect(toDouble(value)).toBe(Number(text));
      }),
    );
  });
});

describe('readMessage', () => {
  const read = (id: string) => readMessage(parseExactly(`{"jsonrpc":"2.0","id":${id},"method":"a"}`))?.id;

  it.each([
    ['7', 7],
    ['7.0', 7],
    ['7e0', 7],
    ['1.5', 1.5],
    ['9007199254740992', 9_007_199_254_740_992],
    ['"7.0"', '7.0'],
    ['null', null],
  ])('reads the id %s', (written, id) => {
    expect(read(written)).toBe(id);
  });

  it.each(['9007199254740993', '1e400', '-12345678901234567890', '{}', 'true'])(
    'reads no message with the id %s, which a response could not repeat',
    (written) => {
      expect(read(written)).toBeUndefined();
    },
  );
});

describe('parseMessage', () => {
  const parse = (levels: number, data = '1') => {
    const arrays = levels - 1;
    const params = '['.repeat(arrays) + ']'.repeat(arrays);
    return parseMessage(`{"jsonrpc":"2.0","method":"a","data":${data},"params":${params}}`);
  };

  it('reads a message that nests 512 levels deep, and none deeper', () => {
    expect(parse(512)).toMatchObject({ method: 'a' });
    expect(parse(513)).toBeNull();
  });

  it('counts no brackets of texts, and none that are closed', () => {
    const texts = [`"${'[{\\"'.repeat(600)}"`, `[${'[{}],'.repeat(600)}1]`];
    for (const text of texts) expect(parse(2, text)).toMatchObject({ method: 'a' });
  });

  it('counts the brackets behind a text with escapes', () => {
    expect(parse(513, String.raw`"a\\\"\\"`)).toBeNull();
  });
});
