/** What users allowed one client. */
import type { ListedConnection } from '@portcullis/authorization-server';
import type { Administration } from './administration.ts';

/** Grants that are counted and listed: for more than these it is said that there are more. */
const MAX_GRANTS = 1_000;

/** What ends with a client. */
interface ClientAccess {
  readonly grants: number;
  readonly users: number;
  /** Whether there are more than were counted. */
  readonly isMore: boolean;
}

export async function countClientAccess(
  { store, clock }: Pick<Administration, 'store' | 'clock'>,
  id: string,
): Promise<ClientAccess> {
  const grants = await store.listGrantsOfClient(id, clock(), MAX_GRANTS + 1);
  const users = new Set(grants.map(({ accountId }) => accountId)).size;
  return { grants: Math.min(grants.length, MAX_GRANTS), users, isMore: grants.length > MAX_GRANTS };
}

/** Some grants of a client, the most recently used of them first. */
export async function listClientConnections(
  { store, clock, connections }: Pick<Administration, 'clock' | 'connections' | 'store'>,
  id: string,
  limit: number,
): Promise<{ readonly connections: readonly ListedConnection[]; readonly isMore: boolean }> {
  const grants = await store.listGrantsOfClient(id, clock(), limit + 1);
  const found = await Promise.all(grants.slice(0, limit).map((grant) => connections.find(grant.id)));
  return {
    connections: found
      .filter((one) => one !== null)
      .toSorted((one, other) => other.lastUsedAt - one.lastUsedAt),
    isMore: grants.length > limit,
  };
}
