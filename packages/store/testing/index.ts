/** The contract suite that every store of an authorization server has to pass: vitest, on a real database. */
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { afterEach, beforeEach, describe } from 'vitest';
import { describeAccountGrants } from './account-grants.ts';
import { describeAccounts } from './accounts.ts';
import { describeAdministration } from './administration.ts';
import { describeEvents } from './audit.ts';
import { describeCodes } from './authorization-codes.ts';
import { describeAssertions } from './client-assertions.ts';
import { describeClientDocuments } from './client-metadata-documents.ts';
import { describeClients } from './clients.ts';
import { describeLife } from './closing.ts';
import { describeFederation } from './federation.ts';
import { describeInitialAccessTokens } from './initial-access-tokens.ts';
import { describePasskeys } from './passkeys.ts';
import { describeLimits } from './rate-limits.ts';
import { describeRefreshTokens } from './refresh-tokens.ts';
import { describeRemoval } from './removal.ts';
import { describeRevocation } from './revocation.ts';
import { describeKeys } from './signing-keys.ts';
import { describeStatuses } from './status-lists.ts';
import { describeSweeping } from './sweep.ts';
import { describeTotp } from './totp.ts';
import { describeTransactions } from './transactions.ts';

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
    describeTotp(store);
    describeClients(store);
    describeInitialAccessTokens(store);
    describeClientDocuments(store);
    describeAssertions(store);
    describeTransactions(store);
    describeFederation(store);
    describeCodes(store);
    describeRefreshTokens(store);
    describeRevocation(store);
    describeStatuses(store);
    describeAccountGrants(store);
    describeKeys(store);
    describeEvents(store);
    describeLimits(store);
    describeSweeping(store);
    describeLife(store);
  });
}
