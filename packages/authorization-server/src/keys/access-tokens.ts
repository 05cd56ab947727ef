/** Access tokens as signed JWTs: written on the hot path, and read back for revocation and introspection. */
import type { AccessTokenClaims } from '@portcullis/protocol';
import type { KeyRing } from './key-ring.ts';

/** Longer than any token that this server issues. */
const LONGEST_TOKEN = 16_384;

export interface AccessTokens {
  /** Signs with the key whose time it is. */
  sign(claims: AccessTokenClaims): string;
  /** The claims of a token that one of the published keys signed, whatever they say; `null` for any other text. */
  read(token: string): AccessTokenClaims | null;
}

export function createAccessTokens(keys: KeyRing): AccessTokens {
  return {
    sign(claims) {
      const { signing } = keys.now();
      const input = `${signing.header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
      return `${input}.${signing.sign(input).toString('base64url')}`;
    },
    read(token) {
      if (token.length > LONGEST_TOKEN) return null;
      const [header = '', payload = '', signature = '', ...rest] = token.split('.');
      // Only headers that this server writes: no other algorithm, type or key can be talked into the check.
      const key = keys.now().published.find((published) => published.header === header);
      if (key === undefined || rest.length > 0) return null;
      return key.verify(`${header}.${payload}`, Buffer.from(signature, 'base64url'))
        ? (JSON.parse(Buffer.from(payload, 'base64url').toString()) as AccessTokenClaims)
        : null;
    },
  };
}
