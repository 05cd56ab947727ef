/** Detects poolers that break prepared statements: a statement may run on a connection where it was not prepared. */
import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';
import { isPreparedElsewhere } from './outage.ts';

const PROBES = 4;

/**
 * Runs one statement with two clients. A pooler in transaction mode assigns an idle connection to the next client, so one client finds what
 * the other has prepared; under load one client uses different connections.
 * @param connect opens a connection, which is closed here
 */
export async function keepsPreparedStatements(connect: () => Promise<Client>): Promise<boolean> {
  const first = await connect();
  const clients = [first];
  try {
    if (await isDirect(first)) return true;
    clients.push(await connect());
    const name = `portcullis_probe_${randomBytes(8).toString('hex')}`;
    for (let probe = 0; probe < PROBES; probe += 1) {
      for (const client of clients) await client.query({ name, text: 'SELECT 1 AS one' });
    }
    return true;
  } catch (error) {
    if (isPreparedElsewhere(error)) return false;
    throw error;
  } finally {
    for (const client of clients) await client.end().catch(() => {});
  }
}

/** A pooler reports its own process numbers. */
async function isDirect(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ readonly pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid === (client as unknown as { readonly processID: number }).processID;
}

/** Warns that statements are sent without names from now on. */
export function warnOfUnpreparedStatements(): void {
  process.emitWarning(
    'The connection pooler before PostgreSQL does not keep prepared statements (pgbouncer in transaction mode before 1.21, or with ' +
      'max_prepared_statements = 0), so every statement is parsed each time. Use pgbouncer 1.21 or later with max_prepared_statements ' +
      '= 200, or session mode, or connect directly.',
  );
}
