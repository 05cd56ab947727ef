/** Operations on grants: what users allowed clients. */
import type { ListedConnection } from '@portcullis/authorization-server';
import type { ConnectedAccountRecord } from '@portcullis/authorization-server/store';
import { type Administration, type AdminRequest, recordChange } from './administration.ts';
import { found } from './errors.ts';
import { findUser } from './users.ts';

/** The grants of a user, most recently used first. */
export async function listUserGrants(
  admin: Administration,
  named: string,
): Promise<readonly ListedConnection[]> {
  const { id } = await findUser(admin, named);
  return found(await admin.connections.list(id), `account ${named}`);
}

/** @throws OperationError also for one that has ended */
export async function showGrant(admin: Administration, id: string): Promise<ListedConnection> {
  return found(await admin.connections.find(id), `connection ${id}, or it has ended`);
}

/** The accounts that a user has connected at backends for a grant. */
export async function listGrantAccounts(
  admin: Administration,
  id: string,
): Promise<readonly ConnectedAccountRecord[]> {
  await showGrant(admin, id);
  return admin.store.listConnectedAccounts(id);
}

export async function endGrant(request: AdminRequest, id: string): Promise<ListedConnection> {
  const { admin } = request;
  const grant = await showGrant(admin, id);
  const count = await admin.connections.end(grant.account.id, id);
  found(count !== null && count > 0, `connection ${id}, or it has ended`);
  const { clientId, scopes, resources } = grant;
  recordChange(request, 'grants.end', id, {
    before: { accountId: grant.account.id, clientId, scopes, resources },
  });
  return grant;
}

/** Ends all grants of a user. @returns how many */
export async function endUserGrants(request: AdminRequest, named: string): Promise<number> {
  const { admin } = request;
  const { id } = await findUser(admin, named);
  const count = (await admin.connections.end(id, null)) ?? 0;
  recordChange(request, 'users.end_grants', id, { before: { grants: count }, after: { grants: 0 } });
  return count;
}

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
