/** The store of an authorization server on any database: the core and every capability. */
import type {
  AuthorizationStore,
  EventHourStore,
  EventStreamStore,
  WebhookStore,
} from '@portcullis/authorization-server/store';
import type { DefinitionPinStore } from '@portcullis/protocol';
import { createApprovalStore } from './approvals.ts';
import { createAuditStore } from './audit.ts';
import { createConnectedAccountStore } from './connected-accounts/connected-accounts.ts';
import { createClientStore } from './core/clients.ts';
import { createDeviceAuthorizationStore } from './core/device-authorizations.ts';
import { createGrantStore } from './core/grants.ts';
import { createRateLimitStore, writeProbe } from './core/rate-limits.ts';
import { createSigningKeyStore } from './core/signing-keys.ts';
import { createTransactionStore } from './core/transactions.ts';
import type { Database } from './database.ts';
import { createDefinitionPinStore } from './definition-pins.ts';
import { createEventHourStore } from './event-hours.ts';
import { createEventStreamStore } from './event-streams.ts';
import { createFederationStore } from './federation/federated-logins.ts';
import { createManagedGrantStore } from './managed-grants.ts';
import { createMfaStore } from './mfa/totp.ts';
import { createPersonalAccessTokenStore } from './personal-access-tokens.ts';
import { createProvisioningStore } from './provisioning.ts';
import { createRegistrationStore } from './registration/registration.ts';
import { sql } from './sql.ts';
import { createSweep } from './sweep.ts';
import { createUserStore } from './users/accounts.ts';
import { createWebhookStore } from './webhooks.ts';

/** A store for an authorization server, for a gateway and for what is read of events. */
export interface FullStore
  extends AuthorizationStore,
    DefinitionPinStore,
    EventHourStore,
    EventStreamStore,
    WebhookStore {}

export function createStore(database: Database): FullStore {
  return {
    ...createClientStore(database),
    ...createTransactionStore(database),
    ...createGrantStore(database),
    ...createSigningKeyStore(database),
    ...createRateLimitStore(database),
    ...createUserStore(database),
    ...createMfaStore(database),
    ...createFederationStore(database),
    ...createConnectedAccountStore(database),
    ...createRegistrationStore(database),
    ...createAuditStore(database),
    ...createPersonalAccessTokenStore(database),
    ...createDefinitionPinStore(database),
    ...createManagedGrantStore(database),
    ...createDeviceAuthorizationStore(database),
    ...createApprovalStore(database),
    ...createProvisioningStore(database),
    ...createWebhookStore(database),
    ...createEventHourStore(database),
    ...createEventStreamStore(database),
    ping: async () => void (await database.read(sql`SELECT 1 AS one`)),
    async checkWritable(now) {
      await database.check();
      await database.write(writeProbe(now));
    },
    readClock: () => database.readClock(),
    sweep: createSweep(database),
    close: () => database.close(),
  };
}
