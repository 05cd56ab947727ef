/** Access tokens for measurements, signed with a temporary key. */
import { createPrivateKey, generateKeyPairSync, randomUUID, sign } from 'node:crypto';

export const ISSUER = 'https://as.example';
export const RESOURCE = 'https://api.example/mcp';

export interface TokenStock {
  /** The key set, as JSON. */
  readonly keys: string;
  readonly tokens: readonly string[];
}

/** Issues distinct tokens of about 680 characters, a typical size. */
export function makeTokens(count: number): TokenStock {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'ES256', use: 'sig' };
  // The object form of the key would cost more than the signature.
  const key = createPrivateKey(privateKey.export({ format: 'pem', type: 'pkcs8' }));
  const header = encode({ alg: 'ES256', typ: 'at+jwt', kid: jwk.kid });
  const now = Math.floor(Date.now() / 1000);
  const tokens = Array.from({ length: count }, () => {
    const claims = {
      iss: ISSUER,
      sub: randomUUID(),
      aud: RESOURCE,
      client_id: randomUUID(),
      scope: 'notes:read notes:write',
      iat: now,
      exp: now + 7 * 86_400,
      jti: randomUUID(),
      grant_id: randomUUID(),
      auth_time: now,
      roles: ['member'],
    };
    const input = `${header}.${encode(claims)}`;
    return `${input}.${jose(sign('sha256', Buffer.from(input), key)).toString('base64url')}`;
  });
  return { keys: JSON.stringify({ keys: [jwk] }), tokens };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** R and S of a DER signature, 32 bytes each. */
function jose(der: Buffer): Buffer {
  const length = der[3] ?? 0;
  const numbers = [der.subarray(4, 4 + length), der.subarray(6 + length)];
  return Buffer.concat(numbers.map((number) => Buffer.concat([Buffer.alloc(32), number]).subarray(-32)));
}
