/** People of third parties and their accounts here: the key is who the issuer says that they are, never an address. */

import type { ServerContext } from '../context.ts';
import { hashSecret, newIdentifier } from '../secrets.ts';
import type { AccountRecord } from '../store/index.ts';
import { unusableHash } from '../users/passwords.ts';
import type { FederatedUser } from './federated-user.ts';
import type { IdentityProvider } from './identity-provider.ts';

export interface LinkedUsers {
  /** The account of a person; made when there is none. */
  resolve(user: FederatedUser, identityProvider: IdentityProvider): Promise<AccountRecord>;
  /** The third party by which the owner of an account signs in; `null` for accounts of this server's own; `gone` when it left the configuration. */
  identityProviderOf(accountId: string): Promise<IdentityProvider | null | 'gone'>;
}

export function createLinkedUsers({
  store,
  clock,
  events,
  options: { identityProviders },
}: ServerContext): LinkedUsers {
  return {
    async resolve({ issuer, subject, name }, identityProvider) {
      const known = await store.findLinkedIdentity(issuer, subject);
      const account = known === null ? null : await store.findAccount(known.accountId);
      if (account !== null) return account;
      const made: AccountRecord = {
        id: newIdentifier('user'),
        email: `${name ?? subject} (${identityProvider.name})`,
        // No address has this form, so nobody signs in to it here, and it is never taken for somebody's address.
        emailKey: `third-party:${hashSecret(JSON.stringify([issuer, subject]))}`,
        passwordHash: unusableHash(),
        createdAt: clock(),
        disabledAt: null,
      };
      const accountId = await store.linkIdentity({ issuer, subject, accountId: made.id }, made);
      if (accountId === made.id) {
        events({ type: 'account.created', accountId, identityProvider: identityProvider.id });
        return made;
      }
      return (await store.findAccount(accountId)) ?? made;
    },
    async identityProviderOf(accountId) {
      if (identityProviders.size === 0) return null;
      const user = await store.findLinkedIdentityByAccount(accountId);
      if (user === null) return null;
      return (
        [...identityProviders.values()].find(({ provider }) => provider.issuer === user.issuer) ?? 'gone'
      );
    },
  };
}
