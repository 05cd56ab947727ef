/** The store of an authorization server on any database: all its facts under one roof. */
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { createAccountStore } from './accounts.ts';
import { createAssertionStore } from './assertions.ts';
import { createClientDocumentStore } from './client-documents.ts';
import { createInitialAccessTokenStore } from './client-invitations.ts';
import { createClientStore } from './clients.ts';
import type { Database } from './database.ts';
import { createEventStore } from './events.ts';
import { createGrantStore } from './grants.ts';
import { createKeyStore } from './keys.ts';
import { createPasskeyStore } from './passkeys.ts';
import { createRateLimitStore } from './rate-limits.ts';
import { createTotpFactorStore } from './second-factors.ts';
import { sql } from './sql.ts';
import { createStatusStore } from './statuses.ts';
import { sweep } from './sweeping.ts';
import { createTransactionStore } from './transactions.ts';
import { createUpstreamStore } from './upstream.ts';

export function createStore(database: Database): AuthorizationStore {
  return {
    ...createAccountStore(database),
    ...createAssertionStore(database),
    ...createClientDocumentStore(database),
    ...createInitialAccessTokenStore(database),
    ...createClientStore(database),
    ...createEventStore(database),
    ...createGrantStore(database),
    ...createKeyStore(database),
    ...createRateLimitStore(database),
    ...createPasskeyStore(database),
    ...createTotpFactorStore(database),
    ...createStatusStore(database),
    ...createTransactionStore(database),
    ...createUpstreamStore(database),
    async ping() {
      await database.read(sql`SELECT 1 AS one`);
    },
    sweep: (now, limit) => sweep(database, now, limit),
    close: () => database.close(),
  };
}
