/** Bonds as the endpoints of this server see them: alive or not, what they bound, and the token of the third party. */

import { intersectScopes, missingScopes, OAuthError, type Scopes } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { coveredScopes, type IdentityProvider } from './identity-provider.ts';
import { createProviderTokenLiveness } from './liveness.ts';
import { ProviderTokensEndedError } from './liveness-actions.ts';
import { grantableUntil } from './liveness-rule.ts';
import type { ProviderClient } from './provider-client.ts';
import type { ProviderTokenSource } from './provider-token.ts';
import { type ProviderTokenSet, providerTokensContext } from './token-set.ts';
import type { TokenVault } from './token-vault.ts';

export interface ProviderTokens extends ProviderTokenSource {
  /** `false`: no grant rests on a third party, and nothing has to be asked. */
  readonly inUse: boolean;
  /** Whether what a grant rests on is alive, as far as the third party has said within the bound. @throws OAuthError `temporarily_unavailable` */
  isAlive(grantId: string): Promise<boolean>;
  /**
   * What tokens of a grant may be: none of ours outlives or exceeds what it rests on.
   * @throws OAuthError `invalid_grant` when that has ended, `temporarily_unavailable` when nobody can say
   */
  limitsOf(grantId: string, scopes: Scopes): Promise<{ readonly until: number; readonly scopes: Scopes }>;
  /** Resolves when nothing is under way at a third party that would be lost. */
  whenIdle(): Promise<void>;
}

export function createProviderTokens(
  context: ServerContext,
  vault: TokenVault,
  wireOf: (identityProvider: IdentityProvider) => ProviderClient,
): ProviderTokens {
  const {
    store,
    options: { identityProviders },
  } = context;
  const watch = createProviderTokenLiveness(context, vault, wireOf);

  const standing = (grantId: string): ReturnType<typeof watch.check> =>
    watch.check(grantId).catch((error: unknown) => {
      if (error instanceof ProviderTokensEndedError) throw over(error.message);
      throw error;
    });

  return {
    inUse: true,
    whenIdle: watch.whenIdle,

    async isAlive(grantId) {
      try {
        await watch.check(grantId);
        return true;
      } catch (error) {
        if (error instanceof ProviderTokensEndedError) return false;
        throw error;
      }
    },

    async limitsOf(grantId, scopes) {
      const { bond } = await standing(grantId);
      const identityProvider = identityProviders.get(bond?.identityProvider ?? '');
      if (bond === null || identityProvider === undefined) return { until: Number.MAX_SAFE_INTEGER, scopes };
      const carried = coveredScopes(identityProvider, scopes, bond.scopes);
      if (carried.length === 0 && scopes.length > 0) {
        throw new OAuthError(
          'invalid_scope',
          'The third party does not grant any more what these scopes need.',
          {
            reason: `${identityProvider.id} grants less than it did`,
          },
        );
      }
      return { until: grantableUntil(bond), scopes: intersectScopes(scopes, carried) };
    },

    async tokenFor(grantId, want = {}) {
      const { bond: known } = await standing(grantId);
      if (known === null) throw noIdentityProvider('the grant rests on none');
      if (want.identityProvider !== undefined && want.identityProvider !== known.identityProvider) {
        throw noIdentityProvider(`the grant rests on ${known.identityProvider}`);
      }
      // As it is kept now, not as it is remembered: a renewal elsewhere may have made the remembered token worthless.
      const [bond, isStanding] = await Promise.all([
        store.findProviderTokens(grantId),
        store.isAccessTokenLive('', grantId),
      ]);
      if (!isStanding || bond === null || bond.endedAt !== null || bond.encryptedTokens === null) {
        throw over('its grant has ended');
      }
      if (missingScopes(want.scopes ?? [], bond.scopes).length > 0) {
        throw new OAuthError('invalid_scope', 'The person has not granted these scopes at the third party.');
      }
      const { accessToken, tokenType } = await vault.decrypt<ProviderTokenSet>(
        bond.encryptedTokens,
        providerTokensContext(grantId),
      );
      const { expiresAt, scopes, identityProvider } = bond;
      return { accessToken, tokenType, expiresAt, scopes, identityProvider };
    },
  };
}

function over(reason: string): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'What this access rested on at a third party has ended. Start a new authorization request.',
    { reason: `bond: ${reason}` },
  );
}

export function noIdentityProvider(reason: string): OAuthError {
  return new OAuthError('invalid_target', 'This access does not rest on that third party.', {
    reason: `bond: ${reason}`,
  });
}
