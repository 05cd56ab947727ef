/** Asking a third party whether its token is alive; one that could not say is left alone for a while. */

import { temporarilyUnavailable } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import { createBackoff } from './backoff.ts';
import type { IdentityProvider } from './identity-provider.ts';
import type { ProviderClient } from './provider-client.ts';
import { toIdentityProviderError } from './provider-error.ts';
import { type ProviderTokenSet, providerTokensContext } from './token-set.ts';
import type { TokenVault } from './token-vault.ts';

/** Seconds to wait for a third party that could not say whether its token is alive. */
export const RECHECK_AFTER = 5;

/** @throws OAuthError `temporarily_unavailable` when the third party cannot say, now or a moment ago */
export type CheckTokenStatus = (
  bond: ProviderTokensRecord,
  identityProvider: IdentityProvider,
) => ReturnType<ProviderClient['checkStatus']>;

export function createCheckTokenStatus(
  { clock, events }: ServerContext,
  vault: TokenVault,
  wireOf: (identityProvider: IdentityProvider) => ProviderClient,
): CheckTokenStatus {
  const waits = createBackoff(clock);
  return async ({ grantId, accountId, subject, encryptedTokens }, identityProvider) => {
    const waiting = waits.remaining(grantId);
    if (waiting !== null)
      throw temporarilyUnavailable(`${identityProvider.id}: ${waiting.reason}`, waiting.retryAfter);
    if (encryptedTokens === null) return 'dead';
    const tokens = await vault.decrypt<ProviderTokenSet>(encryptedTokens, providerTokensContext(grantId));
    try {
      return await wireOf(identityProvider).checkStatus(tokens, subject);
    } catch (error) {
      const issue = toIdentityProviderError(error);
      const retryAfter = issue.retryAfter ?? RECHECK_AFTER;
      const reason = `status: ${issue.message}`;
      waits.start(grantId, { retryAfter, reason });
      events({
        type: 'identity_provider.failed',
        identityProvider: identityProvider.id,
        grantId,
        accountId,
        reason,
      });
      throw temporarilyUnavailable(`${identityProvider.id}: ${reason}`, retryAfter);
    }
  };
}
