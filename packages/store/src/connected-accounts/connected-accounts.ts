/** Connected accounts: stored for one grant and backend, replaced as a whole, ended with their grant and never ending it; and the registrations at their backends. */
import type {
  BackendRegistrationStore,
  ConnectedAccountKey,
  ConnectedAccountRecord,
  ConnectedAccountStore,
  UpstreamTokens,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { createTokenTable } from '../federation/token-table.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, sql } from '../sql.ts';

type Own = Omit<ConnectedAccountRecord, keyof UpstreamTokens>;

export function createConnectedAccountStore(database: Database): ConnectedAccountStore {
  const table = createTokenTable<Own, ConnectedAccountKey>(database, {
    table: 'connected_accounts',
    primaryKey: ['grant_id', 'backend'],
    keyValues: ({ grantId, backend }) => [grantId, backend],
    own: 'backend connection',
  });
  const accountsOfGrant = defineQuery(
    `SELECT ${table.columns} FROM connected_accounts WHERE grant_id = ? AND ended_at IS NULL ORDER BY created_at, backend`,
  );

  /** The row of the transaction or the grant is locked first, so that two connections of one grant follow each other. */
  function* save(account: ConnectedAccountRecord, transactionId: string | null): Steps<boolean> {
    const { grantId, backend, accountId } = account;
    const linked = yield transactionId === null
      ? sql`UPDATE grants SET revoked_at = NULL
          WHERE id = ${grantId} AND account_id = ${accountId} AND revoked_at IS NULL AND expires_at > ${account.createdAt} RETURNING 1 AS one`
      : sql`UPDATE authorization_transactions SET linked_grant_id = ${grantId}
          WHERE id = ${transactionId} AND (linked_grant_id IS NULL OR linked_grant_id = ${grantId}) RETURNING 1 AS one`;
    if (linked.length === 0) return false;
    const [replaced] =
      (yield sql`DELETE FROM connected_accounts WHERE grant_id = ${grantId} AND backend = ${backend} RETURNING version`) as readonly {
        readonly version: number;
      }[];
    yield table.insert({ ...account, version: (replaced?.version ?? 0) + 1 });
    return true;
  }

  return {
    ...createBackendRegistrationStore(database),
    saveConnectedAccount: (account, transactionId) =>
      database.transact(() => save(account, transactionId), null),
    saveEndedConnectedAccount: table.save,
    hasConnectedAccounts: table.hasLive,
    findConnectedAccount: table.find,
    listConnectedAccounts: (grantId) => table.findAll(database, accountsOfGrant(grantId)),
    leaseConnectedAccount: table.lease,
    saveRefreshedConnectedAccount: table.saveRefreshed,
    releaseConnectedAccount: table.release,
    endConnectedAccount: (...ending) => database.changes(table.end(...ending)),
    endConnectedAccountsOfRevokedGrants: table.endOfRevokedGrants,
    claimAccountRevocations: table.claim,
    postponeAccountRevocation: table.postpone,
    completeAccountRevocation: table.complete,
  };
}

type BackendRegistration = Parameters<BackendRegistrationStore['saveBackendRegistration']>[0];

const registrationColumns = defineRecordColumns<BackendRegistration>(
  'backend clientId issuer encryptedRegistration:bytes dataKeyId createdAt',
);
const insertRegistration = registrationColumns.insertInto(
  'registrations_at_backends',
  `ON CONFLICT (backend, client_id, issuer) DO UPDATE SET encrypted_registration = excluded.encrypted_registration,
    data_key_id = excluded.data_key_id, created_at = excluded.created_at`,
);
const registrationsAt = defineQuery(
  `SELECT ${registrationColumns.select()} FROM registrations_at_backends WHERE backend = ? AND client_id = ? ORDER BY issuer`,
);

/** A column of a primary key is never `NULL`: the registration for all clients has this client identifier. */
const ALL_CLIENTS = '';

/** Registrations of this server as a client at the authorization servers of backends. */
function createBackendRegistrationStore(database: Database): BackendRegistrationStore {
  return {
    async listBackendRegistrations(backend, clientId) {
      const rows = await database.read(registrationsAt(backend, clientId ?? ALL_CLIENTS));
      return registrationColumns.readAll(rows).map((registration) => ({ ...registration, clientId }));
    },
    saveBackendRegistration: (registration) =>
      database.write(insertRegistration({ ...registration, clientId: registration.clientId ?? ALL_CLIENTS })),
    removeBackendRegistration: ({ backend, clientId, issuer }) =>
      database.write(
        sql`DELETE FROM registrations_at_backends
          WHERE backend = ${backend} AND client_id = ${clientId ?? ALL_CLIENTS} AND issuer = ${issuer}`,
      ),
  };
}
