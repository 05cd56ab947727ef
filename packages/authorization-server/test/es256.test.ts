/** ES256 by our own conversion: proven by published vectors, by the corners of DER, and by a second implementation. */
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { accessTokenClaims } from '@portcullis/protocol';
import { importJWK, type JWK, jwtVerify, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { createAccessTokens } from '../src/keys/access-tokens.ts';
import { derToJose, joseToDer, signEs256, verifyEs256 } from '../src/keys/es256.ts';
import { scheduleOf } from '../src/keys/schedule.ts';
import { createSealer } from '../src/keys/sealing.ts';
import { makeKey, openKey } from '../src/keys/signing-keys.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
const point = (x: string, y: string) =>
  createPublicKey({
    format: 'jwk',
    key: { kty: 'EC', crv: 'P-256', x: hex(x).toString('base64url'), y: hex(y).toString('base64url') },
  });

describe('published signatures', () => {
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
  ])('of RFC 6979 for "%s" verify, and nothing near them', (message, r, s) => {
    const signature = hex(r + s);
    expect(verifyEs256(message, signature, key)).toBe(true);
    expect(derToJose(joseToDer(signature))).toEqual(signature);
    expect(verifyEs256(`${message} `, signature, key)).toBe(false);
    expect(verifyEs256(message, hex(s + r), key)).toBe(false);
  });

  it('of RFC 7515 appendix A.3 verifies', () => {
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
    expect(verifyEs256(jws.slice(0, at), signature, createPublicKey({ format: 'jwk', key: jwk }))).toBe(true);
  });
});

describe('the corners of DER', () => {
  const n = (start: string, fill = '11') => start + fill.repeat(32 - start.length / 2);

  it.each([
    ['plain numbers', n('7f'), n('01')],
    ['high bits', n('ff'), n('80')],
    ['one leading zero', n('00'), n('0001')],
    ['a leading zero before a high bit', n('0080'), n('00ff')],
    ['thirty-one leading zeros', n('', '00').replace(/..$/, '01'), n('', '00').replace(/..$/, '80')],
    ['zero itself', n('', '00'), n('7f')],
  ])('survive the way there and back: %s', (_what, r, s) => {
    const jose = hex(r + s);
    const der = joseToDer(jose);
    expect(derToJose(der)).toEqual(jose);
    expect(der.length).toBe(2 + (der[1] ?? 0));
  });

  it('writes the shortest numbers', () => {
    const jose = Buffer.alloc(64);
    jose[31] = 0x01;
    jose[63] = 0x80;
    expect(joseToDer(jose)).toEqual(hex('3007 020101 02020080'));
  });

  it.each([
    ['nothing', ''],
    ['no sequence', '3107020101020101'],
    ['a sequence of another length', '3007020101020101'],
    ['something behind', '3006020101020101ff'],
    ['something inside behind', '3007020101020101ff'],
    ['no integer', '3006030101020101'],
    ['an empty integer', '300502000201 01'],
    ['an integer that ends outside', '3006020101022101'],
    ['one number only', '3003020101'],
    ['33 bytes', `3026 0221 01${'11'.repeat(32)} 020101`],
    ['33 bytes behind a zero', `3027 0222 0001${'11'.repeat(32)} 020101`],
  ])('refuses %s', (_what, der) => {
    expect(() => derToJose(hex(der))).toThrow(RangeError);
  });

  it.each([0, 63, 65, 128])('verifies no signature of %i bytes', (length) => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    expect(verifyEs256('input', Buffer.alloc(length, 1), publicKey)).toBe(false);
  });

  it('verifies no signature of zeros', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    expect(verifyEs256('input', Buffer.alloc(64), publicKey)).toBe(false);
  });
});

describe('a second implementation', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  it('agrees on 2,000 signatures, among them numbers with leading zeros', () => {
    let short = 0;
    for (let count = 0; count < 2000; count++) {
      const input = `input ${count}`;
      const ours = signEs256(input, privateKey);
      if (ours[0] === 0 || ours[32] === 0) short++;
      expect(verify('sha256', Buffer.from(input), { key: publicKey, dsaEncoding: 'ieee-p1363' }, ours)).toBe(
        true,
      );
      const theirs = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' });
      expect(verifyEs256(input, theirs, publicKey)).toBe(true);
    }
    expect(short).toBeGreaterThan(0);
  });

  it('reads 2,000 tokens, and writes tokens that are not ours', async () => {
    const sealer = createSealer(new Uint8Array(32));
    const record = await makeKey('ES256', sealer, 0, 0);
    const signing = openKey(record, sealer);
    const schedule = scheduleOf([signing], 0, 600);
    const tokens = createAccessTokens(
      { now: () => schedule, refresh: async () => {} },
      { sealingKey: new Uint8Array(32), previousSealingKeys: [] },
    );
    const key = await importJWK(signing.publicJwk as JWK, 'ES256');
    for (let count = 0; count < 2000; count++) {
      const claims = accessTokenClaims({
        issuer: 'https://as.example',
        subject: 'user_ä€😀',
        clientId: 'c',
        resource: 'https://mcp.example',
        scopes: ['a'],
        tokenId: String(count),
        grantId: null,
        issuedAt: 1_800_000_000,
        lifetime: 600,
      });
      const token = await tokens.sign(claims);
      const read = await jwtVerify(token, key, { typ: 'at+jwt', currentDate: new Date(1_800_000_100_000) });
      expect(read.payload).toEqual(claims);
      expect(tokens.read(token)).toEqual(claims);
      // What was found to be signed is remembered: only the whole token, to the letter.
      expect(tokens.read(token)).toEqual(claims);
      expect(tokens.read(tampered(token))).toBeNull();
    }
    const foreign = await new SignJWT({ jti: 'x' })
      .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid: record.id })
      .sign(privateKey);
    expect(tokens.read(foreign)).toBeNull();
  });
});

/** Another payload under the same header and signature. */
function tampered(token: string): string {
  const [header, payload = '', signature] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return `${header}.${Buffer.from(JSON.stringify({ ...claims, sub: 'user_other' })).toString('base64url')}.${signature}`;
}
