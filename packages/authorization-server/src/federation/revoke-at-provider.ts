/** Parting from one bond: its tokens are revoked at the third party and forgotten, or that is tried again, but not for ever. */
import type { ServerContext } from '../context.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import type { IdentityProvider } from './identity-provider.ts';
import type { ProviderClient } from './provider-client.ts';
import { toIdentityProviderError } from './provider-error.ts';
import { type ProviderTokenSet, providerTokensContext } from './token-set.ts';
import type { TokenVault } from './token-vault.ts';

/** Seconds to the next try: each waits twice as long as the one before, to a day and a half in all. */
const RETRY = { first: 30, most: 6 * 3600, tries: 14 };

/** Parts from a bond that has ended and is claimed by nobody else. */
export type RevokeAtProvider = (bond: ProviderTokensRecord) => Promise<void>;

export function createRevokeAtProvider(
  { store, clock, events, options: { identityProviders } }: ServerContext,
  vault: TokenVault,
  wireOf: (identityProvider: IdentityProvider) => ProviderClient,
): RevokeAtProvider {
  return async (bond) => {
    try {
      const outcome = await revoke(bond);
      await forget(bond, { outcome });
    } catch (error) {
      const { message, retryAfter } = toIdentityProviderError(error);
      if (bond.revocationAttempts >= RETRY.tries)
        return forget(bond, { outcome: 'given-up', reason: message });
      await store.postponeRevocationJob(bond.grantId, clock() + Math.max(waitAfter(bond), retryAfter ?? 0));
    }
  };

  async function forget(
    { grantId, accountId, identityProvider }: ProviderTokensRecord,
    parted: { readonly outcome: Outcome | 'given-up'; readonly reason?: string },
  ): Promise<void> {
    await store.completeRevocationJob(grantId);
    events({ type: 'provider_token.revocation_finished', identityProvider, grantId, accountId, ...parted });
  }

  async function revoke(bond: ProviderTokensRecord): Promise<Outcome> {
    const identityProvider = identityProviders.get(bond.identityProvider);
    if (bond.encryptedTokens === null) return 'nothing';
    if (identityProvider === undefined) return 'impossible';
    // Where revoking one token ends everything of a person, it waits for the last. Client B keeps what it was granted.
    if (identityProvider.revocationEnds === 'everything') {
      const others = await store.countProviderTokensOfIdentity(bond.issuer, bond.subject, bond.grantId);
      if (others > 0) return 'shared';
    }
    const tokens = await vault.decrypt<ProviderTokenSet>(
      bond.encryptedTokens,
      providerTokensContext(bond.grantId),
    );
    return wireOf(identityProvider).revoke(tokens);
  }
}

type Outcome = 'revoked' | 'impossible' | 'shared' | 'nothing';

function waitAfter({ revocationAttempts: farewells }: ProviderTokensRecord): number {
  return Math.min(RETRY.most, RETRY.first * 2 ** (farewells - 1));
}
