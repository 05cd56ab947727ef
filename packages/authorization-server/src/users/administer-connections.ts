/** Connections in the hands of an administrator: which clients act for whom, what that rests on at third parties, and the end of it. */
import type { Configuration } from '../configuration.ts';
import type { AccountRecord, GrantRecord, ProviderTokensRecord } from '../store/index.ts';
import { findNamedAccount } from './administer-accounts.ts';

/** All that it works with: it needs no running server. */
type ConnectionAdministrationContext = Pick<Configuration, 'store' | 'clock' | 'events'>;

/** What a grant rests on at a third party, without its tokens. */
export type ListedProviderTokens = Pick<
  ProviderTokensRecord,
  'identityProvider' | 'issuer' | 'subject' | 'name' | 'scopes' | 'expiresAt' | 'checkedAt'
>;

/** A client that acts for somebody. Times in epoch seconds. */
export type ListedConnection = Pick<
  GrantRecord,
  'id' | 'clientId' | 'scopes' | 'resources' | 'workspace' | 'createdAt' | 'expiresAt' | 'lastUsedAt'
> & {
  readonly account: Pick<AccountRecord, 'id' | 'email'>;
  /** `null`: it rests on this server alone. */
  readonly providerTokens: ListedProviderTokens | null;
};

/** What people have allowed, in the hands of an administrator. */
export interface ConnectionAdministration {
  /**
   * The connections of an account, the last used first; `null` when there is no such account.
   * @param account its address or its identifier
   */
  list(account: string): Promise<readonly ListedConnection[] | null>;
  /**
   * Ends a connection of an account with all its tokens, or (`null`) all of them. What they rest on at third parties is given
   * back there by a server that runs. Answers how many ended; `null` when there is no such account.
   */
  end(account: string, grantId: string | null): Promise<number | null>;
}

/** Administers the connections of a store, with or without a server beside it. */
export function createConnectionAdministration({
  store,
  clock,
  events,
}: ConnectionAdministrationContext): ConnectionAdministration {
  return {
    async list(named) {
      const account = await findNamedAccount(store, named);
      if (account === null) return null;
      const [grants, bonds] = await Promise.all([
        store.listGrants(account.id, clock()),
        store.listProviderTokens(account.id),
      ]);
      const bondOf = new Map(bonds.map((bond) => [bond.grantId, bond]));
      return grants.map((grant) => describe(grant, account, bondOf.get(grant.id)));
    },
    async end(named, grantId) {
      const account = await findNamedAccount(store, named);
      if (account === null) return null;
      // Point of no return: the grants and their tokens are dead.
      const count = await store.revokeAccountGrants(account.id, grantId, clock());
      if (count > 0) {
        events({
          type: 'grant.revoked',
          accountId: account.id,
          count,
          ...(grantId !== null && { grantId }),
        });
      }
      return count;
    },
  };
}

function describe(
  { id, clientId, scopes, resources, workspace, createdAt, expiresAt, lastUsedAt }: GrantRecord,
  account: AccountRecord,
  bond: ProviderTokensRecord | undefined,
): ListedConnection {
  const about = { id, clientId, scopes, resources, workspace, createdAt, expiresAt, lastUsedAt };
  return {
    ...about,
    account: { id: account.id, email: account.email },
    providerTokens: bond === undefined ? null : describeProviderTokens(bond),
  };
}

function describeProviderTokens(bond: ProviderTokensRecord): ListedProviderTokens {
  const { identityProvider, issuer, subject, name, scopes, expiresAt, checkedAt } = bond;
  return { identityProvider, issuer, subject, name, scopes, expiresAt, checkedAt };
}
