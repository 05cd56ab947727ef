/** The contract suite that every store of an authorization server must pass, with vitest and a real database. */
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeAccounts } from './accounts.ts';
import { describeAdministration } from './administration.ts';
import { describeApprovals } from './approvals.ts';
import { describeAuditLog } from './audit.ts';
import { describeAuthorizationCodes } from './authorization-codes.ts';
import { describeClientAssertions, describeClients } from './clients.ts';
import { describeConnectedAccounts } from './connected-accounts.ts';
import { describeDeviceAuthorizations } from './device-authorizations.ts';
import { describeFederation } from './federation.ts';
import { describeAccountGrants, describeRevocation } from './grants.ts';
import { describeManagedGrants } from './managed-grants.ts';
import { describePasskeys, describeTotp } from './mfa.ts';
import { describePersonalAccessTokens } from './personal-access-tokens.ts';
import { describeProvisioning } from './provisioning.ts';
import { describeRateLimits } from './rate-limits.ts';
import { describeRefreshTokens } from './refresh-tokens.ts';
import { describeClientMetadataDocuments, describeInitialAccessTokens } from './registration.ts';
import { describeAccountRemoval } from './removal.ts';
import { createGrant, NOW, newAccount, newClient, type StoreOfTest, times } from './samples.ts';
import { describeSigningKeys } from './signing-keys.ts';
import { describeSweep } from './sweep.ts';
import { describeTransactions } from './transactions.ts';

/**
 * Declares the suite.
 * @param name the store's name in the report
 * @param open opens an empty store; called before each test
 * @param release called with the store after each test; closes it unless another function is given
 */
export function describeStoreContract(
  name: string,
  open: () => Promise<AuthorizationStore>,
  release: (store: AuthorizationStore) => Promise<void> = (store) => store.close(),
): void {
  describe(`the store contract on ${name}`, () => {
    let opened: AuthorizationStore | undefined;
    const store = () => {
      if (opened === undefined) throw new Error('the store is open only while a test runs');
      return opened;
    };
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(async () => {
      if (opened !== undefined) await release(opened);
      opened = undefined;
    });

    describeAccounts(store);
    describeAdministration(store);
    describeAccountRemoval(store);
    describePasskeys(store);
    describeTotp(store);
    describeClients(store);
    describeInitialAccessTokens(store);
    describeClientMetadataDocuments(store);
    describeClientAssertions(store);
    describeTransactions(store);
    describeFederation(store);
    describeConnectedAccounts(store);
    describeAuthorizationCodes(store);
    describeRefreshTokens(store);
    describeRevocation(store);
    describePersonalAccessTokens(store);
    describeManagedGrants(store);
    describeDeviceAuthorizations(store);
    describeApprovals(store);
    describeProvisioning(store);
    describeAccountGrants(store);
    describeSigningKeys(store);
    describeAuditLog(store);
    describeRateLimits(store);
    describeSweep(store);
    describeLifecycle(store);
  });
}

function describeLifecycle(store: StoreOfTest): void {
  describe('the life of a store', () => {
    it('responds to a ping while it is open', async () => {
      await expect(store().ping()).resolves.toBeUndefined();
      await expect(store().checkWritable(NOW)).resolves.toBeUndefined();
      await expect(store().checkWritable(NOW)).resolves.toBeUndefined();
    });

    it('reads the clock of its database server, if it has one', async () => {
      const now = await store().readClock();
      if (now !== null) expect(Math.abs(now - Date.now() / 1000)).toBeLessThan(5);
    });

    it('reads its own writes as soon as they resolve', async () => {
      const clients = times(100, () => newClient());
      const seen = await Promise.all(
        clients.map(async (client) => {
          await store().saveClient(client);
          return store().findClient(client.id);
        }),
      );
      expect(seen).toEqual(clients);
    });

    it('completes pending operations before it closes', async () => {
      const clients = times(20, () => newClient());
      const saved = Promise.all(clients.map((client) => store().saveClient(client)));
      await store().close();
      await expect(saved).resolves.toHaveLength(20);
    });

    it('rejects operations as unavailable once it is closed, also when it is closed twice', async () => {
      const { grant } = await createGrant(store());
      await store().close();
      await store().close();
      const refusals = [
        () => store().ping(),
        () => store().checkWritable(NOW),
        () => store().findGrant(grant.id),
        () => store().saveClient(newClient()),
        () => store().sweep(NOW, 10),
        () => store().createFirstAccount(newAccount(), null),
      ];
      for (const refused of refusals) {
        await expect(refused()).rejects.toMatchObject({ code: 'temporarily_unavailable', status: 503 });
      }
    });
  });
}

export { describeDefinitionPinContract } from './definition-pins.ts';
