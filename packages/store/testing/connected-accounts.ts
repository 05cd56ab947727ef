/** The contract of connected accounts: kept for one grant and backend, replaced as a whole, ended with their grant and never ending it. */
import type {
  AuthorizationStore,
  ConnectedAccountRecord,
  DataKeyRecord,
} from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import {
  newConnectedAccount,
  newDataKey,
  newProviderTokens,
  newRefreshedTokens,
} from './federation-samples.ts';
import {
  createGrant,
  NOW,
  newAccount,
  newAccountLink,
  newClient,
  newClientDocument,
  newTransaction,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

async function connect(store: AuthorizationStore, changes: Partial<ConnectedAccountRecord> = {}) {
  const { grant } = await createGrant(store);
  const account = newConnectedAccount({ grantId: grant.id, accountId: grant.accountId, ...changes });
  expect(await store.saveConnectedAccount(account, null)).toBe(true);
  return { grant, account };
}

export function describeConnectedAccounts(store: StoreOfTest): void {
  describeStorage(store);
  describeLeases(store);
  describeEnds(store);
  describeRegistrations(store);
}

function describeStorage(store: StoreOfTest): void {
  describe('connected accounts', () => {
    it('are stored for a live grant of the same account, beside those at other backends', async () => {
      expect(await store().hasConnectedAccounts()).toBe(false);
      const { grant, account } = await connect(store());
      const other = newConnectedAccount({
        grantId: grant.id,
        accountId: grant.accountId,
        backend: '/files',
        createdAt: NOW + 1,
      });
      expect(await store().saveConnectedAccount(other, null)).toBe(true);
      expect(await store().listConnectedAccounts(grant.id)).toEqual([account, other]);
      expect(await store().findConnectedAccount(account)).toEqual(account);
      expect(await store().findConnectedAccount(other)).toEqual(other);
      expect(await store().findConnectedAccount({ grantId: grant.id, backend: '/none' })).toBeNull();
      expect(await store().hasConnectedAccounts()).toBe(true);
    });

    it('are no provider tokens: neither is found, listed or ended as the other', async () => {
      const { grant, account } = await connect(store());
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      const tokens = newProviderTokens({ grantId: grant.id, accountId: grant.accountId });
      await store().saveProviderTokens(transaction.id, tokens);
      expect(await store().findProviderTokens(grant.id)).toEqual(tokens);
      expect(await store().listProviderTokens(grant.accountId)).toEqual([tokens]);
      expect(await store().listConnectedAccounts(grant.id)).toEqual([account]);
      expect(await store().endConnectedAccount(account, 1, 'revoked_by_provider', NOW)).toBe(true);
      expect(await store().findProviderTokens(grant.id)).toEqual(tokens);
      expect(await store().claimRevocationJobs(NOW, NOW + 60, 5)).toEqual([]);
      expect(await store().claimAccountRevocations(NOW, NOW + 60, 5)).toMatchObject([{ grantId: grant.id }]);
    });

    it.each([
      { description: 'a grant of another account', change: { accountId: 'user_other' } },
      { description: 'a grant that does not exist', change: { grantId: 'grant_none' } },
    ])('are not stored for $description', async ({ change }) => {
      const { grant } = await createGrant(store());
      const account = newConnectedAccount({ grantId: grant.id, accountId: grant.accountId, ...change });
      expect(await store().saveConnectedAccount(account, null)).toBe(false);
      expect(await store().findConnectedAccount(account)).toBeNull();
    });

    it('are not stored for a revoked grant', async () => {
      const { grant } = await createGrant(store());
      await store().revokeAccountGrants(grant.accountId, grant.id, NOW);
      const account = newConnectedAccount({ grantId: grant.id, accountId: grant.accountId });
      expect(await store().saveConnectedAccount(account, null)).toBe(false);
      expect(await store().findConnectedAccount(account)).toBeNull();
    });

    it('name the grant of their transaction, and nothing is stored without it', async () => {
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      const account = newConnectedAccount();
      expect(await store().saveConnectedAccount(account, transaction.id)).toBe(true);
      expect(await store().findTransaction(transaction.id, NOW)).toEqual({
        ...transaction,
        linkedGrantId: account.grantId,
      });
      const late = newConnectedAccount();
      expect(await store().saveConnectedAccount(late, 'flow_gone')).toBe(false);
      // The transaction has another grant.
      expect(await store().saveConnectedAccount(late, transaction.id)).toBe(false);
      expect(await store().findConnectedAccount(late)).toBeNull();
    });

    it('belong to the user of their transaction: another user who signs in connects accounts for a grant of their own', async () => {
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      await store().setTransactionAccount(transaction.id, 'user_1');
      const first = newConnectedAccount({ accountId: 'user_1' });
      expect(await store().saveConnectedAccount(first, transaction.id)).toBe(true);
      await store().setTransactionAccount(transaction.id, 'user_1');
      expect((await store().findTransaction(transaction.id, NOW))?.linkedGrantId).toBe(first.grantId);
      await store().setTransactionAccount(transaction.id, 'user_2');
      expect((await store().findTransaction(transaction.id, NOW))?.linkedGrantId).toBeNull();
      const second = newConnectedAccount({ accountId: 'user_2' });
      expect(await store().saveConnectedAccount(second, transaction.id)).toBe(true);
      expect(await store().saveConnectedAccount(first, transaction.id)).toBe(false);
      expect((await store().findTransaction(transaction.id, NOW))?.linkedGrantId).toBe(second.grantId);
    });

    it('replace earlier ones with a higher version, so that a refresh in progress is not saved over them', async () => {
      const { account } = await connect(store());
      expect(await store().leaseConnectedAccount(account, 1, 'holder', NOW, NOW + 60)).toBe(true);
      const next = { ...account, scopes: ['more'], connection: 'next', version: 1 };
      expect(await store().saveConnectedAccount(next, null)).toBe(true);
      expect(await store().findConnectedAccount(account)).toEqual({ ...next, version: 2 });
      expect(await store().saveRefreshedConnectedAccount(account, 'holder', newRefreshedTokens())).toBe(
        false,
      );
    });

    it(`are one when ${RACERS} connections of a grant race`, async () => {
      const { account } = await connect(store());
      const outcomes = await race(times(RACERS, () => () => store().saveConnectedAccount(account, null)));
      expect(outcomes).toEqual({ true: RACERS });
      expect(await store().findConnectedAccount(account)).toEqual({ ...account, version: 1 + RACERS });
    });
  });
}

function describeLeases(store: StoreOfTest): void {
  describe('connected accounts that are refreshed', () => {
    it(`are leased to one of ${RACERS} processes at a time`, async () => {
      const { account } = await connect(store());
      const lease = (index: number) => () =>
        store().leaseConnectedAccount(account, 1, `process ${index}`, NOW, NOW + 15);
      expect(await race(times(RACERS, lease))).toEqual({ true: 1, false: RACERS - 1 });
    });

    it('are saved once, and only for the holder of the lease', async () => {
      const { grant, account } = await connect(store());
      const sibling = { ...account, backend: '/files' };
      await store().saveConnectedAccount(sibling, null);
      await store().leaseConnectedAccount(account, 1, 'us', NOW, NOW + 15);
      const renewed = newRefreshedTokens();
      expect(await store().saveRefreshedConnectedAccount(account, 'others', newRefreshedTokens())).toBe(
        false,
      );
      expect(await store().saveRefreshedConnectedAccount(sibling, 'us', newRefreshedTokens())).toBe(false);
      expect(await store().saveRefreshedConnectedAccount(account, 'us', renewed)).toBe(true);
      expect(await store().saveRefreshedConnectedAccount(account, 'us', newRefreshedTokens())).toBe(false);
      const refreshed = { ...account, ...renewed, version: 2 };
      expect(await store().listConnectedAccounts(grant.id)).toEqual([sibling, refreshed]);
      expect(await store().leaseConnectedAccount(account, 1, 'late', NOW, NOW + 15)).toBe(false);
      expect(await store().leaseConnectedAccount(account, 2, 'next', NOW, NOW + 15)).toBe(true);
    });

    it('grant no lease before the time until which a refresh was postponed', async () => {
      const { account } = await connect(store());
      await store().leaseConnectedAccount(account, 1, 'us', NOW, NOW + 15);
      await store().releaseConnectedAccount(account, 'others', null);
      expect(await store().leaseConnectedAccount(account, 1, 'others', NOW, NOW + 15)).toBe(false);
      await store().releaseConnectedAccount(account, 'us', NOW + 60);
      expect(await store().leaseConnectedAccount(account, 1, 'us', NOW + 59, NOW + 70)).toBe(false);
      expect(await store().leaseConnectedAccount(account, 1, 'us', NOW + 60, NOW + 70)).toBe(true);
    });
  });
}

function describeEnds(store: StoreOfTest): void {
  describe('connected accounts that end', () => {
    it('end with their grant, and become jobs', async () => {
      const { grant, account } = await connect(store());
      const other = await connect(store());
      await store().revokeAccountGrants(grant.accountId, grant.id, NOW);
      expect(await store().endConnectedAccountsOfRevokedGrants(NOW, NOW)).toBe(1);
      expect(await store().listConnectedAccounts(grant.id)).toEqual([]);
      expect(await store().claimAccountRevocations(NOW, NOW + 60, 5)).toMatchObject([
        { grantId: grant.id, backend: account.backend, endReason: 'revoked_here', revocationAttempts: 1 },
      ]);
      expect(await store().listConnectedAccounts(other.grant.id)).toEqual([other.account]);
    });

    it('end once, without ending their grant or the account at another backend', async () => {
      const { grant, account } = await connect(store());
      const sibling = { ...account, backend: '/files' };
      await store().saveConnectedAccount(sibling, null);
      const end = () => store().endConnectedAccount(account, 1, 'revoked_by_provider', NOW);
      expect(await race(times(RACERS, () => end))).toEqual({ true: 1, false: RACERS - 1 });
      expect((await store().findGrant(grant.id))?.grant.revokedAt).toBeNull();
      expect(await store().listConnectedAccounts(grant.id)).toEqual([sibling]);
      expect(await store().findConnectedAccount(account)).toMatchObject({
        endedAt: NOW,
        endReason: 'revoked_by_provider',
        dueAt: NOW,
      });
    });

    it('do not end when they were refreshed since they were checked', async () => {
      const { account } = await connect(store());
      await store().leaseConnectedAccount(account, 1, 'us', NOW, NOW + 15);
      await store().saveRefreshedConnectedAccount(account, 'us', newRefreshedTokens());
      expect(await store().endConnectedAccount(account, 1, 'expired_at_provider', NOW)).toBe(false);
      expect((await store().findConnectedAccount(account))?.endedAt).toBeNull();
    });

    it('stay until their grant expires, and end when it never came to be', async () => {
      const { grant, account } = await connect(store(), { dueAt: NOW });
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      const orphan = newConnectedAccount({ dueAt: NOW });
      await store().saveConnectedAccount(orphan, transaction.id);
      const claimed = await store().claimAccountRevocations(NOW, NOW + 60, 5);
      expect(claimed.map(({ grantId }) => grantId)).toEqual([orphan.grantId]);
      expect(await store().findConnectedAccount(account)).toMatchObject({
        endedAt: null,
        dueAt: grant.expiresAt,
      });
    });

    it('are revoked by one job, which can be postponed, and are swept when it is done', async () => {
      const account = newConnectedAccount({ endedAt: NOW, endReason: 'grant_expired', dueAt: NOW });
      await store().saveEndedConnectedAccount(account);
      const claim = () => store().claimAccountRevocations(NOW, NOW + 60, 5);
      const claims = await Promise.all(times(RACERS, claim));
      expect(claims.flat()).toHaveLength(1);
      await store().postponeAccountRevocation(account, NOW + 90);
      expect(await store().claimAccountRevocations(NOW + 89, NOW + 200, 5)).toEqual([]);
      expect(await store().claimAccountRevocations(NOW + 90, NOW + 200, 5)).toMatchObject([
        { grantId: account.grantId, encryptedTokens: account.encryptedTokens, revocationAttempts: 2 },
      ]);
      expect(await store().sweep(NOW + 86_400, 100)).toBe(0);
      await store().completeAccountRevocation(account, account.version);
      expect(await store().findConnectedAccount(account)).toMatchObject({
        encryptedTokens: null,
        dueAt: null,
      });
      expect(await store().claimAccountRevocations(NOW + 999, NOW + 1999, 5)).toEqual([]);
      expect(await store().sweep(NOW + 86_399, 100)).toBe(0);
      expect(await store().sweep(NOW + 86_400, 100)).toBe(1);
      expect(await store().findConnectedAccount(account)).toBeNull();
    });

    it('are kept for their jobs when the user is removed', async () => {
      const [user, other] = [newAccount(), newAccount()];
      for (const one of [user, other]) await store().createAccount(one, newAccountLink(one.id));
      const mine = await connectFor(store(), user.id);
      const theirs = await connectFor(store(), other.id);
      await store().removeAccount(user.id, NOW);
      expect(await store().claimAccountRevocations(NOW, NOW + 60, 10)).toMatchObject([
        { grantId: mine.grantId, endReason: 'revoked_here', encryptedTokens: mine.encryptedTokens },
      ]);
      expect(await store().findConnectedAccount(theirs)).toEqual(theirs);
    });

    it('keep their data key, and are lost with it while the grant lives on', async () => {
      const key = newDataKey();
      await store().addDataKey(key, null);
      await store().addDataKey(newDataKey({ createdAt: NOW + 1 }), key.id);
      const { grant, account } = await connect(store(), { dataKeyId: key.id });
      expect(await store().removeUnusedDataKeys(NOW + 10)).toBe(0);
      expect(await store().discardDataKeys([key.id], NOW)).toBe(1);
      expect(await store().findConnectedAccount(account)).toMatchObject({
        encryptedTokens: null,
        endedAt: NOW,
        dueAt: null,
      });
      expect((await store().findGrant(grant.id))?.grant.revokedAt).toBeNull();
    });
  });
}

async function connectFor(store: AuthorizationStore, accountId: string): Promise<ConnectedAccountRecord> {
  const { grant } = await createGrant(store, { grant: { accountId } });
  const account = newConnectedAccount({ grantId: grant.id, accountId });
  expect(await store.saveConnectedAccount(account, null)).toBe(true);
  return account;
}

function describeRegistrations(store: StoreOfTest): void {
  describe('registrations at backends', () => {
    const registration = {
      backend: '/github',
      clientId: null,
      issuer: 'https://as.example.com',
      encryptedRegistration: Uint8Array.of(1, 2, 3),
      dataKeyId: 'data-key_1',
      createdAt: NOW,
    };

    it('are listed by backend and client, replaced and removed', async () => {
      const { backend } = registration;
      expect(await store().listBackendRegistrations(backend, null)).toEqual([]);
      await store().saveBackendRegistration(registration);
      const next = { ...registration, encryptedRegistration: Uint8Array.of(4), createdAt: NOW + 1 };
      await store().saveBackendRegistration(next);
      const other = { ...registration, issuer: 'https://other.example.com' };
      await store().saveBackendRegistration(other);
      const ofClient = { ...registration, clientId: 'client with spaces' };
      await store().saveBackendRegistration(ofClient);
      expect(await store().listBackendRegistrations(backend, null)).toEqual([next, other]);
      expect(await store().listBackendRegistrations(backend, ofClient.clientId)).toEqual([ofClient]);
      expect(await store().listBackendRegistrations(backend, 'another')).toEqual([]);
      expect(await store().listBackendRegistrations('/files', null)).toEqual([]);
      await store().removeBackendRegistration(registration);
      expect(await store().listBackendRegistrations(backend, null)).toEqual([other]);
      expect(await store().listBackendRegistrations(backend, ofClient.clientId)).toEqual([ofClient]);
    });

    it('keep their data key, and are lost with it', async () => {
      const key = newDataKey();
      await store().addDataKey(key, null);
      await store().addDataKey(newDataKey({ createdAt: NOW + 1 }), key.id);
      await store().saveBackendRegistration({ ...registration, dataKeyId: key.id });
      expect(await store().removeUnusedDataKeys(NOW + 10)).toBe(0);
      expect(await store().discardDataKeys([key.id], NOW)).toBe(0);
      expect(await store().listBackendRegistrations(registration.backend, null)).toEqual([]);
    });

    it('of clients that are gone are deleted with their data key, which those of other clients keep', async () => {
      const [old, shared, newest] = times(3, (index) => newDataKey({ createdAt: NOW + index })) as [
        DataKeyRecord,
        DataKeyRecord,
        DataKeyRecord,
      ];
      await store().addDataKey(old, null);
      await store().addDataKey(shared, old.id);
      await store().addDataKey(newest, shared.id);
      const [client, removed, document] = [newClient(), newClient(), newClientDocument()];
      for (const one of [client, removed]) await store().saveClient(one);
      await store().saveClientMetadataDocument(document);
      const { grant } = await createGrant(store(), { grant: { clientId: 'client_configured' } });
      const { backend } = registration;
      const save = (clientId: string | null, { id }: DataKeyRecord) =>
        store().saveBackendRegistration({ ...registration, clientId, dataKeyId: id });
      await save(removed.id, old);
      const rest = [null, client.id, document.url, grant.clientId];
      for (const clientId of rest) await save(clientId, shared);
      await save('client_gone', newest);
      expect(await store().removeUnusedDataKeys(NOW + 10)).toBe(0);
      expect(await store().listBackendRegistrations(backend, removed.id)).toHaveLength(1);

      await store().removeClient(removed.id, NOW);
      expect(await store().removeUnusedDataKeys(NOW + 10)).toBe(1);
      expect(await store().listBackendRegistrations(backend, removed.id)).toEqual([]);
      for (const clientId of [...rest, 'client_gone']) {
        expect(await store().listBackendRegistrations(backend, clientId)).toHaveLength(1);
      }
      expect((await store().listDataKeys()).map(({ id }) => id)).toEqual([newest.id, shared.id]);
    });
  });
}
