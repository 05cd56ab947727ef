/** The contract of third parties: departures, persons, bonds, and what ends them. */
import { describe, expect, it } from 'vitest';
import { describeBonds } from './bonds.ts';
import {
  makeGrant,
  NOW,
  newAccount,
  newTransaction,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';
import { newBond, newDataKey, newDeparture, newUser } from './upstream-samples.ts';

export function describeUpstream(store: StoreOfTest): void {
  describeDepartures(store);
  describeUsers(store);
  describeBonds(store);
  describeDataKeys(store);
}

function describeDepartures(store: StoreOfTest): void {
  describe('departures', () => {
    it('notes by whom the person of a transaction signs in, and nothing of other transactions', async () => {
      const [mine, other] = [newTransaction(), newTransaction()];
      await store().openTransaction(mine);
      await store().openTransaction(other);
      await store().directTransaction(mine.id, 'github');
      await store().directTransaction('flow_unknown', 'github');
      expect(await store().findTransaction(mine.id, NOW)).toEqual({ ...mine, identityProvider: 'github' });
      expect(await store().findTransaction(other.id, NOW)).toEqual(other);
      await store().directTransaction(mine.id, null);
      expect(await store().findTransaction(mine.id, NOW)).toEqual(mine);
    });

    it.each([
      { description: 'of a flow', given: {} },
      {
        description: 'of a flow that somebody signed in had allowed',
        given: { accountId: 'user_1', workspace: 'w "1"' },
      },
      { description: 'for a page', given: { transactionId: null, page: 'connections', approved: [] } },
    ])('keeps a departure $description whole, until the second in which it expires', async ({ given }) => {
      const departure = newDeparture(given);
      await store().saveDeparture(departure);
      expect(await store().findDeparture(departure.stateHash, departure.expiresAt - 1)).toEqual(departure);
      expect(await store().findDeparture(departure.stateHash, departure.expiresAt)).toBeNull();
      expect(await store().takeDeparture(departure.stateHash, departure.expiresAt)).toBe(false);
      expect(await store().findDeparture('unknown', NOW)).toBeNull();
    });

    it(`lets one of ${RACERS} that come back with one state take the departure`, async () => {
      const [departure, other] = [newDeparture(), newDeparture()];
      await store().saveDeparture(departure);
      await store().saveDeparture(other);
      const counts = await race(times(RACERS, () => () => store().takeDeparture(departure.stateHash, NOW)));
      expect(counts).toEqual({ true: 1, false: RACERS - 1 });
      expect(await store().findDeparture(departure.stateHash, NOW)).toBeNull();
      expect(await store().findDeparture(other.stateHash, NOW)).toEqual(other);
    });

    it('keeps one departure of a transaction, the last', async () => {
      const first = newDeparture();
      const [second, other] = [newDeparture({ transactionId: first.transactionId }), newDeparture()];
      const pages = [newDeparture({ transactionId: null }), newDeparture({ transactionId: null })];
      for (const one of [first, other, ...pages, second]) await store().saveDeparture(one);
      expect(await store().findDeparture(first.stateHash, NOW)).toBeNull();
      for (const one of [second, other, ...pages]) {
        expect(await store().findDeparture(one.stateHash, NOW)).toEqual(one);
      }
    });

    it('sweeps departures that have expired, and no others', async () => {
      const [past, present] = [newDeparture({ expiresAt: NOW }), newDeparture({ expiresAt: NOW + 1 })];
      await store().saveDeparture(past);
      await store().saveDeparture(present);
      expect(await store().sweep(NOW, 100)).toBe(1);
      expect(await store().findDeparture(past.stateHash, NOW - 1)).toBeNull();
      expect(await store().findDeparture(present.stateHash, NOW)).toEqual(present);
    });
  });
}

function describeUsers(store: StoreOfTest): void {
  describe('persons', () => {
    it('makes an account for a person, and finds each by the other', async () => {
      const account = newAccount();
      const user = newUser({ accountId: account.id });
      expect(await store().addUser(user, account)).toBe(account.id);
      expect(await store().findUser(user.issuer, user.subject)).toEqual(user);
      expect(await store().findUserOf(account.id)).toEqual(user);
      expect(await store().findAccount(account.id)).toEqual(account);
    });

    it('tells persons apart by issuer and subject together', async () => {
      const [one, two] = [newAccount(), newAccount()];
      await store().addUser(newUser({ subject: '1', accountId: one.id }), one);
      await store().addUser(newUser({ issuer: 'https://gitlab.com', subject: '1', accountId: two.id }), two);
      expect((await store().findUser('https://github.com', '1'))?.accountId).toBe(one.id);
      expect((await store().findUser('https://gitlab.com', '1'))?.accountId).toBe(two.id);
      expect(await store().findUser('https://github.com', '2')).toBeNull();
      expect(await store().findUserOf('user_unknown')).toBeNull();
    });

    it('leave the first account of this server’s own to its owner', async () => {
      const [user, first] = [newAccount(), newAccount()];
      await store().addUser(newUser({ accountId: user.id }), user);
      expect(await store().hasAccounts()).toBe(false);
      await store().saveSetupLink('link', NOW);
      expect(await store().isSetupLink('link')).toBe(true);
      expect(await store().createFirstAccount(first, 'link')).toBe('created');
      expect([await store().hasAccounts(), await store().isSetupLink('link')]).toEqual([true, false]);
      expect(await store().createFirstAccount(newAccount(), null)).toBe('refused');
    });

    it(`makes one account for ${RACERS} that come at once as the same person`, async () => {
      const accounts = times(RACERS, () => newAccount());
      const ids = await Promise.all(
        accounts.map((account) => store().addUser(newUser({ subject: '1', accountId: account.id }), account)),
      );
      expect(new Set(ids).size).toBe(1);
      expect(await store().listAccounts('', 100)).toHaveLength(1);
      expect((await store().findUser('https://github.com', '1'))?.accountId).toBe(ids[0]);
    });
  });
}

function describeDataKeys(store: StoreOfTest): void {
  describe('data keys', () => {
    it(`gives ${RACERS} that come at once the same first key`, async () => {
      expect(await store().listDataKeys()).toEqual([]);
      const answers = await Promise.all(times(RACERS, () => store().addDataKey(newDataKey(), null)));
      const kept = await store().listDataKeys();
      expect(kept).toHaveLength(1);
      for (const answer of answers) expect(answer).toEqual(kept);
    });

    it('puts a key behind the newest only, and lists the newest first', async () => {
      const [first, second] = [newDataKey(), newDataKey({ createdAt: NOW + 10 })];
      await store().addDataKey(first, null);
      expect(await store().addDataKey(second, first.id)).toEqual([second, first]);
      expect(await store().addDataKey(newDataKey({ createdAt: NOW + 20 }), first.id)).toEqual([
        second,
        first,
      ]);
    });

    it('seals all data keys anew, or none when there are others', async () => {
      const [first, second] = [newDataKey(), newDataKey({ createdAt: NOW + 10 })];
      await store().addDataKey(first, null);
      await store().addDataKey(second, first.id);
      expect(await store().resealDataKeys(new Map([[first.id, Uint8Array.of(9)]]))).toBe(false);
      expect(await store().listDataKeys()).toEqual([second, first]);
      const both = new Map([first, second].map(({ id }, index) => [id, Uint8Array.of(index)]));
      expect(await store().resealDataKeys(both)).toBe(true);
      expect(await store().listDataKeys()).toEqual([
        { ...second, sealedKey: Uint8Array.of(1) },
        { ...first, sealedKey: Uint8Array.of(0) },
      ]);
    });

    it('discards data keys that nothing opens, with all that rests on them, and leaves the rest alone', async () => {
      const [lost, kept] = [newDataKey(), newDataKey({ createdAt: NOW + 10 })];
      await store().addDataKey(lost, null);
      await store().addDataKey(kept, lost.id);
      const bondUnder = async ({ id }: { readonly id: string }) => {
        const { grant } = await makeGrant(store());
        const transaction = newTransaction();
        await store().openTransaction(transaction);
        const bond = newBond({ grantId: grant.id, dataKeyId: id });
        await store().bindTransaction(transaction.id, bond);
        return bond;
      };
      const [{ grantId: gone }, stays] = [await bondUnder(lost), await bondUnder(kept)];
      const ended = newBond({ dataKeyId: lost.id, endedAt: NOW, endReason: 'lapsed', dueAt: NOW });
      await store().saveEndedBond(ended);

      expect(await store().discardDataKeys([lost.id, 'data-key_nobody'], NOW + 20)).toBe(1);
      expect(await store().listDataKeys()).toEqual([kept]);
      expect(await store().findBond(gone)).toMatchObject({
        endedAt: NOW + 20,
        sealedTokens: null,
        dueAt: null,
      });
      expect(await store().isAccessTokenLive('jti', gone)).toBe(false);
      expect(await store().findBond(ended.grantId)).toMatchObject({
        endedAt: NOW,
        sealedTokens: null,
        dueAt: null,
      });
      expect(await store().claimFarewells(NOW + 30, NOW + 60, 5)).toEqual([]);
      expect(await store().findBond(stays.grantId)).toEqual(stays);
      expect(await store().isAccessTokenLive('jti', stays.grantId)).toBe(true);
      expect(await store().discardDataKeys([lost.id], NOW + 30)).toBe(0);
    });

    it('removes old data keys that seal nothing, and keeps the newest and those in use', async () => {
      const keys = times(3, (index) => newDataKey({ createdAt: NOW + index }));
      const [used, unused, newest] = keys;
      let last: string | null = null;
      for (const key of keys) {
        await store().addDataKey(key, last);
        last = key.id;
      }
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      await store().bindTransaction(transaction.id, newBond({ dataKeyId: used?.id ?? '' }));
      expect(await store().removeUnusedDataKeys(NOW + 2)).toBe(0);
      expect(await store().removeUnusedDataKeys(NOW + 3)).toBe(1);
      expect(await store().listDataKeys()).toEqual([newest, used]);
      expect(unused).toBeDefined();
    });
  });
}
