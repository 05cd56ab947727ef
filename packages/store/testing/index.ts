/** The suite that any store of an authorization server must pass. It runs under vitest, on a real database. */
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { afterEach, beforeEach, describe } from 'vitest';
import { describeAccounts } from './accounts.ts';
import { describeAdministration } from './administration.ts';
import { describeAssertions } from './assertions.ts';
import { describeClientDocuments } from './client-documents.ts';
import { describeInitialAccessTokens } from './client-invitations.ts';
import { describeClients } from './clients.ts';
import { describeCodes } from './codes.ts';
import { describeConnections } from './connections.ts';
import { describeEvents } from './events.ts';
import { describeKeys } from './keys.ts';
import { describeLife } from './life.ts';
import { describePasskeys } from './passkeys.ts';
import { describeLimits } from './rate-limits.ts';
import { describeRefreshTokens } from './refresh-tokens.ts';
import { describeRemoval } from './removal.ts';
import { describeRevocation } from './revocation.ts';
import { describeTotpFactors } from './second-factors.ts';
import { describeStatuses } from './statuses.ts';
import { describeSweeping } from './sweeping.ts';
import { describeTransactions } from './transactions.ts';
import { describeUpstream } from './upstream.ts';

/**
 * Declares the suite.
 * @param name of the store, as it shall stand in the report
 * @param open answers an empty store; called before each test, which closes it
 */
export function describeStoreContract(name: string, open: () => Promise<AuthorizationStore>): void {
  describe(`the store contract on ${name}`, () => {
    let opened: AuthorizationStore | undefined;
    const store = () => {
      if (opened === undefined) throw new Error('the store is open only while a test runs');
      return opened;
    };
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(async () => {
      await opened?.close();
      opened = undefined;
    });

    describeAccounts(store);
    describeAdministration(store);
    describeRemoval(store);
    describePasskeys(store);
    describeTotpFactors(store);
    describeClients(store);
    describeInitialAccessTokens(store);
    describeClientDocuments(store);
    describeAssertions(store);
    describeTransactions(store);
    describeUpstream(store);
    describeCodes(store);
    describeRefreshTokens(store);
    describeRevocation(store);
    describeStatuses(store);
    describeConnections(store);
    describeKeys(store);
    describeEvents(store);
    describeLimits(store);
    describeSweeping(store);
    describeLife(store);
  });
}
