/** The port by which refresh and revocation reach stored tokens of one kind: where their records are, and who issued them. */
import type { Scopes } from '@portcullis/protocol';
import type {
  ProviderTokensEndReason,
  ProviderTokensRecord,
  RefreshedTokens,
  UpstreamTokens,
} from '../store/index.ts';
import type { ProviderTokenResponse, ProviderTokenSet } from './provider/token-set.ts';

/** What an issuer does with its tokens. Methods throw `IdentityProviderError`. */
export interface TokenIssuer<TokenSet extends ProviderTokenSet> {
  /** @param scopes granted so far */
  refresh(tokens: TokenSet, scopes: Scopes): Promise<ProviderTokenResponse>;
  /** `unsupported`: it has no revocation endpoint. */
  revoke(tokens: TokenSet): Promise<'revoked' | 'unsupported'>;
}

/** Members by which events name the tokens of a grant. */
type AboutTokens = { readonly grantId: string; readonly accountId: string } & (
  | { readonly identityProvider: string }
  | { readonly backend: string }
);

export interface TokenRecords<TokensRecord extends UpstreamTokens, TokenSet extends ProviderTokenSet> {
  /** Identifies a record in caches. */
  keyOf(tokens: TokensRecord): string;
  /** The encryption context of its tokens. */
  encryptionContext(tokens: TokensRecord): string;
  about(tokens: TokensRecord): AboutTokens;
  /** `undefined`: no longer configured. */
  findIssuer(tokens: TokensRecord): TokenIssuer<TokenSet> | undefined;
  /** The record as it is now. */
  find(tokens: TokensRecord): Promise<TokensRecord | null>;
  lease(tokens: TokensRecord, holder: string, now: number, until: number): Promise<boolean>;
  saveRefreshed(tokens: TokensRecord, holder: string, refreshed: RefreshedTokens): Promise<boolean>;
  release(tokens: TokensRecord, holder: string, until: number | null): Promise<void>;
  end(tokens: TokensRecord, reason: ProviderTokensEndReason, at: number): Promise<boolean>;
  /** Whether revoking its tokens would end other grants, too. */
  isShared(tokens: TokensRecord): Promise<boolean>;
  endOfRevokedGrants(since: number, at: number): Promise<number>;
  claimRevocations(now: number, until: number, limit: number): Promise<readonly TokensRecord[]>;
  postponeRevocation(tokens: TokensRecord, until: number): Promise<void>;
  completeRevocation(tokens: TokensRecord): Promise<void>;
}

/** Provider tokens as refresh and revocation see them. */
export type ProviderTokenRecords = TokenRecords<ProviderTokensRecord, ProviderTokenSet>;
