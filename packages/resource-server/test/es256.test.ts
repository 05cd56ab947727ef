import { createPublicKey, KeyObject, sign as signDer, verify } from 'node:crypto';
import { base64url, type CryptoKey, compactVerify, exportJWK, generateKeyPair } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { createEs256Verifier } from '../src/verifiers/es256.ts';

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(' ', ''), 'hex'));
const ORDER = 'FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551';

describe('ES256 against published vectors', () => {
  it('verifies the example of RFC 7515 A.3', () => {
    const verifies = createEs256Verifier({
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
    const own = createEs256Verifier({ x, y });
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
  ])('rejects the same signatures: %s', async (_, signature) => {
    const input = `${header}.${base64url.encode('message')}`;
    expect(verifies(input, base64url.encode(hex(signature)))).toBe(false);
    expect(await others(input, hex(signature))).toBe(false);
  });

  it('rejects any other encoding of a valid signature', async () => {
    const input = `${header}.e30`;
    const raw = await sign(input);
    const good = base64url.encode(raw);
    const der = base64url.encode(signDer('sha256', Buffer.from(input), KeyObject.from(privateKey)));
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const unused = good.slice(0, -1) + alphabet[alphabet.indexOf(good.at(-1) ?? '') + 1];
    for (const other of [der, `${good}==`, `${good}A`, good.slice(0, -1), ` ${good}`, unused, '']) {
      expect(verifies(input, other)).toBe(false);
    }
    expect(verifies(input, good)).toBe(true);
  });

  it('rejects a point that is not on the curve', () => {
    const x = base64url.encode(new Uint8Array(32).fill(1));
    expect(() => createEs256Verifier({ x, y: x })).toThrow();
  });
});
