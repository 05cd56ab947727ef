/**
 * Every order in which two processes that refresh a provider's tokens, and one that revokes them, reach the store and the provider:
 * what is stored is the newest token, and what was revoked here is revoked there.
 */
import { setImmediate } from 'node:timers/promises';
import type { FullStore } from '@portcullis/store';
import { expect, it, vi } from 'vitest';
import { newProviderTokens } from '../../store/testing/federation-samples.ts';
import { createGrant, NOW, newHash, newTransaction } from '../../store/testing/samples.ts';
import { createProviderTokenRecords } from '../src/federation/federation.ts';
import type { ProviderClient } from '../src/federation/provider/client.ts';
import { IdentityProviderError } from '../src/federation/provider/error.ts';
import type { FederationContext } from '../src/federation/provider/identity-provider.ts';
import { createTokenRefresher, outcomeWithoutLease } from '../src/federation/refresh.ts';
import { createRefreshWithLease } from '../src/federation/refresh-with-lease.ts';
import { createRevocationQueue } from '../src/federation/revocation-jobs.ts';
import type { TokenVault } from '../src/federation/token-vault.ts';
import { type Actor, exploreInterleavings, postgres, type Step, sqlite, stepwise } from './interleavings.ts';

/** Whose refresh tokens are used once. One that was replaced cannot be revoked any more. */
interface Provider {
  live: number;
  isRevoked: boolean;
}

interface Scene {
  readonly store: FullStore;
  readonly grantId: string;
  readonly provider: Provider;
  readonly errors: string[];
  /** Whether the user revoked the grant. */
  isRevoked: boolean;
}

async function setScene(store: FullStore): Promise<Scene> {
  const { grant } = await createGrant(store);
  const transaction = newTransaction();
  await store.openTransaction(transaction);
  const { ciphertext: encryptedTokens } = await vault.encrypt(tokenSet(1), '');
  const tokens = newProviderTokens({ grantId: grant.id, accountId: grant.accountId, encryptedTokens });
  await store.saveProviderTokens(transaction.id, tokens);
  return { store, grantId: grant.id, provider: { live: 1, isRevoked: false }, errors: [], isRevoked: false };
}

const tokenSet = (number: number) => ({
  accessToken: 'a',
  tokenType: 'Bearer',
  refreshToken: String(number),
});

/** Without keys: what is stored is not the point. */
const vault: Pick<TokenVault, 'encrypt' | 'decrypt'> = {
  encrypt: async (content) => ({ ciphertext: Buffer.from(JSON.stringify(content)), dataKeyId: 'key' }),
  decrypt: async (ciphertext) => JSON.parse(Buffer.from(ciphertext).toString()),
};

/** What the code of the server reads of its context: one process, whose operations at the store and the provider are steps. */
function startProcess({ store, provider, errors }: Scene, step: Step) {
  const issuer = {
    refresh: ({ refreshToken }: { readonly refreshToken: string | null }) =>
      step(async () => {
        if (provider.isRevoked)
          throw new IdentityProviderError('refused', 'revoked', { code: 'invalid_grant' });
        if (Number(refreshToken) !== provider.live) errors.push(`${refreshToken} was presented again`);
        provider.live += 1;
        return { tokens: tokenSet(provider.live), scopes: [], lifetime: 3600 };
      }),
    revoke: ({ refreshToken }: { readonly refreshToken: string | null }) =>
      step(async () => {
        if (Number(refreshToken) === provider.live) provider.isRevoked = true;
        return 'revoked' as const;
      }),
  };
  const context = {
    store: stepwise(store, step),
    clock: () => NOW,
    events: () => {},
    options: { identityProviders: new Map([['github', { provider: { issuer: 'https://github.com' } }]]) },
  } as unknown as FederationContext;
  const records = createProviderTokenRecords(context, () => issuer as unknown as ProviderClient);
  return { context, records, issuer, vault: vault as TokenVault };
}

const refresh: Actor<Scene> = async (scene, step) => {
  const { context, records, issuer, vault: own } = startProcess(scene, step);
  const known = await context.store.findProviderTokens(scene.grantId);
  if (known === null || known.endedAt !== null) return;
  const holder = newHash();
  if (!(await records.lease(known, holder, NOW, NOW + LEASE))) {
    // Rather than to wait: another one refreshes.
    outcomeWithoutLease(known, await records.find(known), NOW, false);
    return;
  }
  const outcome = await createRefreshWithLease(context, own, records, LEASE)(holder, known, issuer);
  if (outcome.kind === 'ended') await records.end(known, outcome.reason, NOW);
};
const LEASE = 25;

const revoke: Actor<Scene> = async (scene, step) => {
  const { context, records, vault: own } = startProcess(scene, step);
  await context.store.revokeGrant(scene.grantId, NOW);
  scene.isRevoked = true;
  await createRevocationQueue(context, own, records).runDue(() => false);
};

/** Jobs that are due later are done; then the provider and the store agree. */
async function check(scene: Scene): Promise<void> {
  const { store, grantId, provider, errors, isRevoked } = scene;
  const later = startProcess(scene, (operation) => operation());
  if (isRevoked)
    await createRevocationQueue(later.context, vault as TokenVault, later.records).runDue(() => false);
  expect(errors).toEqual([]);
  expect(provider.isRevoked).toBe(isRevoked);
  const encrypted = (await store.findProviderTokens(grantId))?.encryptedTokens ?? null;
  const stored = encrypted === null ? null : await vault.decrypt(encrypted, '');
  expect(stored).toEqual(isRevoked ? null : tokenSet(provider.live));
}

it.each([sqlite, postgres])(
  'two processes that refresh at once on $name store the newest token, in every order',
  async ({ open }) => {
    const store = await open();
    const actors = { one: refresh, other: refresh };
    expect(await exploreInterleavings(() => setScene(store), actors, check)).toBe(44);
  },
);

it.each([sqlite, postgres])(
  'a revocation on $name revokes the newest token at its provider, in every order with a refresh',
  async ({ open }) => {
    const store = await open();
    expect(await exploreInterleavings(() => setScene(store), { refresh, revoke }, check)).toBe(75);
  },
);

it('the exploration finds a token that stays live: its job deletes what a refresh has stored meanwhile', async () => {
  const real = await sqlite.open();
  const store: FullStore = {
    ...real,
    async completeRevocationJob(grantId) {
      const newest = await real.findProviderTokens(grantId);
      await real.completeRevocationJob(grantId, newest?.version ?? 0);
    },
  };
  const exploring = exploreInterleavings(() => setScene(store), { refresh, revoke }, check);
  await expect(exploring).rejects.toThrow(/^in the order /);
});

it('the exploration finds a token that is presented twice: a lease that any process gets', async () => {
  const real = await sqlite.open();
  const store: FullStore = { ...real, leaseProviderTokens: async () => true };
  const exploring = exploreInterleavings(() => setScene(store), { one: refresh, other: refresh }, check);
  await expect(exploring).rejects.toThrow(/^in the order /);
});

it('a server that closes waits for a refresh that has exceeded the limit of its requests, and stores its tokens', async () => {
  const scene = await setScene(await sqlite.open());
  const { context, records, issuer, vault: own } = startProcess(scene, (operation) => operation());
  const saving = Promise.withResolvers<void>();
  const slow: typeof records = {
    ...records,
    async saveRefreshed(...refreshed) {
      await saving.promise;
      return records.saveRefreshed(...refreshed);
    },
  };
  const options = { ...context.options, outbound: { timeout: 1000 } };
  const refresher = createTokenRefresher({ ...context, options } as FederationContext, own, slow);
  const limit = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(limit.signal);
  const tokens = await scene.store.findProviderTokens(scene.grantId);
  if (tokens === null) throw new Error('there are no tokens');
  const refreshing = refresher.refresh(tokens, issuer);
  timeout.mockRestore();
  limit.abort();
  await expect(refreshing).rejects.toMatchObject({ status: 503 });
  const idle = refresher.whenIdle().then(() => 'idle');
  expect(await Promise.race([idle, setImmediate('refreshing')])).toBe('refreshing');
  saving.resolve();
  await idle;
  await check(scene);
});
