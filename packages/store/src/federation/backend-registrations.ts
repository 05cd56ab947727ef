/** Registrations of this server as a client at the authorization servers of backends. */
import type { FederationStore } from '@portcullis/authorization-server/store';
import type { Database } from '../database.ts';
import { sql } from '../sql.ts';

interface RegistrationRow {
  readonly issuer: string;
  readonly encrypted_registration: Uint8Array;
  readonly data_key_id: string;
  readonly created_at: number;
}

type BackendRegistrationStore = Pick<
  FederationStore,
  'listBackendRegistrations' | 'saveBackendRegistration' | 'removeBackendRegistration'
>;

export function createBackendRegistrationStore(database: Database): BackendRegistrationStore {
  return {
    async listBackendRegistrations(backend) {
      const rows = await database.read<RegistrationRow>(
        sql`SELECT issuer, encrypted_registration, data_key_id, created_at FROM backend_registrations
          WHERE backend = ${backend} ORDER BY issuer`,
      );
      return rows.map((row) => ({
        backend,
        issuer: row.issuer,
        encryptedRegistration: new Uint8Array(row.encrypted_registration),
        dataKeyId: row.data_key_id,
        createdAt: row.created_at,
      }));
    },
    async saveBackendRegistration({ backend, issuer, encryptedRegistration, dataKeyId, createdAt }) {
      await database.write(
        sql`INSERT INTO backend_registrations (backend, issuer, encrypted_registration, data_key_id, created_at)
          VALUES (${backend}, ${issuer}, ${encryptedRegistration}, ${dataKeyId}, ${createdAt})
          ON CONFLICT (backend, issuer) DO UPDATE SET encrypted_registration = excluded.encrypted_registration,
            data_key_id = excluded.data_key_id, created_at = excluded.created_at`,
      );
    },
    async removeBackendRegistration(backend, issuer) {
      await database.write(
        sql`DELETE FROM backend_registrations WHERE backend = ${backend} AND issuer = ${issuer}`,
      );
    },
  };
}
