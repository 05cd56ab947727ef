/** Third parties put together: who is on the way, who somebody is, what grants rest on, and how all of it ends. */
import type { ServerContext } from '../context.ts';
import { newIdentifier } from '../secrets.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import type { FederatedUser } from './federated-user.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { createLinkedUsers, type LinkedUsers } from './linked-users.ts';
import { createResolveLoginMethod, type ResolveLoginMethod } from './login-method.ts';
import { createFederatedLogins, type FederatedLogins } from './login-request.ts';
import { createProviderClient, type ProviderClient } from './provider-client.ts';
import { createProviderTokens, noIdentityProvider, type ProviderTokens } from './provider-tokens.ts';
import { createRevocationJobs } from './revocation-jobs.ts';
import type { RevocationTrigger } from './revocation-trigger.ts';
import { type ProviderTokenResponse, providerTokensContext, providerTokenTimes } from './token-set.ts';
import { createTokenVault } from './token-vault.ts';

/** Somebody who came back, with what the third party gave for them. */
export interface FederatedLoginResult {
  readonly identityProvider: IdentityProvider;
  readonly user: FederatedUser;
  readonly given: ProviderTokenResponse;
}

export interface Federation {
  readonly providerTokens: ProviderTokens;
  readonly logins: FederatedLogins;
  readonly linkedUsers: LinkedUsers;
  readonly resolveLoginMethod: ResolveLoginMethod;
  readonly clientFor: (identityProvider: IdentityProvider) => ProviderClient;
  /** Whether a bond that was made in a transaction is this person's with this third party, and stands. */
  hasTokens(
    bond: string | null,
    identityProvider: IdentityProvider,
    accountId: string | null,
  ): Promise<boolean>;
  /** Makes the bond of a transaction. @returns the grant that will rest on it; `null` when the transaction is gone */
  saveTokens(transactionId: string, accountId: string, arrival: FederatedLoginResult): Promise<string | null>;
  /** Gives back what nobody needs: its tokens are revoked at the third party. */
  discard(accountId: string | null, arrival: FederatedLoginResult): Promise<void>;
  close(): Promise<void>;
}

/** Seconds after the last moment at which its code could be redeemed, when a bond without a grant is given up. */
const ORPHANED_AFTER = 120;

/** Whose a bond is that only waits for its farewell, of somebody who has no account. */
const NOBODY = 'nobody';

/** @throws ConfigurationError when the sealing key does not open what is sealed for third parties */
export async function createFederation(
  context: ServerContext,
  endings: RevocationTrigger,
): Promise<Federation> {
  const {
    store,
    clock,
    events,
    options: { lifetimes, identityProviders },
  } = context;
  const vault = createTokenVault(context);
  const wires = new Map(
    [...identityProviders.values()].map((one) => [one.id, createProviderClient(context, one)]),
  );
  const wireOf = (identityProvider: IdentityProvider): ProviderClient =>
    wires.get(identityProvider.id) ?? createProviderClient(context, identityProvider);
  const users = createLinkedUsers(context);
  // Bonds outlive the configuration that made them: without any there is nothing to watch over.
  const isUsed = identityProviders.size > 0 || (await store.hasProviderTokens());
  if (isUsed) await vault.load();
  const bonds = isUsed ? createProviderTokens(context, vault, wireOf) : unbonded;
  const farewells = isUsed ? createRevocationJobs(context, vault, wireOf) : null;
  if (farewells !== null) endings.subscribe(farewells.runSoon);

  async function makeBond(
    accountId: string,
    { identityProvider, user, given }: FederatedLoginResult,
  ): Promise<ProviderTokensRecord> {
    const grantId = newIdentifier('grant');
    const { envelope, dataKeyId } = await vault.encrypt(given.tokens, providerTokensContext(grantId));
    const now = clock();
    return {
      grantId,
      accountId,
      identityProvider: identityProvider.id,
      issuer: user.issuer,
      subject: user.subject,
      name: user.name,
      encryptedTokens: envelope,
      dataKeyId,
      scopes: given.scopes,
      ...providerTokenTimes(given, now),
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

  async function discard(accountId: string | null, arrival: FederatedLoginResult): Promise<void> {
    const bond = await makeBond(accountId ?? NOBODY, arrival);
    const now = clock();
    await store.saveEndedProviderTokens({ ...bond, endedAt: now, endReason: 'grant_expired', dueAt: now });
    events({
      type: 'provider_token.discarded',
      identityProvider: bond.identityProvider,
      ...(accountId !== null && { accountId }),
    });
  }

  return {
    providerTokens: bonds,
    logins: createFederatedLogins(context, vault, wireOf),
    linkedUsers: users,
    resolveLoginMethod: createResolveLoginMethod(context.options, users),
    clientFor: wireOf,
    async hasTokens(grantId, { id }, accountId) {
      const bond = grantId === null ? null : await store.findProviderTokens(grantId);
      return (
        bond !== null && bond.endedAt === null && bond.identityProvider === id && bond.accountId === accountId
      );
    },
    async saveTokens(transactionId, accountId, arrival) {
      const bond = await makeBond(accountId, arrival);
      const about = {
        identityProvider: bond.identityProvider,
        accountId,
        grantId: bond.grantId,
        transactionId,
      };
      // Point of no return: the bond stands, and its grant will.
      if (!(await store.saveProviderTokens(transactionId, bond))) {
        await discard(accountId, arrival);
        return null;
      }
      events({ type: 'provider_token.stored', ...about });
      return bond.grantId;
    },
    discard,
    async close() {
      await farewells?.close();
      await bonds.whenIdle();
    },
  };
}

/** No grant rests on anything but this server. */
const unbonded: ProviderTokens = {
  inUse: false,
  whenIdle: async () => {},
  isAlive: async () => true,
  limitsOf: async (_grantId, scopes) => ({ until: Number.MAX_SAFE_INTEGER, scopes }),
  tokenFor: async () => {
    throw noIdentityProvider('the grant rests on none');
  },
};
