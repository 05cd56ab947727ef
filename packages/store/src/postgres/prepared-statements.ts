/** Whether prepared statements last: behind a connection pooler, a statement may be run where it was not prepared. */
import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';

/** SQLSTATE: a statement is unknown at this server connection, or another client has prepared it there. */
const POOLER_ERRORS: ReadonlySet<unknown> = new Set(['26000', '42P05']);

/** Whether a pooler gave the statement to a connection that does not know it. It was not executed. */
export function isPreparedElsewhere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && POOLER_ERRORS.has(error.code);
}

const PROBES = 4;

/**
 * Compares what two clients see. A pooler in transaction mode gives an idle connection to the client that asks next, so one client finds what
 * the other has prepared; under load it gives one client different connections.
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

/** A pooler has process numbers of its own. */
async function isDirect(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ readonly pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid === (client as unknown as { readonly processID: number }).processID;
}
