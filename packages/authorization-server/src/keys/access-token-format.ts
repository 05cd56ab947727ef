/** Access tokens: signed JWTs, or opaque ones for resources that want them; written on the hot path, read back for revocation and introspection. */
import { type AccessTokenClaims, createBatch } from '@portcullis/protocol';
import { createLruCache } from '../lru-cache.ts';
import type { ServerOptions } from '../options.ts';
import type { KeyRing } from './key-ring.ts';
import { createOpaqueTokens, isOpaqueToken } from './opaque-tokens.ts';

/** Longer than any token that this server issues. */
const LONGEST_TOKEN = 16_384;
/** Tokens whose signature is not verified again, at least: guards ask about the same ones over and over. */
const REMEMBERED = 2000;

export interface AccessTokenFormat {
  /** Signs with the key whose time it is. */
  sign(claims: AccessTokenClaims): Promise<string>;
  /** Makes a token that only this server can read. */
  encrypt(claims: AccessTokenClaims): string;
  /** The claims of a token that was sealed here or that one of the published keys signed, whatever they say; `null` for any other text. */
  read(token: string): AccessTokenClaims | null;
}

export function createAccessTokenFormat(
  keys: KeyRing,
  configuration: Pick<ServerOptions, 'masterKey' | 'previousMasterKeys'>,
): AccessTokenFormat {
  const signed = createLruCache<true>(REMEMBERED);
  const opaque = createOpaqueTokens(configuration);
  const runBatched = createBatch(setImmediate);
  return {
    sign: (claims) =>
      runBatched(() => {
        const { signing } = keys.now();
        const input = `${signing.header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
        return `${input}.${signing.sign(input).toString('base64url')}`;
      }),
    encrypt: opaque.encrypt,
    read(token) {
      if (token.length > LONGEST_TOKEN) return null;
      if (isOpaqueToken(token)) return opaque.decrypt(token);
      const [header = '', payload = '', signature = '', ...rest] = token.split('.');
      // Only headers that this server writes: no other algorithm, type or key can be talked into the check.
      const key = keys.now().published.find((published) => published.header === header);
      if (key === undefined || rest.length > 0) return null;
      const isSigned =
        signed.get(token) === true || key.verify(`${header}.${payload}`, Buffer.from(signature, 'base64url'));
      if (!isSigned) return null;
      signed.set(token, true);
      return JSON.parse(Buffer.from(payload, 'base64url').toString()) as AccessTokenClaims;
    },
  };
}
