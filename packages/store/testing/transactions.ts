/** The contract of authorization transactions. */
import { describe, expect, it } from 'vitest';
import { NOW, newCode, newTransaction, RACERS, race, type StoreOfTest, times } from './samples.ts';

export function describeTransactions(store: StoreOfTest): void {
  describe('transactions', () => {
    const records = [
      { description: 'a plain one', given: {} },
      {
        description: 'one that sent little',
        given: { state: null, redirectUriSent: false, scopes: [], resources: [] },
      },
      {
        description: 'one that is signed in, approved and asks to sign in again',
        given: { accountId: 'user_1', approvedScopes: ['notes:read'], forceLogin: true },
      },
      { description: 'one that was allowed nothing', given: { approvedScopes: [] } },
    ];
    it.each(records)('keeps $description whole', async ({ given }) => {
      const transaction = newTransaction(given);
      await store().openTransaction(transaction);
      expect(await store().findTransaction(transaction.id, NOW)).toEqual(transaction);
    });

    const states = [
      '',
      '\0',
      'a\0b',
      '"\'\\',
      '{"json":null}',
      'null',
      '\ud800',
      'é≠🗝',
      ' \t\r\n',
      'x'.repeat(10_000),
    ];
    it.each(states.map((state) => ({ state })))(
      'gives the state $state back as it came',
      async ({ state }) => {
        const transaction = newTransaction({ state });
        await store().openTransaction(transaction);
        expect((await store().findTransaction(transaction.id, NOW))?.state).toBe(state);
      },
    );

    it('finds a transaction until the second in which it expires', async () => {
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      expect(await store().findTransaction(transaction.id, transaction.expiresAt - 1)).toEqual(transaction);
      expect(await store().findTransaction(transaction.id, transaction.expiresAt)).toBeNull();
      expect(await store().findTransaction('flow_unknown', NOW)).toBeNull();
    });

    it('notes who signed in, in that transaction only', async () => {
      const [mine, other] = [newTransaction(), newTransaction()];
      await store().openTransaction(mine);
      await store().openTransaction(other);
      await store().setTransactionAccount(mine.id, 'user_1');
      await store().setTransactionAccount('flow_unknown', 'user_1');
      expect(await store().findTransaction(mine.id, NOW)).toEqual({ ...mine, accountId: 'user_1' });
      expect(await store().findTransaction(other.id, NOW)).toEqual(other);
      expect(await store().findTransaction('flow_unknown', NOW)).toBeNull();
    });

    it('issues a code as it ends, once', async () => {
      const [transaction, code] = [newTransaction(), newCode({ redirectUri: null })];
      await store().openTransaction(transaction);
      expect(await store().completeTransaction(transaction.id, code)).toBe(true);
      expect(await store().findTransaction(transaction.id, NOW)).toBeNull();
      expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: null });

      const second = newCode();
      expect(await store().completeTransaction(transaction.id, second)).toBe(false);
      expect(await store().findCode(second.hash)).toBeNull();
    });

    it('ends without a code when the person declined', async () => {
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      expect(await store().completeTransaction(transaction.id, null)).toBe(true);
      expect(await store().findTransaction(transaction.id, NOW)).toBeNull();
      expect(await store().completeTransaction(transaction.id, null)).toBe(false);
    });

    it(`issues one code when ${RACERS} end it at once`, async () => {
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

    it('T139: neither ends nor issues when the code cannot be stored', async () => {
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
