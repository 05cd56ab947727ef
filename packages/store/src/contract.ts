/** The suite that any store of an authorization server must pass. It runs under vitest, on a real database. */
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { afterEach, beforeEach, describe } from 'vitest';
import { describeAccounts } from './contract/accounts.ts';
import { describeAdministration } from './contract/administration.ts';
import { describeAssertions } from './contract/assertions.ts';
import { describeClientDocuments } from './contract/client-documents.ts';
import { describeInitialAccessTokens } from './contract/client-invitations.ts';
import { describeClients } from './contract/clients.ts';
import { describeCodes } from './contract/codes.ts';
import { describeConnections } from './contract/connections.ts';
import { describeEvents } from './contract/events.ts';
import { describeKeys } from './contract/keys.ts';
import { describeLife } from './contract/life.ts';
import { describePasskeys } from './contract/passkeys.ts';
import { describeLimits } from './contract/rate-limits.ts';
import { describeRefreshTokens } from './contract/refresh-tokens.ts';
import { describeRemoval } from './contract/removal.ts';
import { describeRevocation } from './contract/revocation.ts';
import { describeTotpFactors } from './contract/second-factors.ts';
import { describeStatuses } from './contract/statuses.ts';
import { describeSweeping } from './contract/sweeping.ts';
import { describeTransactions } from './contract/transactions.ts';
import { describeUpstream } from './contract/upstream.ts';

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
