import { createPublicKey, verify } from 'node:crypto';
import { base64url, type CryptoKey, compactVerify, exportJWK, generateKeyPair } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { createEs256, derSignature } from '../src/tokens/es256.ts';

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(' ', ''), 'hex'));
const ORDER = 'FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551';

describe('ES256 against published vectors', () => {
  it('verifies the example of RFC 7515 A.3', () => {
    const verifies = createEs256({
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    });
    const input =
      'eyJhbGciOiJFUzI1NiJ9' +
      '.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ';
    const signature =
      'DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q';
    expect(verifies?.(input, signature)).toBe(true);
    expect(verifies?.(`${input}A`, signature)).toBe(false);
  });

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
  ])('verifies RFC 6979 A.2.5, message "%s"', (message, r, s) => {
    const verifies = createEs256({
      x: base64url.encode(hex('60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6')),
      y: base64url.encode(hex('7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299')),
    });
    expect(verifies?.(message, base64url.encode(hex(r + s)))).toBe(true);
    expect(verifies?.(message, base64url.encode(hex(s + r)))).toBe(false);
  });
});

describe('signatures from JOSE to DER', () => {
  const zeros = (count: number): string => '00'.repeat(count);

  it.each([
    ['small numbers', `${zeros(31)}01${zeros(31)}02`, '30 06 02 01 01 02 01 02'],
    ['high bits get a zero in front', `${zeros(31)}80${zeros(31)}ff`, '30 08 02 02 00 80 02 02 00 ff'],
    ['7f gets none', `${zeros(31)}7f${zeros(31)}7f`, '30 06 02 01 7f 02 01 7f'],
    ['zeros inside stay', `${zeros(30)}0100${zeros(30)}7f00`, '30 08 02 02 01 00 02 02 7f 00'],
    [
      'a byte 00 before a high bit',
      `00ff${zeros(30)}0080${zeros(30)}`,
      `30 44 02 20 00 ff${zeros(30)} 02 20 00 80 ${zeros(30)}`,
    ],
    ['the longest', 'ff'.repeat(64), `30 46 02 21 00 ${'ff'.repeat(32)} 02 21 00 ${'ff'.repeat(32)}`],
  ])('%s', (_, jose, der) => {
    expect(Buffer.from(derSignature(hex(jose)) ?? []).toString('hex')).toBe(der.replaceAll(' ', ''));
  });

  it.each([
    ['nothing', ''],
    ['63 bytes', '01'.repeat(63)],
    ['65 bytes', '01'.repeat(65)],
    ['96 bytes, as of P-384', '01'.repeat(96)],
    ['R of zero', zeros(32) + '01'.repeat(32)],
    ['S of zero', '01'.repeat(32) + zeros(32)],
    ['both of zero', zeros(64)],
  ])('are none: %s', (_, jose) => {
    expect(derSignature(hex(jose))).toBeNull();
  });
});

describe('ES256 against jose and node:crypto', () => {
  let privateKey: CryptoKey;
  let publicKey: CryptoKey;
  let verifies: (input: string, signature: string) => boolean;
  let keyObject: ReturnType<typeof createPublicKey>;
  const header = base64url.encode('{"alg":"ES256"}');

  beforeAll(async () => {
    const pair = await generateKeyPair('ES256', { extractable: true });
    privateKey = pair.privateKey;
    publicKey = pair.publicKey;
    const { x = '', y = '', kty = '', crv = '' } = await exportJWK(publicKey);
    const own = createEs256({ x, y });
    if (own === null) throw new Error('no node:crypto');
    verifies = own;
    keyObject = createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' });
  });

  const sign = async (input: string): Promise<Uint8Array> => {
    const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
    return new Uint8Array(await crypto.subtle.sign(algorithm, privateKey, new TextEncoder().encode(input)));
  };

  /** What both others say; they must agree with each other first. */
  async function others(input: string, signature: Uint8Array): Promise<boolean> {
    const byJose = await compactVerify(`${input}.${base64url.encode(signature)}`, publicKey).then(
      () => true,
      () => false,
    );
    const byNode = verify(
      'sha256',
      Buffer.from(input),
      { key: keyObject, dsaEncoding: 'ieee-p1363' },
      signature,
    );
    expect(byNode).toBe(byJose);
    return byJose;
  }

  it('agrees on 2,000 signatures and on each with one bit turned, leading zeros among them', async () => {
    let shortHalves = 0;
    for (let round = 0; round < 2000; round += 1) {
      const input = `${header}.${base64url.encode(`message ${round}`)}`;
      const signature = await sign(input);
      if (signature[0] === 0 || signature[32] === 0) shortHalves += 1;
      expect(verifies(input, base64url.encode(signature))).toBe(true);
      const bit = (round * 7) % 512;
      const turned = Uint8Array.from(signature);
      turned[bit >> 3] = (turned[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(verifies(input, base64url.encode(turned))).toBe(false);
      if (round % 20 === 0 || signature[0] === 0 || signature[32] === 0) {
        expect(await others(input, signature)).toBe(true);
        expect(await others(input, turned)).toBe(false);
      }
    }
    expect(shortHalves).toBeGreaterThan(0);
  });

  it.each([
    ['R is the order', `${ORDER}${'01'.repeat(32)}`],
    ['S is the order', `${'01'.repeat(32)}${ORDER}`],
    ['both are the order', ORDER + ORDER],
    ['both are greatest', 'ff'.repeat(64)],
    ['both are one', `${'00'.repeat(31)}01${'00'.repeat(31)}01`],
    ['R is one below the order', `${ORDER.slice(0, -1)}0${'01'.repeat(32)}`],
    ['both are zero', '00'.repeat(64)],
  ])('agrees that it is wrong: %s', async (_, signature) => {
    const input = `${header}.${base64url.encode('message')}`;
    expect(verifies(input, base64url.encode(hex(signature)))).toBe(false);
    expect(await others(input, hex(signature))).toBe(false);
  });

  it('refuses any other writing of a good signature', async () => {
    const input = `${header}.e30`;
    const raw = await sign(input);
    const good = base64url.encode(raw);
    const der = base64url.encode(derSignature(raw) ?? new Uint8Array());
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const unused = good.slice(0, -1) + alphabet[alphabet.indexOf(good.at(-1) ?? '') + 1];
    for (const other of [der, `${good}==`, `${good}A`, good.slice(0, -1), ` ${good}`, unused, '']) {
      expect(verifies(input, other)).toBe(false);
    }
    expect(verifies(input, good)).toBe(true);
  });

  it('makes no key of a point that is not on the curve', () => {
    const x = base64url.encode(new Uint8Array(32).fill(1));
    expect(() => createEs256({ x, y: x })).toThrow();
  });
});
