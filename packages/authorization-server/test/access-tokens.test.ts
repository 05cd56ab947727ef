/** JWT access tokens: another implementation verifies them, and this server accepts only its own. */
import { generateKeyPairSync } from 'node:crypto';
import { accessTokenClaims } from '@portcullis/protocol';
import { importJWK, type JWK, jwtVerify, SignJWT } from 'jose';
import { expect, it } from 'vitest';
import { createEncryptor } from '../src/encryption/encryptor.ts';
import { createAccessTokenFormat } from '../src/keys/access-token-format.ts';
import { rotationSchedule } from '../src/keys/rotation-schedule.ts';
import { decryptSigningKey, generateSigningKey } from '../src/keys/signing-key.ts';

it('signs 2,000 access tokens that jose verifies, and reads no token that was altered or signed with another key', async () => {
  const encryptor = createEncryptor(new Uint8Array(32));
  const record = await generateSigningKey('ES256', encryptor, [], 0, 0);
  const signing = decryptSigningKey(record, encryptor);
  const schedule = rotationSchedule([signing], 0, 600);
  const tokens = createAccessTokenFormat(
    { now: () => schedule },
    { masterKey: new Uint8Array(32), previousMasterKeys: [] },
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
    // The cache of verified signatures is keyed by the exact token.
    expect(tokens.read(token)).toEqual(claims);
    expect(tokens.read(tampered(token))).toBeNull();
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const foreign = await new SignJWT({ jti: 'x' })
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid: record.id })
    .sign(privateKey);
  expect(tokens.read(foreign)).toBeNull();
});

/** The token with another payload under the same header and signature. */
function tampered(token: string): string {
  const [header, payload = '', signature] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return `${header}.${Buffer.from(JSON.stringify({ ...claims, sub: 'user_other' })).toString('base64url')}.${signature}`;
}
