/** What users allowed a client, as the operations list it. */
import { createConnectionAdministration } from '@portcullis/authorization-server';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { newProviderTokens } from '../../store/testing/federation-samples.ts';
import { createGrant, NOW, newAccount, newAccountLink, newTransaction } from '../../store/testing/samples.ts';
import { listClientConnections } from '../src/operations/grants.ts';

it('reads none of the other grants of the users of a client', async () => {
  const store = await openTestStore(':memory:');
  onTestFinished(() => store.close());
  const context = { store, clock: () => NOW, events: () => {} };
  const connections = createConnectionAdministration(context);
  const users = [newAccount(), newAccount()];
  for (const user of users) {
    await store.createAccount(user, newAccountLink(user.id));
    await createGrant(store, { grant: { accountId: user.id, clientId: 'another' } });
  }
  const grants = await Promise.all(
    users.map(({ id: accountId }, index) =>
      createGrant(store, { grant: { accountId, clientId: 'app', lastUsedAt: NOW + index } }),
    ),
  );
  const [{ id: accountId = '' } = {}] = users;
  const [{ grant } = {}] = grants;
  const tokens = newProviderTokens({ accountId, ...(grant && { grantId: grant.id }) });
  const transaction = newTransaction();
  await store.openTransaction(transaction);
  expect(await store.saveProviderTokens(transaction.id, tokens)).toBe(true);
  const all = (await Promise.all(users.map(({ id }) => connections.list(id)))).flatMap((one) => one ?? []);
  expect(all).toHaveLength(4);
  const wanted = all
    .filter(({ clientId }) => clientId === 'app')
    .toSorted((one, other) => other.lastUsedAt - one.lastUsedAt);
  expect(wanted.map(({ providerTokens }) => providerTokens?.subject)).toEqual([undefined, tokens.subject]);
  const [listsGrants, listsTokens] = [vi.spyOn(store, 'listGrants'), vi.spyOn(store, 'listProviderTokens')];
  expect(await listClientConnections({ ...context, connections }, 'app', 9)).toEqual({
    connections: wanted,
    isMore: false,
  });
  const some = await listClientConnections({ ...context, connections }, 'app', 1);
  expect([some.connections.length, some.isMore]).toEqual([1, true]);
  expect([listsGrants.mock.calls, listsTokens.mock.calls]).toEqual([[], []]);
});
