/** Which second factors of an account let its personal access tokens administer. */
import { PERSONAL_ACCESS_TOKEN_CLIENT } from '@portcullis/authorization-server';
import { expect, it, onTestFinished } from 'vitest';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { inSession, NOW, newAccount, newAccountLink, newPasskey } from '../../store/testing/samples.ts';
import { createAuthorizeCaller } from '../src/authorize.ts';

it.each([
  ['https://as.example', true],
  ['http://localhost:3000', true],
  ['http://192.0.2.1:3000', false],
  ['http://[2001:db8::1]:3000', false],
])('a passkey counts only where passkeys can be used: issuer %s', async (issuer, isUsable) => {
  const store = await openTestStore(':memory:');
  onTestFinished(() => store.close());
  const account = newAccount();
  const { id } = account;
  await store.createAccount(account, newAccountLink(id));
  await inSession(store, id, (session) => store.addPasskey(newPasskey(id, { createdAt: NOW }), session));
  const principal = {
    ...{ issuer, subject: id, clientId: PERSONAL_ACCESS_TOKEN_CLIENT, grantId: 'grant_1' },
    ...{ scopes: ['admin:read'], resource: `${issuer}/admin/api/v1`, expiresAt: NOW + 600 },
    ...{ email: null, name: null, groups: [], claims: { iat: NOW } },
  };
  const authorize = createAuthorizeCaller({ issuer, store }, async () => 'operator', { secondFactor: true });
  const administers = () =>
    authorize(principal).then(
      () => true,
      ({ code }: { readonly code: string }) => code,
    );
  const before = await store.listPasskeys(id);
  expect(await administers()).toBe(isUsable || 'insufficient_user_authentication');
  expect(await store.listPasskeys(id)).toEqual(before);
  const factor = { accountId: id, encryptedSecret: 'x', lastStep: 0, createdAt: NOW };
  await inSession(store, id, (session) => store.saveTotpFactor(factor, [], session));
  expect(await administers()).toBe(true);
});
