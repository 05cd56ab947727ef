/** Access tokens: signed JWTs, or opaque ones for resources that want them; written on the hot path, read back for revocation and introspection. */
import type { AccessTokenClaims } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { KeyRing } from './key-ring.ts';
import { createOpaqueTokens, looksOpaque } from './opaque-tokens.ts';
import { together } from './together.ts';

/** Longer than any token that this server issues. */
const LONGEST_TOKEN = 16_384;
/** Tokens whose signature is not verified again: guards ask about the same ones over and over. */
const MOST_REMEMBERED = 2000;

export interface AccessTokens {
  /** Signs with the key whose time it is. */
  sign(claims: AccessTokenClaims): Promise<string>;
  /** Makes a token that only this server can read. */
  seal(claims: AccessTokenClaims): string;
  /** The claims of a token that was sealed here or that one of the published keys signed, whatever they say; `null` for any other text. */
  read(token: string): AccessTokenClaims | null;
}

export function createAccessTokens(
  keys: KeyRing,
  configuration: Pick<Configuration, 'sealingKey' | 'previousSealingKeys'>,
): AccessTokens {
  const signed = createSignedTokens();
  const opaque = createOpaqueTokens(configuration);
  return {
    sign: together((claims: AccessTokenClaims) => {
      const { signing } = keys.now();
      const input = `${signing.header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
      return `${input}.${signing.sign(input).toString('base64url')}`;
    }),
    seal: opaque.seal,
    read(token) {
      if (token.length > LONGEST_TOKEN) return null;
      if (looksOpaque(token)) return opaque.open(token);
      const [header = '', payload = '', signature = '', ...rest] = token.split('.');
      // Only headers that this server writes: no other algorithm, type or key can be talked into the check.
      const key = keys.now().published.find((published) => published.header === header);
      if (key === undefined || rest.length > 0) return null;
      const isSigned =
        signed.has(token) || key.verify(`${header}.${payload}`, Buffer.from(signature, 'base64url'));
      if (!isSigned) return null;
      signed.add(token);
      return JSON.parse(Buffer.from(payload, 'base64url').toString()) as AccessTokenClaims;
    },
  };
}

/** Remembers tokens whose signature was found to be right; the oldest is forgotten for a new one. */
function createSignedTokens(): { has(token: string): boolean; add(token: string): void } {
  const tokens = new Set<string>();
  return {
    has: (token) => tokens.has(token),
    add(token) {
      if (tokens.size >= MOST_REMEMBERED && !tokens.has(token)) {
        const oldest = tokens.values().next().value ?? '';
        tokens.delete(oldest);
      }
      tokens.add(token);
    },
  };
}
