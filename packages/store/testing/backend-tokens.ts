/** The contract of tokens of backends: kept for one grant and backend, replaced as a whole, ended with their grant and never ending it. */
import type { AuthorizationStore, ProviderTokensRecord } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import { newDataKey, newProviderTokens } from './federation-samples.ts';
import { createGrant, NOW, newTransaction, type StoreOfTest } from './samples.ts';

function newBackendTokens(changes: Partial<ProviderTokensRecord> = {}): ProviderTokensRecord {
  const { backendGrantId = 'grant_1', identityProvider = '/github' } = changes;
  const grantId = `${backendGrantId} ${identityProvider}`;
  return newProviderTokens({ grantId, backendGrantId, identityProvider, subject: grantId, ...changes });
}

async function grantWithTokens(store: AuthorizationStore, changes: Partial<ProviderTokensRecord> = {}) {
  const { grant } = await createGrant(store);
  const tokens = newBackendTokens({ backendGrantId: grant.id, accountId: grant.accountId, ...changes });
  expect(await store.saveBackendTokens(tokens, null)).toBe(true);
  return { grant, tokens };
}

export function describeBackendTokens(store: StoreOfTest): void {
  describe('tokens of backends', () => {
    it('are stored for a live grant of the same account, beside those of other backends', async () => {
      const { grant, tokens } = await grantWithTokens(store());
      const other = newBackendTokens({
        backendGrantId: grant.id,
        accountId: grant.accountId,
        identityProvider: '/files',
        createdAt: NOW + 1,
      });
      expect(await store().saveBackendTokens(other, null)).toBe(true);
      expect(await store().listBackendTokens(grant.id)).toEqual([tokens, other]);
      expect(await store().findProviderTokens(tokens.grantId)).toEqual(tokens);
      expect(await store().findProviderTokens(grant.id)).toBeNull();
    });

    it.each([
      { description: 'a grant of another account', change: { accountId: 'user_other' } },
      { description: 'a grant that does not exist', change: { backendGrantId: 'grant_none' } },
    ])('are not stored for $description', async ({ change }) => {
      const { grant } = await createGrant(store());
      const tokens = newBackendTokens({ backendGrantId: grant.id, accountId: grant.accountId, ...change });
      expect(await store().saveBackendTokens(tokens, null)).toBe(false);
      expect(await store().findProviderTokens(tokens.grantId)).toBeNull();
    });

    it('are not stored for a revoked grant', async () => {
      const { grant } = await createGrant(store());
      await store().revokeAccountGrants(grant.accountId, grant.id, NOW);
      const tokens = newBackendTokens({ backendGrantId: grant.id, accountId: grant.accountId });
      expect(await store().saveBackendTokens(tokens, null)).toBe(false);
      expect(await store().findProviderTokens(tokens.grantId)).toBeNull();
    });

    it('name the grant of their transaction, and nothing is stored without it', async () => {
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      const tokens = newBackendTokens();
      expect(await store().saveBackendTokens(tokens, transaction.id)).toBe(true);
      expect(await store().findTransaction(transaction.id, NOW)).toEqual({
        ...transaction,
        linkedGrantId: tokens.backendGrantId,
      });
      const late = newBackendTokens({ backendGrantId: 'grant_2' });
      expect(await store().saveBackendTokens(late, 'flow_gone')).toBe(false);
      expect(await store().findProviderTokens(late.grantId)).toBeNull();
    });

    it('replace earlier ones with a higher version, so that a refresh in progress is not saved over them', async () => {
      const { tokens } = await grantWithTokens(store());
      expect(await store().leaseProviderTokens(tokens.grantId, 1, 'holder', NOW, NOW + 60)).toBe(true);
      const next = { ...tokens, scopes: ['more'], subject: 'next', version: 1 };
      expect(await store().saveBackendTokens(next, null)).toBe(true);
      expect(await store().findProviderTokens(tokens.grantId)).toEqual({ ...next, version: 2 });
      const { encryptedTokens, dataKeyId, scopes, expiresAt, isRefreshable, refreshFrom, checkedAt } = tokens;
      const late = { encryptedTokens, dataKeyId, scopes, expiresAt, isRefreshable, refreshFrom, checkedAt };
      expect(await store().saveRefreshedProviderTokens(tokens.grantId, 'holder', late)).toBe(false);
    });

    it('end with their grant, and become jobs', async () => {
      const { grant, tokens } = await grantWithTokens(store());
      const other = await grantWithTokens(store());
      await store().revokeAccountGrants(grant.accountId, grant.id, NOW);
      expect(await store().endProviderTokensOfRevokedGrants(NOW, NOW)).toBe(1);
      expect(await store().listBackendTokens(grant.id)).toEqual([]);
      expect(await store().claimRevocationJobs(NOW, NOW + 60, 5)).toMatchObject([
        { grantId: tokens.grantId },
      ]);
      expect(await store().listBackendTokens(other.grant.id)).toEqual([other.tokens]);
    });

    it('end without ending their grant', async () => {
      const { grant, tokens } = await grantWithTokens(store());
      expect(await store().endProviderTokens(tokens.grantId, 1, 'revoked_by_provider', NOW)).toBe(true);
      expect((await store().findGrant(grant.id))?.grant.revokedAt).toBeNull();
      expect(await store().listBackendTokens(grant.id)).toEqual([]);
    });

    it('stay until their grant expires, and end when it never came to be', async () => {
      const { grant, tokens } = await grantWithTokens(store(), { dueAt: NOW });
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      const orphan = newBackendTokens({ backendGrantId: 'grant_never', dueAt: NOW });
      await store().saveBackendTokens(orphan, transaction.id);
      const claimed = await store().claimRevocationJobs(NOW, NOW + 60, 5);
      expect(claimed.map(({ grantId }) => grantId)).toEqual([orphan.grantId]);
      expect(await store().findProviderTokens(tokens.grantId)).toMatchObject({
        endedAt: null,
        dueAt: grant.expiresAt,
      });
    });

    it('keep their data key, and are lost with it while the grant lives on', async () => {
      const key = newDataKey();
      await store().addDataKey(key, null);
      await store().addDataKey(newDataKey({ createdAt: NOW + 1 }), key.id);
      const { grant, tokens } = await grantWithTokens(store(), { dataKeyId: key.id });
      expect(await store().removeUnusedDataKeys(NOW + 10)).toBe(0);
      expect(await store().discardDataKeys([key.id], NOW)).toBe(1);
      expect(await store().findProviderTokens(tokens.grantId)).toMatchObject({
        encryptedTokens: null,
        endedAt: NOW,
      });
      expect((await store().findGrant(grant.id))?.grant.revokedAt).toBeNull();
    });
  });

  describe('registrations at backends', () => {
    const registration = {
      backend: '/github',
      issuer: 'https://as.example.com',
      encryptedRegistration: Uint8Array.of(1, 2, 3),
      dataKeyId: 'data-key_1',
      createdAt: NOW,
    };

    it('are listed by backend, replaced and removed', async () => {
      const { backend, issuer } = registration;
      expect(await store().listBackendRegistrations(backend)).toEqual([]);
      await store().saveBackendRegistration(registration);
      const next = { ...registration, encryptedRegistration: Uint8Array.of(4), createdAt: NOW + 1 };
      await store().saveBackendRegistration(next);
      const other = { ...registration, issuer: 'https://other.example.com' };
      await store().saveBackendRegistration(other);
      expect(await store().listBackendRegistrations(backend)).toEqual([next, other]);
      expect(await store().listBackendRegistrations('/files')).toEqual([]);
      await store().removeBackendRegistration(backend, issuer);
      expect(await store().listBackendRegistrations(backend)).toEqual([other]);
    });

    it('keep their data key, and are lost with it', async () => {
      const key = newDataKey();
      await store().addDataKey(key, null);
      await store().addDataKey(newDataKey({ createdAt: NOW + 1 }), key.id);
      await store().saveBackendRegistration({ ...registration, dataKeyId: key.id });
      expect(await store().removeUnusedDataKeys(NOW + 10)).toBe(0);
      expect(await store().discardDataKeys([key.id], NOW)).toBe(0);
      expect(await store().listBackendRegistrations(registration.backend)).toEqual([]);
    });
  });
}
