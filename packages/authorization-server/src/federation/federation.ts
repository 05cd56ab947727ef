/** Federation put together: federated logins, linked users, provider tokens, and their revocation when grants end. */
import type { ServerContext } from '../context.ts';
import { newIdentifier } from '../secrets.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import { type BackendLinks, createBackendLinks } from './backend-links.ts';
import { type BackendLogins, createBackendLogins } from './backend-logins.ts';
import { type BackendTokenVault, createBackendTokenVault, tokenIssuerOf } from './backend-tokens.ts';
import {
  createLinkedUsers,
  createResolveLoginMethod,
  type LinkedUsers,
  type ResolveLoginMethod,
} from './linked-users.ts';
import { createProviderTokenLiveness } from './liveness.ts';
import { createFederatedLogins, type FederatedLogins } from './login-request.ts';
import { createProviderClient, type ProviderClient } from './provider/client.ts';
import type { FederatedUser } from './provider/federated-user.ts';
import type { IdentityProvider } from './provider/identity-provider.ts';
import type { ProviderTokenResponse } from './provider/token-set.ts';
import { createProviderTokens, noProviderTokensInUse, type ProviderTokens } from './provider-tokens.ts';
import { createProviderTokensRecord, discardedRecord } from './provider-tokens-record.ts';
import { createRevocationJobs, type RevocationTrigger } from './revocation-jobs.ts';
import type { TokenIssuer } from './token-issuer.ts';
import { createTokenVault, type TokenVault } from './token-vault.ts';

/** The user that an identity provider has authenticated, with the tokens it issued. */
export interface FederatedLoginResult {
  readonly identityProvider: IdentityProvider;
  readonly user: FederatedUser;
  readonly tokenResponse: ProviderTokenResponse;
}

export interface Federation extends LoginTokens {
  readonly providerTokens: ProviderTokens;
  readonly logins: FederatedLogins;
  readonly linkedUsers: LinkedUsers;
  readonly resolveLoginMethod: ResolveLoginMethod;
  readonly clientFor: (identityProvider: IdentityProvider) => ProviderClient;
  /** Accounts that users connect at backends of a gateway. */
  readonly backends: {
    readonly tokens: BackendTokenVault;
    readonly logins: BackendLogins;
    readonly links: BackendLinks;
  };
  close(): Promise<void>;
}

/** The provider tokens that a federated login brings. */
interface LoginTokens {
  /** Whether provider tokens saved in a transaction are live and of this user and provider. */
  hasTokens(
    grantId: string | null,
    identityProvider: IdentityProvider,
    accountId: string | null,
  ): Promise<boolean>;
  /** Saves provider tokens for a transaction. @returns the grant they will belong to; `null` if the transaction is gone */
  saveTokens(
    transactionId: string,
    accountId: string,
    loginResult: FederatedLoginResult,
  ): Promise<string | null>;
  /** Discards tokens that are not needed: they are revoked at the provider. */
  discard(accountId: string | null, loginResult: FederatedLoginResult): Promise<void>;
}

/** @throws ConfigurationError if the master key does not decrypt the data keys */
export async function createFederation(
  context: ServerContext,
  revocationTrigger: RevocationTrigger,
): Promise<Federation> {
  const {
    store,
    options: { identityProviders, backends },
  } = context;
  const vault = createTokenVault(context);
  const clients = new Map(
    [...identityProviders.values()].map((one) => [one.id, createProviderClient(context, one)]),
  );
  const clientFor = (identityProvider: IdentityProvider): ProviderClient =>
    clients.get(identityProvider.id) ?? createProviderClient(context, identityProvider);
  const linkedUsers = createLinkedUsers(context);
  // Provider tokens may outlive the configuration of their provider.
  const isInUse = identityProviders.size > 0 || backends !== null || (await store.hasProviderTokens());
  if (isInUse) await vault.load();
  const findIssuer = (id: string): TokenIssuer | undefined => {
    const identityProvider = identityProviders.get(id);
    if (identityProvider !== undefined) return { ...identityProvider, client: clientFor(identityProvider) };
    const backend = backends?.find(id);
    return backend === undefined ? undefined : tokenIssuerOf(backend);
  };
  const liveness = createProviderTokenLiveness(context, vault, findIssuer);
  const providerTokens = isInUse ? createProviderTokens(context, vault, liveness) : noProviderTokensInUse;
  const revocationJobs = isInUse ? createRevocationJobs(context, vault, findIssuer) : null;
  const backendTokens = createBackendTokenVault(context, vault, liveness);
  if (revocationJobs !== null) revocationTrigger.subscribe(revocationJobs.runSoon);
  return {
    ...createLoginTokens(context, vault),
    providerTokens,
    logins: createFederatedLogins(context, vault, clientFor),
    linkedUsers,
    resolveLoginMethod: createResolveLoginMethod(context, linkedUsers),
    clientFor,
    backends: {
      tokens: backendTokens,
      logins: createBackendLogins(context, vault, backendTokens),
      links: createBackendLinks(context),
    },
    async close() {
      await revocationJobs?.close();
      await providerTokens.whenIdle();
    },
  };
}

/** The account of tokens that only wait for their revocation, if the user has none. */
const NO_ACCOUNT = 'none';

function createLoginTokens(context: ServerContext, vault: TokenVault): LoginTokens {
  const { store, clock, events } = context;

  function createRecord(
    accountId: string,
    { identityProvider, user, tokenResponse }: FederatedLoginResult,
  ): Promise<ProviderTokensRecord> {
    const { issuer, subject, name } = user;
    const owner = { grantId: newIdentifier('grant'), backendGrantId: null, accountId };
    const facts = { ...owner, identityProvider: identityProvider.id, issuer, subject, name };
    return createProviderTokensRecord(context, vault, facts, tokenResponse);
  }

  async function discard(accountId: string | null, loginResult: FederatedLoginResult): Promise<void> {
    const record = await createRecord(accountId ?? NO_ACCOUNT, loginResult);
    await store.saveEndedProviderTokens(discardedRecord(record, clock()));
    events({
      type: 'provider_token.discarded',
      identityProvider: record.identityProvider,
      ...(accountId !== null && { accountId }),
    });
  }

  return {
    discard,
    async hasTokens(grantId, { id }, accountId) {
      const record = grantId === null ? null : await store.findProviderTokens(grantId);
      return record?.endedAt === null && record.identityProvider === id && record.accountId === accountId;
    },
    async saveTokens(transactionId, accountId, loginResult) {
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
