/** Checks at the identity provider whether its token is alive, with backoff after failures. */
import { temporarilyUnavailable } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import type { ProviderClient } from './provider/client.ts';
import { toIdentityProviderError } from './provider/error.ts';
import { type ProviderTokenSet, providerTokensContext } from './provider/token-set.ts';
import { createBackoff } from './refresh.ts';
import type { TokenVault } from './token-vault.ts';

/** Seconds before the next check at an unavailable provider. */
export const RECHECK_AFTER = 5;

/** @throws OAuthError `temporarily_unavailable` if the provider is unavailable, or recently was */
type CheckTokenStatus = (
  record: ProviderTokensRecord,
  issuer: { readonly id: string; readonly client: Pick<ProviderClient, 'checkStatus'> },
) => ReturnType<ProviderClient['checkStatus']>;

export function createCheckTokenStatus(
  { clock, events }: ServerContext,
  vault: TokenVault,
): CheckTokenStatus {
  const backoff = createBackoff(clock);
  return async ({ grantId, accountId, subject, encryptedTokens }, { id, client }) => {
    const waiting = backoff.remaining(grantId);
    if (waiting !== null) throw temporarilyUnavailable(`${id}: ${waiting.reason}`, waiting.retryAfter);
    if (encryptedTokens === null) return 'dead';
    const tokens = await vault.decrypt<ProviderTokenSet>(encryptedTokens, providerTokensContext(grantId));
    try {
      return await client.checkStatus(tokens, subject);
    } catch (cause) {
      const error = toIdentityProviderError(cause);
      const retryAfter = error.retryAfter ?? RECHECK_AFTER;
      const reason = `status: ${error.message}`;
      backoff.start(grantId, { retryAfter, reason });
      events({ type: 'identity_provider.failed', identityProvider: id, grantId, accountId, reason });
      throw temporarilyUnavailable(`${id}: ${reason}`, retryAfter);
    }
  };
}
