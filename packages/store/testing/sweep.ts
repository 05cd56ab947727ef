/** The contract of the sweep: obsolete rows are deleted in small steps, and no others. */
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import { newConnectedAccount, newFederatedLogin, newProviderTokens } from './federation-samples.ts';
import {
  createGrant,
  grantOf,
  issueSampleCode,
  NOW,
  newAccount,
  newAccountLink,
  newClient,
  newClientDocument,
  newCode,
  newHash,
  newInitialAccessToken,
  newRefreshToken,
  newSession,
  newTransaction,
  PASSWORD_HASH,
  type StoreOfTest,
  times,
} from './samples.ts';

/** By then everything that these tests create is obsolete, except accounts, keys and clients that do not expire. */
const END = NOW + 100_000_000;

/** Every kind of record that is swept: how to create one that expires at a given second, and for how long it is retained after that. */
const KINDS: readonly {
  readonly kind: string;
  readonly retention: number;
  readonly make: (store: AuthorizationStore, over: number) => Promise<unknown>;
}[] = [
  {
    kind: 'transactions',
    retention: 0,
    make: (store, expiresAt) => store.openTransaction(newTransaction({ expiresAt })),
  },
  {
    kind: 'sessions',
    retention: 0,
    make: (store, expiresAt) =>
      withAccount(store, (id) => store.saveSession(newSession(id, { expiresAt }), PASSWORD_HASH)),
  },
  {
    kind: 'account links',
    retention: 0,
    make: (store, expiresAt) =>
      withAccount(store, (id) => store.saveAccountLink(newAccountLink(id, { expiresAt }))),
  },
  {
    kind: 'authorization codes',
    retention: 600,
    make: (store, expiresAt) => issueSampleCode(store, newCode({ expiresAt })),
  },
  {
    kind: 'access token revocations',
    retention: 600,
    make: (store, expiresAt) => store.revokeAccessToken(newHash(), expiresAt),
  },
  {
    kind: 'expired grants',
    retention: 86_400,
    make: (store, expiresAt) => createGrant(store, { grant: { expiresAt } }),
  },
  {
    kind: 'revoked grants',
    retention: 86_400,
    async make(store, at) {
      const { grant } = await createGrant(store, { grant: { expiresAt: END } });
      await store.revokeGrant(grant.id, at);
    },
  },
  {
    kind: 'federated logins',
    retention: 0,
    make: (store, expiresAt) => store.saveFederatedLogin(newFederatedLogin({ expiresAt })),
  },
  {
    kind: 'ended provider tokens',
    retention: 86_400,
    make: (store, endedAt) =>
      store.saveEndedProviderTokens(
        newProviderTokens({ endedAt, endReason: 'grant_expired', dueAt: null, encryptedTokens: null }),
      ),
  },
  {
    kind: 'ended connected accounts',
    retention: 86_400,
    make: (store, endedAt) =>
      store.saveEndedConnectedAccount(
        newConnectedAccount({ endedAt, endReason: 'grant_expired', dueAt: null, encryptedTokens: null }),
      ),
  },
  {
    kind: 'used client assertions',
    retention: 600,
    make: (store, expiresAt) => store.consumeClientAssertion(newHash(), expiresAt),
  },
  {
    kind: 'initial access tokens',
    retention: 0,
    make: (store, expiresAt) => store.saveInitialAccessToken(newInitialAccessToken({ expiresAt })),
  },
  {
    kind: 'rate limits',
    retention: 0,
    make: (store, over) => store.chargeRateLimit(newHash(), { burst: 1, interval: over - NOW }, NOW),
  },
  {
    kind: 'unused clients',
    retention: 3600,
    make: (store, expiresAt) => store.saveClient(newClient({ expiresAt })),
  },
  {
    kind: 'used clients',
    retention: 0,
    make: (store, expiresAt) => store.saveClient(newClient({ expiresAt, lastUsedAt: NOW })),
  },
  {
    kind: 'client metadata documents',
    retention: 0,
    make: (store, expiresAt) => store.saveClientMetadataDocument(newClientDocument({ expiresAt })),
  },
];

/** Every kind of client that is swept: how to create one that expires at a given second, and how to read its expiry; `null` once swept. */
const CLIENTS: readonly {
  readonly kind: string;
  /** Seconds for which it is retained after it expires. */
  readonly retention: number;
  readonly make: (store: AuthorizationStore, expiresAt: number) => Promise<string>;
  readonly expiryOf: (store: AuthorizationStore, id: string) => Promise<number | null>;
}[] = [
  ...[null, NOW].map((lastUsedAt) => ({
    kind: lastUsedAt === null ? 'unused client' : 'used client',
    retention: lastUsedAt === null ? 3600 : 0,
    async make(store: AuthorizationStore, expiresAt: number) {
      const client = newClient({ expiresAt, lastUsedAt });
      await store.saveClient(client);
      return client.id;
    },
    expiryOf: async (store: AuthorizationStore, id: string) =>
      (await store.findClient(id))?.expiresAt ?? null,
  })),
  {
    kind: 'client metadata document',
    retention: 0,
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
    { issuer: 'https://idp.example', subject: account.id, accountId: account.id },
    account,
  );
  await act(account.id);
}

export function describeSweep(store: StoreOfTest): void {
  /** Sweeps until nothing is left to sweep. @returns the number of rows */
  const sweepAll = async (now: number) => {
    let all = 0;
    for (let swept = -1; swept !== 0; all += swept) swept = await store().sweep(now, 100);
    return all;
  };

  describe('the sweep', () => {
    it('sweeps nothing in an empty store', async () => {
      expect(await store().sweep(END, 100)).toBe(0);
    });

    it('does not sweep anything that is still valid', async () => {
      const account = newAccount();
      await store().createFirstAccount(account, null);
      const session = newSession(account.id);
      await store().saveSession(session, PASSWORD_HASH);
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      const code = await issueSampleCode(store());
      const { grant } = await createGrant(store());
      const revoked = newHash();
      await store().revokeAccessToken(revoked, NOW + 600);

      expect(await store().sweep(NOW, 100)).toBe(0);
      expect((await store().findSession(session.hash, NOW))?.session).toEqual(session);
      expect(await store().findTransaction(transaction.id, NOW)).toEqual(transaction);
      expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: null });
      expect(await store().findGrant(grant.id)).not.toBeNull();
      expect(await store().isAccessTokenLive(revoked, null)).toBe(false);
    });

    it('T143: sweeps everything eventually, except accounts, keys and clients that do not expire', async () => {
      const [account, client] = [newAccount(), newClient({ expiresAt: null })];
      await store().createFirstAccount(account, null);
      await store().saveClient(client);
      await store().saveSession(newSession(account.id), PASSWORD_HASH); // 1
      await store().openTransaction(newTransaction()); // 2
      await issueSampleCode(store()); // 3
      const { grant, token } = await createGrant(store()); // 4: its code; 5: the grant
      await store().rotateRefreshToken(grant.id, token.hash, newRefreshToken(), null);
      await store().revokeGrant((await createGrant(store())).grant.id, NOW); // 6, 7
      await store().revokeAccessToken(newHash(), NOW + 600); // 8

      expect(await sweepAll(END)).toBe(8);
      expect(await store().findAccount(account.id)).toEqual(account);
      expect(await store().findClient(client.id)).toEqual(client);
    });

    it('T143: sweeps in small steps', async () => {
      const transactions = times(25, () => newTransaction());
      await Promise.all(transactions.map((transaction) => store().openTransaction(transaction)));
      const steps: number[] = [];
      for (let step = 0; step < 4; step += 1) steps.push(await store().sweep(END, 10));
      expect(steps).toEqual([10, 10, 5, 0]);
    });

    it.each(KINDS)(
      'T143: sweeps $kind in small steps, from the second they expire or their retention ends',
      async ({ make, retention }) => {
        const over = NOW + 5_000_000;
        for (const at of [over, over, over + 9]) await make(store(), at);
        // Records created with them may be swept earlier.
        while ((await store().sweep(over + retention - 1, 100)) > 0);
        expect(await store().sweep(over + retention, 1)).toBe(1);
        expect(await store().sweep(over + retention, 100)).toBe(1);
        expect(await store().sweep(over + retention, 100)).toBe(0);
        expect(await store().sweep(over + retention + 50, 100)).toBe(1);
        expect(await store().sweep(END, 100)).toBe(0);
      },
    );

    it.each(CLIENTS)(
      'T143: sweeps no $kind that has a live grant, and such clients do not hold up the sweep of others',
      async ({ make, expiryOf, retention }) => {
        const over = NOW + 5_000_000;
        const now = over + 1;
        const makeHolder = async (expiresAt: number, grantEnds: number) => {
          const clientId = await make(store(), expiresAt - retention);
          const { grant } = await createGrant(store(), { grant: { clientId, expiresAt: grantEnds } });
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
        const idle = await make(store(), now - retention);

        for (const _ of times(12, () => null)) await store().sweep(now, 1);
        for (const { clientId } of [...live, last]) {
          expect(await expiryOf(store(), clientId)).toBeGreaterThan(now);
        }
        expect(await expiryOf(store(), later.clientId)).toBe(now + 1000 - retention);
        for (const gone of [lapsed.clientId, revoked.clientId, idle]) {
          expect(await expiryOf(store(), gone)).toBeNull();
        }
      },
    );

    it('sweeps transactions and sessions from the second they expire', async () => {
      const account = newAccount();
      await store().createFirstAccount(account, null);
      await store().saveSession(newSession(account.id, { expiresAt: NOW + 50 }), PASSWORD_HASH);
      await store().openTransaction(newTransaction({ expiresAt: NOW + 50 }));
      expect(await store().sweep(NOW + 49, 100)).toBe(0);
      expect(await store().sweep(NOW + 50, 100)).toBe(2);
    });

    it('keeps a code for ten minutes after it expires, so that a second use is detected', async () => {
      const code = await issueSampleCode(store());
      await store().redeemCode(code.hash, grantOf(code), null, NOW);
      await store().sweep(code.expiresAt + 599, 100);
      expect((await store().findCode(code.hash))?.consumedAt).toBe(NOW);
      await store().sweep(code.expiresAt + 600, 100);
      expect(await store().findCode(code.hash)).toBeNull();
    });

    it('keeps grants and access tokens revoked after their rows are swept', async () => {
      const { grant, token } = await createGrant(store());
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

    it('keeps a grant for an hour after it expires, for access tokens issued at its end', async () => {
      const { grant } = await createGrant(store());
      await store().sweep(grant.expiresAt + 3600, 100);
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(true);
      await sweepAll(END);
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(false);
    });

    it('keeps a live grant although its refresh token has expired', async () => {
      const { grant, token } = await createGrant(store());
      await store().sweep(token.expiresAt, 100);
      expect((await store().findGrant(grant.id))?.token).toEqual(token);
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(true);
    });
  });
}
