/** Linked identities: accounts of users who sign in with an identity provider, found by issuer and subject, never by email address. */
import { hashSecret } from '../secrets.ts';
import type { AccountRecord } from '../store/index.ts';
import { createAccountRecord } from '../users/accounts.ts';
import { unusableHash } from '../users/passwords.ts';
import type { User } from '../users/sessions.ts';
import type { FederatedUser } from './provider/federated-user.ts';
import type { FederationContext, IdentityProvider } from './provider/identity-provider.ts';

export type LinkedUsers = ReturnType<typeof createLinkedUsers>;

export function createLinkedUsers(context: FederationContext) {
  const { store, clock, events } = context;
  const { identityProviders } = context.options;
  return {
    /** The account of a federated user; created at the first login. */
    async resolve(
      { issuer, subject, name }: FederatedUser,
      identityProvider: IdentityProvider,
    ): Promise<AccountRecord> {
      const linked = await store.findLinkedIdentity(issuer, subject);
      const account = linked === null ? null : await store.findAccount(linked.accountId);
      if (account !== null) return account;
      const email = `${name ?? subject} (${identityProvider.name})`;
      const created = newFederatedAccount(issuer, subject, email, clock());
      const accountId = await store.linkIdentity({ issuer, subject, accountId: created.id }, created);
      if (accountId === created.id) {
        events({ type: 'account.created', accountId, identityProvider: identityProvider.id });
        return created;
      }
      return (await store.findAccount(accountId)) ?? created;
    },
    /** The identity provider that an account signs in with; `null`: a local account; `gone`: a provider that is no longer configured. */
    async identityProviderOf({ id, emailKey }: AccountRecord): Promise<IdentityProvider | null | 'gone'> {
      // Only local accounts are found by an email address.
      if (emailKey.includes('@')) return null;
      const linked = await store.findLinkedIdentityByAccount(id);
      return (
        [...identityProviders.values()].find(({ provider }) => provider.issuer === linked?.issuer) ?? 'gone'
      );
    },
  };
}

/** The record of an account without a password. */
export function newFederatedAccount(
  issuer: string,
  subject: string,
  email: string,
  now: number,
): AccountRecord {
  // No email address has this form, so the account cannot be used for a local login or confused with a local one.
  const emailKey = `federated:${hashSecret(JSON.stringify([issuer, subject]))}`;
  return createAccountRecord(email, emailKey, unusableHash(), now);
}

/** How a user signs in for a transaction. */
interface LoginMethod {
  /** `null`: locally, or the user still has to choose. */
  readonly identityProvider: IdentityProvider | null;
  /** Whether the signed-in user came this way, so that no login is needed. */
  readonly isSatisfied: boolean;
}

/** @param chosen the identifier of the identity provider chosen in the transaction */
export type ResolveLoginMethod = (chosen: string | null, user: User | null) => Promise<LoginMethod>;

export function createResolveLoginMethod(
  { options: { identityProviders, localAccounts } }: FederationContext,
  linkedUsers: LinkedUsers,
): ResolveLoginMethod {
  const [first = null] = identityProviders.values();
  const onlyProvider = !localAccounts && identityProviders.size === 1 ? first : null;
  return async (chosen, user) => {
    const own = user === null ? 'signed-out' : await linkedUsers.identityProviderOf(user.account);
    const chosenProvider = chosen === null ? undefined : identityProviders.get(chosen);
    if (chosenProvider !== undefined) {
      return { identityProvider: chosenProvider, isSatisfied: own === chosenProvider };
    }
    // A federated user remains with their provider: each grant has its own provider tokens.
    if (typeof own === 'object' && own !== null) return { identityProvider: own, isSatisfied: true };
    if (own === null && localAccounts) return { identityProvider: null, isSatisfied: true };
    return { identityProvider: onlyProvider, isSatisfied: false };
  };
}
