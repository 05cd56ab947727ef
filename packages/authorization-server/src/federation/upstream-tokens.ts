/** Tokens as they are first stored, for a grant or for their revocation only. */
import type { ServerContext } from '../context.ts';
import type { UpstreamTokens } from '../store/index.ts';
import { type ProviderTokenResponse, providerTokenTimes } from './provider/token-set.ts';
import type { TokenVault } from './token-vault.ts';

/** Seconds after the last moment to redeem its code when tokens without a grant are given up. */
const ORPHANED_AFTER = 120;

/** Tokens that are alive, encrypted, and given up unless their grant follows. */
export async function encryptUpstreamTokens(
  { clock, options: { lifetimes } }: Pick<ServerContext, 'clock' | 'options'>,
  vault: TokenVault,
  owner: Pick<UpstreamTokens, 'grantId' | 'accountId'>,
  response: ProviderTokenResponse,
  encryptionContext: string,
): Promise<UpstreamTokens> {
  const { ciphertext, dataKeyId } = await vault.encrypt(response.tokens, encryptionContext);
  const now = clock();
  return {
    ...owner,
    encryptedTokens: ciphertext,
    dataKeyId,
    scopes: response.scopes,
    ...providerTokenTimes(response, now),
    checkedAt: now,
    version: 1,
    leaseHolder: null,
    leaseUntil: null,
    createdAt: now,
    endedAt: null,
    endReason: null,
    dueAt: now + lifetimes.transaction + lifetimes.code + ORPHANED_AFTER,
    revocationAttempts: 0,
  };
}

/** The record of tokens that no grant will use: revoked at once. @param now epoch seconds */
export function discardedTokens<T extends UpstreamTokens>(tokens: T, now: number): T {
  return { ...tokens, endedAt: now, endReason: 'grant_expired', dueAt: now };
}
