/** Federation put together: federated logins, linked users, provider tokens, and their revocation when grants end. */
import { newIdentifier } from '../secrets.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import { createLinkedUsers, createResolveLoginMethod } from './linked-users.ts';
import { createProviderTokenLiveness } from './liveness.ts';
import { createFederatedLogins } from './login-request.ts';
import { createProviderClient, type ProviderClient } from './provider/client.ts';
import type { FederatedUser } from './provider/federated-user.ts';
import {
  type FederationContext,
  findTokenIssuer,
  type IdentityProvider,
} from './provider/identity-provider.ts';
import { type ProviderTokenResponse, providerTokensContext } from './provider/token-set.ts';
import { createProviderTokens, noProviderTokensInUse } from './provider-tokens.ts';
import { createRevocationQueue } from './revocation-jobs.ts';
import type { ProviderTokenRecords } from './token-records.ts';
import type { TokenVault } from './token-vault.ts';
import { discardedTokens, encryptUpstreamTokens } from './upstream-tokens.ts';

/** The user that an identity provider has authenticated, with the tokens it issued. */
export interface FederatedLoginResult {
  readonly identityProvider: IdentityProvider;
  readonly user: FederatedUser;
  readonly tokenResponse: ProviderTokenResponse;
}

export type Federation = Awaited<ReturnType<typeof createFederation>>;

export async function createFederation(context: FederationContext, vault: TokenVault) {
  const { store } = context;
  const { identityProviders } = context.options;
  const clients = new Map(
    [...identityProviders.values()].map((one) => [one.id, createProviderClient(context, one)]),
  );
  const clientFor = (identityProvider: IdentityProvider): ProviderClient =>
    clients.get(identityProvider.id) ?? createProviderClient(context, identityProvider);
  const linkedUsers = createLinkedUsers(context);
  const records = createProviderTokenRecords(context, clientFor);
  // Provider tokens may outlive the configuration of their provider.
  const isInUse = identityProviders.size > 0 || (await store.hasProviderTokens());
  const liveness = createProviderTokenLiveness(context, vault, records, clientFor);
  return {
    ...createLoginTokens(context, vault),
    providerTokens: isInUse ? createProviderTokens(context, vault, liveness) : noProviderTokensInUse,
    logins: createFederatedLogins(context, vault, clientFor),
    linkedUsers,
    resolveLoginMethod: createResolveLoginMethod(context, linkedUsers),
    clientFor,
    /** Revokes provider tokens of ended grants; `null`: no grant has any. */
    revocations: isInUse ? createRevocationQueue(context, vault, records) : null,
  };
}

/** Where provider tokens are stored, and who issued them. */
export function createProviderTokenRecords(
  { store, options: { identityProviders } }: FederationContext,
  clientFor: (identityProvider: IdentityProvider) => ProviderClient,
): ProviderTokenRecords {
  return {
    keyOf: ({ grantId }) => grantId,
    encryptionContext: ({ grantId }) => providerTokensContext(grantId),
    about: ({ grantId, accountId, identityProvider }) => ({ identityProvider, grantId, accountId }),
    findIssuer(tokens) {
      const identityProvider = findTokenIssuer(identityProviders, tokens);
      return identityProvider === undefined ? undefined : clientFor(identityProvider);
    },
    find: ({ grantId }) => store.findProviderTokens(grantId),
    lease: ({ grantId, version }, ...lease) => store.leaseProviderTokens(grantId, version, ...lease),
    saveRefreshed: ({ grantId }, ...refreshed) => store.saveRefreshedProviderTokens(grantId, ...refreshed),
    release: ({ grantId }, ...lease) => store.releaseProviderTokens(grantId, ...lease),
    end: ({ grantId, version }, ...ended) => store.endProviderTokens(grantId, version, ...ended),
    async isShared({ identityProvider, issuer, subject, grantId }) {
      if (identityProviders.get(identityProvider)?.revocationEnds !== 'everything') return false;
      return (await store.countProviderTokensOfIdentity(issuer, subject, grantId)) > 0;
    },
    endOfRevokedGrants: store.endProviderTokensOfRevokedGrants,
    claimRevocations: store.claimRevocationJobs,
    postponeRevocation: ({ grantId }, until) => store.postponeRevocationJob(grantId, until),
    completeRevocation: ({ grantId, version }) => store.completeRevocationJob(grantId, version),
  };
}

/** The account of tokens that only wait for their revocation, if the user has none. */
const NO_ACCOUNT = 'none';

/** The provider tokens that a federated login brings. */
function createLoginTokens(context: FederationContext, vault: TokenVault) {
  const { store, clock, events } = context;

  async function createRecord(
    accountId: string,
    { identityProvider, user, tokenResponse }: FederatedLoginResult,
  ): Promise<ProviderTokensRecord> {
    const owner = { grantId: newIdentifier('grant'), accountId };
    const encryption = providerTokensContext(owner.grantId);
    const { issuer, subject, name } = user;
    return {
      ...(await encryptUpstreamTokens(context, vault, owner, tokenResponse, encryption)),
      identityProvider: identityProvider.id,
      issuer,
      subject,
      name,
    };
  }

  /** Discards tokens that are not needed: they are revoked at the provider. */
  async function discard(accountId: string | null, loginResult: FederatedLoginResult): Promise<void> {
    const record = await createRecord(accountId ?? NO_ACCOUNT, loginResult);
    await store.saveEndedProviderTokens(discardedTokens(record, clock()));
    events({
      type: 'provider_token.discarded',
      identityProvider: record.identityProvider,
      ...(accountId !== null && { accountId }),
    });
  }

  return {
    discard,
    /** Whether provider tokens saved in a transaction are live and of this user and provider. */
    async hasTokens(
      grantId: string | null,
      { id }: IdentityProvider,
      accountId: string | null,
    ): Promise<boolean> {
      const record = grantId === null ? null : await store.findProviderTokens(grantId);
      if (record?.endedAt !== null || record.accountId !== accountId) return false;
      return findTokenIssuer(context.options.identityProviders, record)?.id === id;
    },
    /** Saves provider tokens for a transaction. @returns the grant they will belong to; `null` if the transaction is gone */
    async saveTokens(
      transactionId: string,
      accountId: string,
      loginResult: FederatedLoginResult,
    ): Promise<string | null> {
      const record = await createRecord(accountId, loginResult);
      const { grantId, identityProvider } = record;
      // Point of no return: the tokens are saved, and their grant will follow.
      if (!(await store.saveProviderTokens(transactionId, record))) {
        await discard(accountId, loginResult);
        return null;
      }
      events({ type: 'provider_token.stored', identityProvider, accountId, grantId, transactionId });
      return grantId;
    },
  };
}
