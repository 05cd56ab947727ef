/** Access tokens as signed JWTs: written on the hot path, and read back for revocation and introspection. */
import { ACCESS_TOKEN_TYPE, type AccessTokenClaims } from '@portcullis/protocol';
import { signEs256, verifyEs256 } from './es256.ts';
import { SIGNING_ALGORITHM, type SigningKey, type SigningKeys } from './signing-keys.ts';

/** Longer than any token that this server issues. */
const LONGEST_TOKEN = 16_384;

export interface AccessTokens {
  /** Signs with the newest key. */
  sign(claims: AccessTokenClaims): string;
  /** The claims of a token that one of these keys signed, whatever they say; `null` for any other text. */
  read(token: string): AccessTokenClaims | null;
}

export function createAccessTokens(keys: SigningKeys): AccessTokens {
  const [current] = keys;
  // The header is the same for every token of a key.
  const prefix = `${headerOf(current)}.`;
  const byHeader = new Map(keys.map((key) => [headerOf(key), key]));
  return {
    sign(claims) {
      const input = prefix + Buffer.from(JSON.stringify(claims)).toString('base64url');
      return `${input}.${signEs256(input, current.privateKey).toString('base64url')}`;
    },
    read(token) {
      if (token.length > LONGEST_TOKEN) return null;
      const [header = '', payload = '', signature = '', ...rest] = token.split('.');
      // Only headers that this server writes: no other algorithm, type or key can be talked into the check.
      const key = byHeader.get(header);
      if (key === undefined || rest.length > 0) return null;
      const isSigned = verifyEs256(
        `${header}.${payload}`,
        Buffer.from(signature, 'base64url'),
        key.publicKey,
      );
      return isSigned
        ? (JSON.parse(Buffer.from(payload, 'base64url').toString()) as AccessTokenClaims)
        : null;
    },
  };
}

/** MUST be of type `at+jwt`, and name an algorithm other than `none`. @see RFC 9068 §2.1 */
function headerOf(key: SigningKey): string {
  const header = { alg: SIGNING_ALGORITHM, typ: ACCESS_TOKEN_TYPE, kid: key.id };
  return Buffer.from(JSON.stringify(header)).toString('base64url');
}
