/** The accounts that a grant needs: each is a redirect to the authorization server of a backend and back, between consent and code. */
import type { DecidedTransaction, GrantConnections } from '../authorization/grant-connections.ts';
import type { ServerContext } from '../context.ts';
import { newIdentifier } from '../secrets.ts';
import type { UserBackend, UserBackends } from './backend.ts';
import type { ConnectionRequests } from './connection-requests.ts';

/** @param skipped backends whose account the user did not connect in this transaction, and is not asked for again */
export function createGrantConnections(
  { store }: Pick<ServerContext, 'store'>,
  backends: UserBackends,
  requests: ConnectionRequests,
  skipped: readonly string[] = [],
): GrantConnections {
  /** Accounts that this very user has connected belong to the grant; those of another user, who was signed in before, do not. */
  async function resolveGrant(
    { record, accountId, linkedGrantId: withProviderTokens }: DecidedTransaction,
    needed: readonly UserBackend[],
  ): Promise<{ readonly grantId: string; readonly missing: readonly UserBackend[] }> {
    const { linkedGrantId } = record;
    const connected =
      linkedGrantId === null || needed.length === 0 ? [] : await store.listConnectedAccounts(linkedGrantId);
    const areOwn = connected.every((account) => account.accountId === accountId);
    // A session of another user may have begun in another tab, without a sign-in for this transaction.
    if (!areOwn) await store.setTransactionAccount(record.id, accountId);
    const isLinked = withProviderTokens !== null || connected.length > 0;
    if (linkedGrantId === null || !isLinked || !areOwn) {
      return { grantId: newIdentifier('grant'), missing: needed };
    }
    const ids = connected.map(({ backend }) => backend);
    return { grantId: linkedGrantId, missing: needed.filter(({ id }) => !ids.includes(id)) };
  }

  return {
    neededFor: (resource) => backends.of(resource),
    async prepareGrant(transaction, cookies) {
      const { record, accountId, decision } = transaction;
      const needed = record.resources.flatMap((resource) => backends.of(resource));
      const { grantId, missing } = await resolveGrant(transaction, needed);
      const { scopes: approvedScopes, workspace } = decision;
      for (const backend of missing.filter(({ id }) => !skipped.includes(id))) {
        const started = await requests.start(
          backend,
          {
            grantId,
            clientId: record.clientId,
            accountId,
            scopes: [],
            link: null,
            transaction: { id: record.id, approvedScopes, workspace, skipped },
            until: record.expiresAt,
          },
          cookies,
        );
        if (!('error' in started)) return started;
        // It is unavailable: the user connects it later, by a link of the gateway.
      }
      return { grantId };
    },
    async listConnected(grantId) {
      const accounts = await store.listConnectedAccounts(grantId);
      return accounts.map(({ backend, scopes }) => ({
        name: backends.find(backend)?.name ?? backend,
        scopes,
      }));
    },
  };
}
