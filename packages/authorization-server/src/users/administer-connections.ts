/** Connection administration: list and revoke the grants of an account, with the provider tokens that they depend on. */
import type { StoreContext } from '../context.ts';
import type { AccountRecord, FoundGrant, GrantRecord, ProviderTokensRecord } from '../store/index.ts';
import { findNamedAccount } from './administer-accounts.ts';

/** Facts about the provider tokens that a grant depends on, without the tokens. */
export type ListedProviderTokens = Pick<
  ProviderTokensRecord,
  'identityProvider' | 'issuer' | 'subject' | 'name' | 'scopes' | 'expiresAt' | 'checkedAt'
>;

/** A grant as administrators see it. Times in epoch seconds. */
export type ListedConnection = Pick<
  GrantRecord,
  'id' | 'clientId' | 'scopes' | 'resources' | 'workspace' | 'createdAt' | 'expiresAt' | 'lastUsedAt'
> & {
  readonly account: Pick<AccountRecord, 'id' | 'email'>;
  /** `null`: the grant depends on no identity provider. */
  readonly providerTokens: ListedProviderTokens | null;
};

/** Administers the grants of users. Accounts are named by e-mail address or identifier. */
export interface ConnectionAdministration {
  /**
   * The connections of an account, most recently used first.
   * @returns `null` for an unknown account
   */
  list(account: string): Promise<readonly ListedConnection[] | null>;
  /** A connection by its grant. @returns `null` for an unknown one, and one that has ended */
  find(grantId: string): Promise<ListedConnection | null>;
  /**
   * Revokes one grant of an account with all its tokens, or all its grants (`null`). A running server then revokes the
   * provider tokens.
   * @returns the number of revoked grants; `null` for an unknown account
   */
  end(account: string, grantId: string | null): Promise<number | null>;
}

/** Administers the connections of a store, with or without a server beside it. */
export function createConnectionAdministration(context: StoreContext): ConnectionAdministration {
  const { store, clock, events } = context;
  return {
    async list(named) {
      const account = await findNamedAccount(store, named);
      if (account === null) return null;
      const [grants, providerTokens] = await Promise.all([
        listAllGrants(store, account.id, clock()),
        store.listProviderTokens(account.id),
      ]);
      const providerTokensOf = new Map(providerTokens.map((tokens) => [tokens.grantId, tokens]));
      return grants.map((grant) =>
        describeConnection(grant, account, providerTokensOf.get(grant.id) ?? null),
      );
    },
    async find(grantId) {
      const grant = await findLiveGrant(context, grantId);
      if (grant === null) return null;
      const [account, providerTokens] = await Promise.all([
        store.findAccount(grant.accountId),
        store.findProviderTokens(grantId),
      ]);
      return (
        account &&
        describeConnection(grant, account, providerTokens?.endedAt === null ? providerTokens : null)
      );
    },
    async end(named, grantId) {
      const account = await findNamedAccount(store, named);
      if (account === null) return null;
      // Point of no return: the grants and their tokens are revoked.
      const count = await store.revokeAccountGrants(account.id, grantId, clock());
      if (count > 0) {
        events({
          type: 'grant.revoked',
          accountId: account.id,
          count,
          reason: 'operator',
          ...(grantId !== null && { grantId }),
        });
      }
      return count;
    },
  };
}

/** A grant that was not revoked and has not expired. */
export async function findLiveGrant(
  { store, clock }: Pick<StoreContext, 'store' | 'clock'>,
  grantId: string,
): Promise<FoundGrant['grant'] | null> {
  const grant = (await store.findGrant(grantId))?.grant;
  return grant?.revokedAt === null && grant.expiresAt > clock() ? grant : null;
}

/** Grants by query. */
const PAGE = 500;

/** Most recently used first. */
export async function listAllGrants(
  store: StoreContext['store'],
  accountId: string,
  now: number,
): Promise<readonly GrantRecord[]> {
  const grants: GrantRecord[] = [];
  for (let page: readonly GrantRecord[] | null = null; page === null || page.length === PAGE; ) {
    page = await store.listGrants(accountId, now, grants.at(-1) ?? null, PAGE);
    grants.push(...page);
  }
  return grants.sort((one, other) => other.lastUsedAt - one.lastUsedAt);
}

function describeConnection(
  { id, clientId, scopes, resources, workspace, createdAt, expiresAt, lastUsedAt }: GrantRecord,
  account: AccountRecord,
  providerTokens: ProviderTokensRecord | null,
): ListedConnection {
  const about = { id, clientId, scopes, resources, workspace, createdAt, expiresAt, lastUsedAt };
  return {
    ...about,
    account: { id: account.id, email: account.email },
    providerTokens: providerTokens && describeProviderTokens(providerTokens),
  };
}

function describeProviderTokens(providerTokens: ProviderTokensRecord): ListedProviderTokens {
  const { identityProvider, issuer, subject, name, scopes, expiresAt, checkedAt } = providerTokens;
  return { identityProvider, issuer, subject, name, scopes, expiresAt, checkedAt };
}
