/** ES256: published test vectors, the edge cases of DER, and agreement with a second implementation. */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createEs256, derToJose, joseToDer } from '../src/es256.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
const zeros = (count: number) => '00'.repeat(count);
const es256 = createEs256<KeyObject>({ sign, verify });
const toDer = (jose: Uint8Array) => joseToDer(jose) ?? Buffer.alloc(0);
const point = (x: string, y: string) =>
  createPublicKey({
    format: 'jwk',
    key: { kty: 'EC', crv: 'P-256', x: hex(x).toString('base64url'), y: hex(y).toString('base64url') },
  });

describe('published ES256 signatures', () => {
  // RFC 6979 appendix A.2.5: curve P-256, SHA-256
  const key = point(
    '60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6',
    '7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299',
  );

  it.each([
    [
      'sample',
      'EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716',
      'F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8',
    ],
    [
      'test',
      'F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367',
      '019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083',
    ],
  ])('verifies the ES256 signature of RFC 6979 over "%s" and nothing close to it', (message, r, s) => {
    const signature = hex(r + s);
    expect(es256.verify(Buffer.from(message), signature, key)).toBe(true);
    expect(Buffer.from(derToJose(toDer(signature)))).toEqual(signature);
    expect(es256.verify(Buffer.from(`${message} `), signature, key)).toBe(false);
    expect(es256.verify(Buffer.from(message), hex(s + r), key)).toBe(false);
  });

  it('verifies the ES256 example of RFC 7515 appendix A.3', () => {
    const jws =
      'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.' +
      'DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q';
    const jwk = {
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    };
    const at = jws.lastIndexOf('.');
    const signature = Buffer.from(jws.slice(at + 1), 'base64url');
    expect(
      es256.verify(Buffer.from(jws.slice(0, at)), signature, createPublicKey({ format: 'jwk', key: jwk })),
    ).toBe(true);
  });
});

describe('DER conversion', () => {
  const n = (start: string, fill = '11') => start + fill.repeat(32 - start.length / 2);

  it.each([
    ['plain numbers', n('7f'), n('01')],
    ['high bits', n('ff'), n('80')],
    ['one leading zero', n('00'), n('0001')],
    ['a leading zero before a high bit', n('0080'), n('00ff')],
    ['thirty-one leading zeros', n('', '00').replace(/..$/, '01'), n('', '00').replace(/..$/, '80')],
  ])('converts a signature to DER and back: %s', (_what, r, s) => {
    const jose = hex(r + s);
    const der = toDer(jose);
    expect(Buffer.from(derToJose(der))).toEqual(jose);
    expect(der.length).toBe(2 + (der[1] ?? 0));
  });

  it.each([
    ['small numbers', `${zeros(31)}01${zeros(31)}02`, '30 06 02 01 01 02 01 02'],
    ['a zero in front of high bits', `${zeros(31)}80${zeros(31)}ff`, '30 08 02 02 00 80 02 02 00 ff'],
    ['nothing in front of 7f', `${zeros(31)}7f${zeros(31)}7f`, '30 06 02 01 7f 02 01 7f'],
    ['zeros inside a number', `${zeros(30)}0100${zeros(30)}7f00`, '30 08 02 02 01 00 02 02 7f 00'],
    [
      'a byte 00 before a high bit',
      `00ff${zeros(30)}0080${zeros(30)}`,
      `30 44 02 20 00 ff${zeros(30)} 02 20 00 80 ${zeros(30)}`,
    ],
    ['the longest numbers', 'ff'.repeat(64), `30 46 02 21 00 ${'ff'.repeat(32)} 02 21 00 ${'ff'.repeat(32)}`],
  ])('encodes a signature with %s in the shortest DER', (_, jose, der) => {
    expect(Buffer.from(toDer(hex(jose))).toString('hex')).toBe(der.replaceAll(' ', ''));
  });

  it.each([
    ['no bytes', ''],
    ['63 bytes', '01'.repeat(63)],
    ['65 bytes', '01'.repeat(65)],
    ['96 bytes, as of P-384', '01'.repeat(96)],
    ['R of zero', zeros(32) + '01'.repeat(32)],
    ['S of zero', '01'.repeat(32) + zeros(32)],
    ['both of zero', zeros(64)],
  ])('refuses to encode a signature of %s as DER', (_, jose) => {
    expect(joseToDer(hex(jose))).toBeNull();
  });

  it.each([
    ['no bytes', ''],
    ['no sequence', '3107020101020101'],
    ['a sequence of another length', '3007020101020101'],
    ['trailing bytes', '3006020101020101ff'],
    ['trailing bytes inside the sequence', '3007020101020101ff'],
    ['no integer', '3006030101020101'],
    ['an empty integer', '300502000201 01'],
    ['an integer that ends outside the sequence', '3006020101022101'],
    ['one number only', '3003020101'],
    ['33 bytes', `3026 0221 01${'11'.repeat(32)} 020101`],
    ['33 bytes after a zero', `3027 0222 0001${'11'.repeat(32)} 020101`],
  ])('rejects a DER signature with %s', (_what, der) => {
    expect(() => derToJose(hex(der))).toThrow(RangeError);
  });

  it.each([0, 63, 65, 128])('rejects an ES256 signature of %i bytes', (length) => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    expect(es256.verify(Buffer.from('input'), Buffer.alloc(length, 1), publicKey)).toBe(false);
  });

  it('rejects an ES256 signature of zeros', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    expect(es256.verify(Buffer.from('input'), Buffer.alloc(64), publicKey)).toBe(false);
  });
});

describe('node:crypto with ieee-p1363', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  it('agrees with node:crypto on 2,000 ES256 signatures, among them numbers with leading zeros', () => {
    let short = 0;
    for (let count = 0; count < 2000; count++) {
      const input = Buffer.from(`input ${count}`);
      const ours = es256.sign(input, privateKey);
      if (ours[0] === 0 || ours[32] === 0) short++;
      expect(verify('sha256', input, { key: publicKey, dsaEncoding: 'ieee-p1363' }, ours)).toBe(true);
      const theirs = sign('sha256', input, { key: privateKey, dsaEncoding: 'ieee-p1363' });
      expect(es256.verify(input, theirs, publicKey)).toBe(true);
    }
    expect(short).toBeGreaterThan(0);
  });
});
