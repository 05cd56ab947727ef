/** Access token formats: signs JWTs or encrypts opaque tokens, and reads both back for revocation and introspection. */
import { type AccessTokenClaims, createBatch, createLruCache } from '@portcullis/protocol';
import type { EncryptionOptions } from '../encryption/options.ts';
import type { KeyRing } from './key-ring.ts';
import { createOpaqueTokens, isOpaqueToken } from './opaque-tokens.ts';
import { signJwt } from './signing-key.ts';

/** Longer than any token that this server issues. */
const MAX_TOKEN_LENGTH = 16_384;
/** Tokens that are cached once their signature is verified: resource servers introspect the same ones over and over. */
const CACHED_TOKENS = { entries: 2000, characters: 2_000_000 };

/** A token whose signature is verified. */
interface VerifiedToken {
  /** Names the key. */
  readonly header: string;
  /** Frozen, because they are shared. */
  readonly claims: AccessTokenClaims;
}

export type AccessTokenFormat = ReturnType<typeof createAccessTokenFormat>;

export function createAccessTokenFormat(keys: Pick<KeyRing, 'now'>, options: EncryptionOptions) {
  const verified = createLruCache<VerifiedToken>(CACHED_TOKENS);
  const opaque = createOpaqueTokens(options);
  const runBatched = createBatch(setImmediate);
  // Only headers that this server writes are accepted, so no other algorithm, type or key can be chosen by the token.
  const findKey = (header: string) => keys.now().published.find((published) => published.header === header);

  function verify(token: string): VerifiedToken | null {
    const [header = '', payload = '', signature = '', ...rest] = token.split('.');
    const key = findKey(header);
    if (key === undefined || rest.length > 0) return null;
    const bytes = Buffer.from(signature, 'base64url');
    // Each token has one spelling only: the decoder ignores padding, blanks and the last bits.
    const isSigned = bytes.toString('base64url') === signature && key.verify(`${header}.${payload}`, bytes);
    if (!isSigned) return null;
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString(), freeze) as AccessTokenClaims;
    const found = { header, claims };
    verified.set(token, found);
    return found;
  }

  return {
    /** Signs a JWT with the current key. */
    sign: (claims: AccessTokenClaims): Promise<string> =>
      runBatched(() => {
        const { signing } = keys.now();
        const input = `${signing.header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
        return `${input}.${signing.sign(input).toString('base64url')}`;
      }),
    /** Signs another kind of JWT with the current key. */
    signAs: (type: string, claims: object): string => signJwt(keys.now().signing, type, claims),
    /** Encrypts an opaque token that only this server can read. */
    encrypt: opaque.encrypt,
    /** The claims of a token that this server encrypted or signed with a published key, valid or expired; `null` for any other text. */
    read(token: string): AccessTokenClaims | null {
      if (token.length > MAX_TOKEN_LENGTH) return null;
      if (isOpaqueToken(token)) return opaque.decrypt(token);
      const known = verified.get(token);
      // Its key may have been removed since.
      if (known !== undefined) return findKey(known.header) === undefined ? null : known.claims;
      return verify(token)?.claims ?? null;
    },
  };
}

function freeze(_name: string, value: unknown): unknown {
  return Object.freeze(value);
}
