/** The record of provider tokens as they are first stored, for a grant or for their revocation only. */
import type { ServerContext } from '../context.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import {
  type ProviderTokenResponse,
  providerTokensContext,
  providerTokenTimes,
} from './provider/token-set.ts';
import type { TokenVault } from './token-vault.ts';

/** Whose tokens they are, and who issued them. */
type TokenFacts = Pick<
  ProviderTokensRecord,
  'grantId' | 'backendGrantId' | 'accountId' | 'identityProvider' | 'issuer' | 'subject' | 'name'
>;

/** Seconds after the last moment to redeem its code when tokens without a grant are given up. */
const ORPHANED_AFTER = 120;

/** Tokens that are alive, encrypted, and given up unless their grant follows. */
export async function createProviderTokensRecord(
  { clock, options: { lifetimes } }: Pick<ServerContext, 'clock' | 'options'>,
  vault: TokenVault,
  facts: TokenFacts,
  response: ProviderTokenResponse,
): Promise<ProviderTokensRecord> {
  const context = providerTokensContext(facts.grantId);
  const { ciphertext, dataKeyId } = await vault.encrypt(response.tokens, context);
  const now = clock();
  return {
    ...facts,
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
export function discardedRecord(record: ProviderTokensRecord, now: number): ProviderTokensRecord {
  return { ...record, endedAt: now, endReason: 'grant_expired', dueAt: now };
}
