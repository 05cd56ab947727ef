/** Asking a third party whether its token is alive; one that could not say is left alone for a while. */
import { temporarilyUnavailable } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import { readIssue } from './fault.ts';
import type { IdentityProvider } from './third-party.ts';
import { type IdentityProviderTokens, placeOf } from './tokens.ts';
import type { Vault } from './vault.ts';
import { createWaits } from './waits.ts';
import type { Wire } from './wire.ts';

/** Seconds to wait for a third party that could not say whether its token is alive. */
export const ASKED_AGAIN_AFTER = 5;

/** @throws OAuthError `temporarily_unavailable` when the third party cannot say, now or a moment ago */
export type Inquire = (
  bond: ProviderTokensRecord,
  identityProvider: IdentityProvider,
) => ReturnType<Wire['ask']>;

export function createInquire(
  { clock, events }: Configuration,
  vault: Vault,
  wireOf: (identityProvider: IdentityProvider) => Wire,
): Inquire {
  const waits = createWaits(clock);
  return async ({ grantId, accountId, subject, encryptedTokens }, identityProvider) => {
    const waiting = waits.left(grantId);
    if (waiting !== null)
      throw temporarilyUnavailable(`${identityProvider.id}: ${waiting.reason}`, waiting.retryAfter);
    if (encryptedTokens === null) return 'dead';
    const tokens = await vault.unseal<IdentityProviderTokens>(encryptedTokens, placeOf(grantId));
    try {
      return await wireOf(identityProvider).ask(tokens, subject);
    } catch (error) {
      const issue = readIssue(error);
      const retryAfter = issue.retryAfter ?? ASKED_AGAIN_AFTER;
      const reason = `status: ${issue.message}`;
      waits.begin(grantId, { retryAfter, reason });
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
