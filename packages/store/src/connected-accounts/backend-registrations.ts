/** Registrations of this server as a client at the authorization servers of backends. */
import type { BackendRegistrationStore } from '@portcullis/authorization-server/store';
import type { Database } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, sql } from '../sql.ts';

type BackendRegistration = Parameters<BackendRegistrationStore['saveBackendRegistration']>[0];

const columns = defineRecordColumns<BackendRegistration>(
  'backend clientId issuer encryptedRegistration:bytes dataKeyId createdAt',
);
const insert = columns.insertInto(
  'registrations_at_backends',
  `ON CONFLICT (backend, client_id, issuer) DO UPDATE SET encrypted_registration = excluded.encrypted_registration,
    data_key_id = excluded.data_key_id, created_at = excluded.created_at`,
);
const registrationsAt = defineQuery(
  `SELECT ${columns.select()} FROM registrations_at_backends WHERE backend = ? AND client_id = ? ORDER BY issuer`,
);

/** A column of a primary key is never `NULL`: the registration for all clients has this client identifier. */
const ALL_CLIENTS = '';

export function createBackendRegistrationStore(database: Database): BackendRegistrationStore {
  return {
    async listBackendRegistrations(backend, clientId) {
      const rows = await database.read(registrationsAt(backend, clientId ?? ALL_CLIENTS));
      return columns.readAll(rows).map((registration) => ({ ...registration, clientId }));
    },
    async saveBackendRegistration(registration) {
      await database.write(insert({ ...registration, clientId: registration.clientId ?? ALL_CLIENTS }));
    },
    async removeBackendRegistration({ backend, clientId, issuer }) {
      await database.write(
        sql`DELETE FROM registrations_at_backends
          WHERE backend = ${backend} AND client_id = ${clientId ?? ALL_CLIENTS} AND issuer = ${issuer}`,
      );
    },
  };
}
