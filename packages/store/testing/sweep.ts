/** The contract of the sweep: obsolete rows are deleted in small steps, and no others. */
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import { newFederatedLogin, newProviderTokens } from './federation-samples.ts';
import {
  grantOf,
  issueCode,
  makeGrant,
  NOW,
  newAccount,
  newAccountLink,
  newClient,
  newClientDocument,
  newCode,
  newEvent,
  newHash,
  newInitialAccessToken,
  newRefreshToken,
  newSession,
  newTransaction,
  type StoreOfTest,
  times,
} from './samples.ts';

/** After so long nothing that these tests made is of use, but accounts, keys and clients without an end. */
const END = NOW + 100_000_000;

/** Everything that is swept by itself: how one is made whose time is over at a second, and for how long it is kept behind that. */
const KINDS: readonly {
  readonly kind: string;
  readonly kept: number;
  readonly make: (store: AuthorizationStore, over: number) => Promise<unknown>;
}[] = [
  {
    kind: 'transactions',
    kept: 0,
    make: (store, expiresAt) => store.openTransaction(newTransaction({ expiresAt })),
  },
  {
    kind: 'sessions',
    kept: 0,
    make: (store, expiresAt) => withAccount(store, (id) => store.saveSession(newSession(id, { expiresAt }))),
  },
  {
    kind: 'links of accounts',
    kept: 0,
    make: (store, expiresAt) =>
      withAccount(store, (id) => store.saveAccountLink(newAccountLink(id, { expiresAt }))),
  },
  { kind: 'codes', kept: 600, make: (store, expiresAt) => issueCode(store, newCode({ expiresAt })) },
  {
    kind: 'revocations of access tokens',
    kept: 600,
    make: (store, expiresAt) => store.revokeAccessToken(newHash(), expiresAt),
  },
  {
    kind: 'grants that expired',
    kept: 86_400,
    make: (store, expiresAt) => makeGrant(store, { grant: { expiresAt } }),
  },
  {
    kind: 'grants that were revoked',
    kept: 86_400,
    async make(store, at) {
      const { grant } = await makeGrant(store, { grant: { expiresAt: END } });
      await store.revokeGrant(grant.id, at);
    },
  },
  {
    kind: 'departures',
    kept: 0,
    make: (store, expiresAt) => store.saveFederatedLogin(newFederatedLogin({ expiresAt })),
  },
  {
    kind: 'bonds that ended',
    kept: 86_400,
    make: (store, endedAt) =>
      store.saveEndedProviderTokens(
        newProviderTokens({ endedAt, endReason: 'grant_expired', dueAt: null, encryptedTokens: null }),
      ),
  },
  ...(['grant', 'client'] as const).map((kind) => ({
    kind: `places lent to a ${kind}`,
    kept: 0,
    make: async (store: AuthorizationStore, over: number) =>
      store.allocateStatusIndex(
        { kind, id: newHash() },
        await store.reserveStatusIndexes(1),
        NOW,
        over,
        false,
      ),
  })),
  {
    kind: 'assertions that were spent',
    kept: 0,
    make: (store, expiresAt) => store.consumeClientAssertion(newHash(), expiresAt),
  },
  {
    kind: 'invitations of clients',
    kept: 0,
    make: (store, expiresAt) => store.saveInitialAccessToken(newInitialAccessToken({ expiresAt })),
  },
  { kind: 'events', kept: 0, make: (store, expiresAt) => store.appendEvents([newEvent({ expiresAt })]) },
  {
    kind: 'turns',
    kept: 0,
    make: (store, over) => store.chargeRateLimit(newHash(), { burst: 1, interval: over - NOW }, NOW),
  },
  {
    kind: 'clients that were never used',
    kept: 3600,
    make: (store, expiresAt) => store.saveClient(newClient({ expiresAt })),
  },
  {
    kind: 'clients that were used',
    kept: 0,
    make: (store, expiresAt) => store.saveClient(newClient({ expiresAt, lastUsedAt: NOW })),
  },
  {
    kind: 'copies of documents',
    kept: 0,
    make: (store, expiresAt) => store.saveClientMetadataDocument(newClientDocument({ expiresAt })),
  },
];

/** Clients of every kind that is swept: how one is made that expires at a second, and when it expires now; `null`: it is gone. */
const CLIENTS: readonly {
  readonly kind: string;
  /** Seconds for which it is kept after its end. */
  readonly kept: number;
  readonly make: (store: AuthorizationStore, expiresAt: number) => Promise<string>;
  readonly expiryOf: (store: AuthorizationStore, id: string) => Promise<number | null>;
}[] = [
  ...[null, NOW].map((lastUsedAt) => ({
    kind: lastUsedAt === null ? 'client that was never used' : 'client that was used',
    kept: lastUsedAt === null ? 3600 : 0,
    async make(store: AuthorizationStore, expiresAt: number) {
      const client = newClient({ expiresAt, lastUsedAt });
      await store.saveClient(client);
      return client.id;
    },
    expiryOf: async (store: AuthorizationStore, id: string) =>
      (await store.findClient(id))?.expiresAt ?? null,
  })),
  {
    kind: 'copy of a document',
    kept: 0,
    async make(store, expiresAt) {
      const copy = newClientDocument({ expiresAt });
      await store.saveClientMetadataDocument(copy);
      return copy.url;
    },
    expiryOf: async (store, url) => (await store.findClientMetadataDocument(url))?.expiresAt ?? null,
  },
];

async function withAccount(store: AuthorizationStore, act: (id: string) => Promise<unknown>): Promise<void> {
  const account = newAccount();
  await store.linkIdentity(
    { issuer: 'https://people.example', subject: account.id, accountId: account.id },
    account,
  );
  await act(account.id);
}

export function describeSweeping(store: StoreOfTest): void {
  /** How many rows go when everything that can go does. */
  const sweepAll = async (now: number) => {
    let all = 0;
    for (let swept = -1; swept !== 0; all += swept) swept = await store().sweep(now, 100);
    return all;
  };

  describe('sweeping', () => {
    it('finds nothing to do in an empty store', async () => {
      expect(await store().sweep(END, 100)).toBe(0);
    });

    it('leaves everything that is of use', async () => {
      const account = newAccount();
      await store().createFirstAccount(account, null);
      const session = newSession(account.id);
      await store().saveSession(session);
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      const code = await issueCode(store());
      const { grant } = await makeGrant(store());
      const revoked = newHash();
      await store().revokeAccessToken(revoked, NOW + 600);

      expect(await store().sweep(NOW, 100)).toBe(0);
      expect((await store().findSession(session.hash, NOW))?.session).toEqual(session);
      expect(await store().findTransaction(transaction.id, NOW)).toEqual(transaction);
      expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: null });
      expect(await store().findGrant(grant.id)).not.toBeNull();
      expect(await store().isAccessTokenLive(revoked, null)).toBe(false);
    });

    it('T143: leaves nothing behind but accounts, keys and clients without an end', async () => {
      const [account, client] = [newAccount(), newClient({ expiresAt: null })];
      await store().createFirstAccount(account, null);
      await store().saveClient(client);
      await store().saveSession(newSession(account.id)); // 1
      await store().openTransaction(newTransaction()); // 2
      await issueCode(store()); // 3
      const { grant, token } = await makeGrant(store()); // 4: its code; 5: the grant
      await store().rotateRefreshToken(grant.id, token.hash, newRefreshToken(), null);
      await store().revokeGrant((await makeGrant(store())).grant.id, NOW); // 6, 7
      await store().revokeAccessToken(newHash(), NOW + 600); // 8

      expect(await sweepAll(END)).toBe(8);
      expect(await store().findAccount(account.id)).toEqual(account);
      expect(await store().findClient(client.id)).toEqual(client);
    });

    it('T143: takes small steps', async () => {
      const transactions = times(25, () => newTransaction());
      await Promise.all(transactions.map((transaction) => store().openTransaction(transaction)));
      const steps: number[] = [];
      for (let step = 0; step < 4; step += 1) steps.push(await store().sweep(END, 10));
      expect(steps).toEqual([10, 10, 5, 0]);
    });

    it.each(KINDS)(
      'T143: sweeps $kind from the second in which their time is over, or later, in small steps',
      async ({ make, kept }) => {
        const over = NOW + 5_000_000;
        for (const at of [over, over, over + 9]) await make(store(), at);
        // What came with them and may go before.
        while ((await store().sweep(over + kept - 1, 100)) > 0);
        expect(await store().sweep(over + kept, 1)).toBe(1);
        expect(await store().sweep(over + kept, 100)).toBe(1);
        expect(await store().sweep(over + kept, 100)).toBe(0);
        expect(await store().sweep(over + kept + 50, 100)).toBe(1);
        expect(await store().sweep(END, 100)).toBe(0);
      },
    );

    it.each(CLIENTS)(
      'T143: sweeps no $kind that holds a live grant, however many there are, and none of them stands before the others',
      async ({ make, expiryOf, kept }) => {
        const over = NOW + 5_000_000;
        const now = over + 1;
        const makeHolder = async (expiresAt: number, grantEnds: number) => {
          const clientId = await make(store(), expiresAt - kept);
          const { grant } = await makeGrant(store(), { grant: { clientId, expiresAt: grantEnds } });
          return { clientId, grant };
        };
        const live = await Promise.all(times(3, () => makeHolder(over, END)));
        const [last, lapsed, revoked, later] = [
          await makeHolder(over, now + 1),
          await makeHolder(over, now),
          await makeHolder(over, END),
          await makeHolder(now + 1000, END),
        ];
        await store().revokeGrant(revoked.grant.id, now - 1);
        const idle = await make(store(), now - kept);

        for (const _ of times(12, () => null)) await store().sweep(now, 1);
        for (const { clientId } of [...live, last]) {
          expect(await expiryOf(store(), clientId)).toBeGreaterThan(now);
        }
        expect(await expiryOf(store(), later.clientId)).toBe(now + 1000 - kept);
        for (const gone of [lapsed.clientId, revoked.clientId, idle]) {
          expect(await expiryOf(store(), gone)).toBeNull();
        }
      },
    );

    it('sweeps transactions and sessions from the second in which they expire', async () => {
      const account = newAccount();
      await store().createFirstAccount(account, null);
      await store().saveSession(newSession(account.id, { expiresAt: NOW + 50 }));
      await store().openTransaction(newTransaction({ expiresAt: NOW + 50 }));
      expect(await store().sweep(NOW + 49, 100)).toBe(0);
      expect(await store().sweep(NOW + 50, 100)).toBe(2);
    });

    it('remembers a code for ten minutes after its end, so that a second use is seen', async () => {
      const code = await issueCode(store());
      await store().redeemCode(code.hash, grantOf(code), null, NOW);
      await store().sweep(code.expiresAt + 599, 100);
      expect((await store().findCode(code.hash))?.consumedAt).toBe(NOW);
      await store().sweep(code.expiresAt + 600, 100);
      expect(await store().findCode(code.hash)).toBeNull();
    });

    it('revives nothing: what was revoked stays so after its rows are gone', async () => {
      const { grant, token } = await makeGrant(store());
      const tokenId = newHash();
      await store().revokeGrant(grant.id, NOW);
      await store().revokeAccessToken(tokenId, NOW + 600);
      await store().sweep(NOW + 600, 100);
      expect(await store().isAccessTokenLive(tokenId, null)).toBe(false);
      await sweepAll(END);
      expect(await store().isAccessTokenLive(newHash(), grant.id)).toBe(false);
      const successor = newRefreshToken();
      expect(await store().rotateRefreshToken(grant.id, token.hash, successor, null)).toBe('conflict');
      expect(await store().findGrant(grant.id)).toBeNull();
    });

    it('keeps a grant for an hour after its end, for access tokens of its last moment', async () => {
      const { grant } = await makeGrant(store());
      await store().sweep(grant.expiresAt + 3600, 100);
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(true);
      await sweepAll(END);
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(false);
    });

    it('keeps a grant that lives on, though its tokens have expired', async () => {
      const { grant, token } = await makeGrant(store());
      await store().sweep(token.expiresAt, 100);
      expect((await store().findGrant(grant.id))?.token).toEqual(token);
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(true);
    });
  });
}
