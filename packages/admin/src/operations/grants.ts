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
