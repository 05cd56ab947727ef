/** The contract of authorization transactions. */
import { describe, expect, it } from 'vitest';
import { NOW, newCode, newTransaction, RACERS, race, type StoreOfTest, times } from './samples.ts';

export function describeTransactions(store: StoreOfTest): void {
  describe('authorization transactions', () => {
    const records = [
      { description: 'a complete one', given: {} },
      {
        description: 'one with few parameters',
        given: { encryptedState: null, redirectUriSent: false, scopes: [], resources: [] },
      },
      {
        description: 'one that is signed in, approved and must sign in again',
        given: { accountId: 'user_1', approvedScopes: ['notes:read'], forceLogin: true },
      },
      { description: 'one that was approved without scopes', given: { approvedScopes: [] } },
    ];
    it.each(records)('stores an authorization transaction completely: $description', async ({ given }) => {
      const transaction = newTransaction(given);
      await store().openTransaction(transaction);
      expect(await store().findTransaction(transaction.id, NOW)).toEqual(transaction);
    });

    it('finds a transaction until the second it expires', async () => {
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      expect(await store().findTransaction(transaction.id, transaction.expiresAt - 1)).toEqual(transaction);
      expect(await store().findTransaction(transaction.id, transaction.expiresAt)).toBeNull();
      expect(await store().findTransaction('flow_unknown', NOW)).toBeNull();
    });

    it('records the signed-in account in that transaction only', async () => {
      const [mine, other] = [newTransaction(), newTransaction()];
      await store().openTransaction(mine);
      await store().openTransaction(other);
      await store().setTransactionAccount(mine.id, 'user_1');
      await store().setTransactionAccount('flow_unknown', 'user_1');
      expect(await store().findTransaction(mine.id, NOW)).toEqual({ ...mine, accountId: 'user_1' });
      expect(await store().findTransaction(other.id, NOW)).toEqual(other);
      expect(await store().findTransaction('flow_unknown', NOW)).toBeNull();
    });

    it('T043: counts transactions without a signed-in user, also by the network that opened them', async () => {
      const [signedIn, linked, declined, old] = [
        newTransaction(),
        newTransaction(),
        newTransaction(),
        newTransaction({ expiresAt: NOW + 9 }),
      ];
      const counts = async (now: number) => [
        await store().countAnonymousTransactions(now),
        Object.fromEntries(await store().countAnonymousTransactionsByNetwork(now)),
      ];
      expect(await counts(NOW)).toEqual([0, {}]);
      for (const one of [signedIn, linked, declined, old, newTransaction()])
        await store().openTransaction(one, 'network-1');
      await store().openTransaction(newTransaction(), '');
      await store().openTransaction(newTransaction(), null);
      await store().openTransaction(newTransaction());
      expect(await counts(NOW)).toEqual([6, { 'network-1': 5, '': 1 }]);
      expect(await counts(NOW + 9)).toEqual([5, { 'network-1': 4, '': 1 }]);
      await store().setTransactionAccount(signedIn.id, 'user_1');
      await store().completeTransaction(declined.id, null);
      expect(await counts(NOW + 9)).toEqual([3, { 'network-1': 2, '': 1 }]);
      // The network is not part of the record.
      expect(await store().findTransaction(linked.id, NOW)).toEqual(linked);
    });

    it('completes a transaction once and issues its code', async () => {
      const [transaction, code] = [newTransaction(), newCode({ redirectUri: null })];
      await store().openTransaction(transaction);
      expect(await store().completeTransaction(transaction.id, code)).toBe(true);
      expect(await store().findTransaction(transaction.id, NOW)).toBeNull();
      expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: null });

      const second = newCode();
      expect(await store().completeTransaction(transaction.id, second)).toBe(false);
      expect(await store().findCode(second.hash)).toBeNull();
    });

    it('completes a transaction without a code when the user declined', async () => {
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      expect(await store().completeTransaction(transaction.id, null)).toBe(true);
      expect(await store().findTransaction(transaction.id, NOW)).toBeNull();
      expect(await store().completeTransaction(transaction.id, null)).toBe(false);
    });

    it(`issues one code when ${RACERS} completions of a transaction race`, async () => {
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      const codes = times(RACERS, () => newCode());
      const outcomes = await race(
        codes.map((code) => () => store().completeTransaction(transaction.id, code)),
      );
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
      const found = await Promise.all(codes.map(({ hash }) => store().findCode(hash)));
      expect(found.filter((code) => code !== null)).toHaveLength(1);
    });

    it('T139: keeps a transaction open if its code cannot be stored', async () => {
      const [first, second, code] = [newTransaction(), newTransaction(), newCode()];
      await store().openTransaction(first);
      await store().openTransaction(second);
      await store().completeTransaction(first.id, code);
      await expect(store().completeTransaction(second.id, code)).rejects.toThrow();
      expect(await store().findTransaction(second.id, NOW)).toEqual(second);
      expect(await store().completeTransaction(second.id, newCode())).toBe(true);
    });
  });
}
