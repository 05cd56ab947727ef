/** The contract of federation: federated logins, linked identities, data keys. */
import { describe, expect, it } from 'vitest';
import { newDataKey, newFederatedLogin, newLinkedIdentity, newProviderTokens } from './federation-samples.ts';
import { describeProviderTokens } from './provider-tokens.ts';
import {
  createGrant,
  NOW,
  newAccount,
  newTransaction,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describeFederation(store: StoreOfTest): void {
  describeFederatedLogins(store);
  describeLinkedIdentities(store);
  describeProviderTokens(store);
  describeDataKeys(store);
}

function describeFederatedLogins(store: StoreOfTest): void {
  describe('federated logins', () => {
    it('records the identity provider of one authorization transaction and of no other', async () => {
      const [mine, other] = [newTransaction(), newTransaction()];
      await store().openTransaction(mine);
      await store().openTransaction(other);
      await store().setTransactionIdentityProvider(mine.id, 'github');
      await store().setTransactionIdentityProvider('flow_unknown', 'github');
      expect(await store().findTransaction(mine.id, NOW)).toEqual({ ...mine, identityProvider: 'github' });
      expect(await store().findTransaction(other.id, NOW)).toEqual(other);
      await store().setTransactionIdentityProvider(mine.id, null);
      expect(await store().findTransaction(mine.id, NOW)).toEqual(mine);
    });

    it.each([
      { description: 'of an authorization transaction', given: {} },
      {
        description: 'of a transaction that a signed-in user approved',
        given: { accountId: 'user_1', workspace: 'w "1"' },
      },
      {
        description: 'that returns to a page',
        given: { transactionId: null, returnTo: 'connections', approvedScopes: [] },
      },
      {
        description: 'at a backend where a user connects an account',
        given: { identityProvider: null, backend: '/wiki', transactionId: null, accountId: 'user_1' },
      },
    ])('stores a federated login $description completely, until the second it expires', async ({ given }) => {
      const federatedLogin = newFederatedLogin(given);
      await store().saveFederatedLogin(federatedLogin);
      expect(
        await store().findFederatedLogin(federatedLogin.stateHash, federatedLogin.expiresAt - 1),
      ).toEqual(federatedLogin);
      expect(await store().findFederatedLogin(federatedLogin.stateHash, federatedLogin.expiresAt)).toBeNull();
      expect(await store().consumeFederatedLogin(federatedLogin.stateHash, federatedLogin.expiresAt)).toBe(
        false,
      );
      expect(await store().findFederatedLogin('unknown', NOW)).toBeNull();
    });

    it(`consumes a federated login once when ${RACERS} callbacks with the same state race`, async () => {
      const [federatedLogin, other] = [newFederatedLogin(), newFederatedLogin()];
      await store().saveFederatedLogin(federatedLogin);
      await store().saveFederatedLogin(other);
      const counts = await race(
        times(RACERS, () => () => store().consumeFederatedLogin(federatedLogin.stateHash, NOW)),
      );
      expect(counts).toEqual({ true: 1, false: RACERS - 1 });
      expect(await store().findFederatedLogin(federatedLogin.stateHash, NOW)).toBeNull();
      expect(await store().findFederatedLogin(other.stateHash, NOW)).toEqual(other);
    });

    it('keeps only the latest federated login of a transaction', async () => {
      const first = newFederatedLogin();
      const [second, other] = [
        newFederatedLogin({ transactionId: first.transactionId }),
        newFederatedLogin(),
      ];
      const pages = [newFederatedLogin({ transactionId: null }), newFederatedLogin({ transactionId: null })];
      for (const one of [first, other, ...pages, second]) await store().saveFederatedLogin(one);
      expect(await store().findFederatedLogin(first.stateHash, NOW)).toBeNull();
      for (const one of [second, other, ...pages]) {
        expect(await store().findFederatedLogin(one.stateHash, NOW)).toEqual(one);
      }
    });

    it('sweeps expired federated logins and no others', async () => {
      const [past, present] = [
        newFederatedLogin({ expiresAt: NOW }),
        newFederatedLogin({ expiresAt: NOW + 1 }),
      ];
      await store().saveFederatedLogin(past);
      await store().saveFederatedLogin(present);
      expect(await store().sweep(NOW, 100)).toBe(1);
      expect(await store().findFederatedLogin(past.stateHash, NOW - 1)).toBeNull();
      expect(await store().findFederatedLogin(present.stateHash, NOW)).toEqual(present);
    });
  });
}

function describeLinkedIdentities(store: StoreOfTest): void {
  describe('linked identities', () => {
    it('creates an account for an identity, and finds each by the other', async () => {
      const account = newAccount();
      const user = newLinkedIdentity({ accountId: account.id });
      expect(await store().linkIdentity(user, account)).toBe(account.id);
      expect(await store().findLinkedIdentity(user.issuer, user.subject)).toEqual(user);
      expect(await store().findLinkedIdentityByAccount(account.id)).toEqual(user);
      expect(await store().findAccount(account.id)).toEqual(account);
    });

    it('distinguishes linked identities by issuer and subject together', async () => {
      const [one, two] = [newAccount(), newAccount()];
      await store().linkIdentity(newLinkedIdentity({ subject: '1', accountId: one.id }), one);
      await store().linkIdentity(
        newLinkedIdentity({ issuer: 'https://gitlab.com', subject: '1', accountId: two.id }),
        two,
      );
      expect((await store().findLinkedIdentity('https://github.com', '1'))?.accountId).toBe(one.id);
      expect((await store().findLinkedIdentity('https://gitlab.com', '1'))?.accountId).toBe(two.id);
      expect(await store().findLinkedIdentity('https://github.com', '2')).toBeNull();
      expect(await store().findLinkedIdentityByAccount('user_unknown')).toBeNull();
    });

    it('creates a first local account beside accounts of linked identities, but by no setup link', async () => {
      const [user, first] = [newAccount(), newAccount()];
      expect(await store().saveSetupLink('link', NOW)).toBe(true);
      await store().linkIdentity(newLinkedIdentity({ accountId: user.id }), user);
      expect(await store().isSetupLink('link', NOW)).toBe(false);
      expect(await store().createFirstAccount(first, 'link')).toBe('refused');
      expect(await store().saveSetupLink('another', NOW)).toBe(false);
      expect([await store().hasLocalAccounts(), await store().findAccount(first.id)]).toEqual([false, null]);
      expect(await store().createFirstAccount(first, null)).toBe('created');
      expect(await store().hasLocalAccounts()).toBe(true);
      expect(await store().createFirstAccount(newAccount(), null)).toBe('refused');
    });

    it(`creates one account when ${RACERS} logins of the same identity race`, async () => {
      const accounts = times(RACERS, () => newAccount());
      const ids = await Promise.all(
        accounts.map((account) =>
          store().linkIdentity(newLinkedIdentity({ subject: '1', accountId: account.id }), account),
        ),
      );
      expect(new Set(ids).size).toBe(1);
      expect(await store().listAccounts('', 100)).toHaveLength(1);
      expect((await store().findLinkedIdentity('https://github.com', '1'))?.accountId).toBe(ids[0]);
    });
  });
}

function describeDataKeys(store: StoreOfTest): void {
  describe('data keys', () => {
    it(`returns the same first data key to ${RACERS} concurrent calls`, async () => {
      expect(await store().listDataKeys()).toEqual([]);
      const responses = await Promise.all(times(RACERS, () => store().addDataKey(newDataKey(), null)));
      const retained = await store().listDataKeys();
      expect(retained).toHaveLength(1);
      for (const response of responses) expect(response).toEqual(retained);
    });

    it('adds a data key only after the newest one, and lists the newest first', async () => {
      const [first, second] = [newDataKey(), newDataKey({ createdAt: NOW + 10 })];
      await store().addDataKey(first, null);
      expect(await store().addDataKey(second, first.id)).toEqual([second, first]);
      expect(await store().addDataKey(newDataKey({ createdAt: NOW + 20 }), first.id)).toEqual([
        second,
        first,
      ]);
    });

    it('re-encrypts all data keys, or none if the set has changed', async () => {
      const [first, second] = [newDataKey(), newDataKey({ createdAt: NOW + 10 })];
      await store().addDataKey(first, null);
      await store().addDataKey(second, first.id);
      expect(await store().reencryptDataKeys(new Map([[first.id, Uint8Array.of(9)]]))).toBe(false);
      expect(await store().listDataKeys()).toEqual([second, first]);
      const both = new Map([first, second].map(({ id }, index) => [id, Uint8Array.of(index)]));
      expect(await store().reencryptDataKeys(both)).toBe(true);
      expect(await store().listDataKeys()).toEqual([
        { ...second, encryptedKey: Uint8Array.of(1) },
        { ...first, encryptedKey: Uint8Array.of(0) },
      ]);
    });

    it('discards lost data keys with the provider tokens that they encrypt, and nothing else', async () => {
      const [lost, retained] = [newDataKey(), newDataKey({ createdAt: NOW + 10 })];
      await store().addDataKey(lost, null);
      await store().addDataKey(retained, lost.id);
      const providerTokensUnder = async ({ id }: { readonly id: string }) => {
        const { grant } = await createGrant(store());
        const transaction = newTransaction();
        await store().openTransaction(transaction);
        const providerTokens = newProviderTokens({ grantId: grant.id, dataKeyId: id });
        await store().saveProviderTokens(transaction.id, providerTokens);
        return providerTokens;
      };
      const [{ grantId: gone }, stays] = [
        await providerTokensUnder(lost),
        await providerTokensUnder(retained),
      ];
      const ended = newProviderTokens({
        dataKeyId: lost.id,
        endedAt: NOW,
        endReason: 'grant_expired',
        dueAt: NOW,
      });
      await store().saveEndedProviderTokens(ended);

      expect(await store().discardDataKeys([lost.id, 'data-key_unknown'], NOW + 20)).toBe(1);
      expect(await store().listDataKeys()).toEqual([retained]);
      expect(await store().findProviderTokens(gone)).toMatchObject({
        endedAt: NOW + 20,
        encryptedTokens: null,
        dueAt: null,
      });
      expect(await store().isAccessTokenLive('jti', gone)).toBe(false);
      expect(await store().findProviderTokens(ended.grantId)).toMatchObject({
        endedAt: NOW,
        encryptedTokens: null,
        dueAt: null,
      });
      expect(await store().claimRevocationJobs(NOW + 30, NOW + 60, 5)).toEqual([]);
      expect(await store().findProviderTokens(stays.grantId)).toEqual(stays);
      expect(await store().isAccessTokenLive('jti', stays.grantId)).toBe(true);
      expect(await store().discardDataKeys([lost.id], NOW + 30)).toBe(0);
    });

    it('removes old data keys that encrypt nothing, and keeps the newest and those in use', async () => {
      const keys = times(3, (index) => newDataKey({ createdAt: NOW + index }));
      const [used, unused, newest] = keys;
      let last: string | null = null;
      for (const key of keys) {
        await store().addDataKey(key, last);
        last = key.id;
      }
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      await store().saveProviderTokens(transaction.id, newProviderTokens({ dataKeyId: used?.id ?? '' }));
      expect(await store().removeUnusedDataKeys(NOW + 2)).toBe(0);
      expect(await store().removeUnusedDataKeys(NOW + 3)).toBe(1);
      expect(await store().listDataKeys()).toEqual([newest, used]);
      expect(unused).toBeDefined();
    });
  });
}
