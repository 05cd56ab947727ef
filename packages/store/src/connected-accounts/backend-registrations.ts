/** Registrations of this server as a client at the authorization servers of backends. */
import type { ConnectedAccountStore } from '@portcullis/authorization-server/store';
import type { Database } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, sql } from '../sql.ts';

interface RegistrationRow {
  readonly issuer: string;
  readonly encryptedRegistration: Uint8Array;
  readonly dataKeyId: string;
  readonly createdAt: number;
}

const columns = defineRecordColumns<RegistrationRow>(
  'issuer encryptedRegistration:bytes dataKeyId createdAt',
);
const registrationsAt = defineQuery(
  `SELECT ${columns.select()} FROM registrations_at_backends
    WHERE backend = ? AND client_id = ? ORDER BY issuer`,
);

type BackendRegistrationStore = Pick<
  ConnectedAccountStore,
  'listBackendRegistrations' | 'saveBackendRegistration' | 'removeBackendRegistration'
>;

/** A column of a primary key is never `NULL`: the registration for all clients has this client identifier. */
const ALL_CLIENTS = '';

export function createBackendRegistrationStore(database: Database): BackendRegistrationStore {
  return {
    async listBackendRegistrations(backend, clientId) {
      const rows = await database.read(registrationsAt(backend, clientId ?? ALL_CLIENTS));
      return columns.readAll(rows).map((registration) => ({ backend, clientId, ...registration }));
    },
    async saveBackendRegistration(registration) {
      const { backend, clientId, issuer, encryptedRegistration, dataKeyId, createdAt } = registration;
      await database.write(
        sql`INSERT INTO registrations_at_backends (backend, client_id, issuer, encrypted_registration, data_key_id, created_at)
          VALUES (${backend}, ${clientId ?? ALL_CLIENTS}, ${issuer}, ${encryptedRegistration}, ${dataKeyId}, ${createdAt})
          ON CONFLICT (backend, client_id, issuer) DO UPDATE SET encrypted_registration = excluded.encrypted_registration,
            data_key_id = excluded.data_key_id, created_at = excluded.created_at`,
      );
    },
    async removeBackendRegistration({ backend, clientId, issuer }) {
      await database.write(
        sql`DELETE FROM registrations_at_backends
          WHERE backend = ${backend} AND client_id = ${clientId ?? ALL_CLIENTS} AND issuer = ${issuer}`,
      );
    },
  };
}
