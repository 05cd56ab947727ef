/** Who administers: the role of an account, of the groups of a user, or of a client that acts for itself. */
import type { DecideScopes } from '@portcullis/authorization-server';
import type { AccountRole, AuthorizationStore } from '@portcullis/authorization-server/store';
import { ADMIN_READ, ADMIN_WRITE, type AdminOptions } from '../settings.ts';
import { createAccountReading } from './accounts.ts';

/** Who asks for a scope, or uses it. */
interface RoleHolder {
  /** `null`: the client acts for itself. */
  readonly accountId: string | null;
  readonly clientId: string;
}

/** The role as known now, so that a token ends what it may do with the role. `null`: none. */
export type FindRole = (holder: RoleHolder) => Promise<AccountRole | null>;

/** Finds roles in the store and the setting `admin`. */
export function createFindRole(
  store: AuthorizationStore,
  { operators = {}, viewers = {} }: Pick<AdminOptions, 'operators' | 'viewers'>,
): FindRole {
  const roleBy = (isHolder: (holders: NonNullable<AdminOptions['operators']>) => boolean) => {
    if (isHolder(operators)) return 'operator';
    return isHolder(viewers) ? 'viewer' : null;
  };
  const hasGroups = [operators, viewers].some(({ groups = [] }) => groups.length > 0);
  const { claims } = createAccountReading(store);
  return async ({ accountId, clientId }) => {
    if (accountId === null) return roleBy(({ clients = [] }) => clients.includes(clientId));
    const [account, { groups: memberships = [] }] = await Promise.all([
      store.findAccount(accountId),
      hasGroups ? claims(accountId) : { groups: [] },
    ]);
    if (account === null || account.disabledAt !== null) return null;
    const byGroup = roleBy(({ groups = [] }) => groups.some((group) => memberships.includes(group)));
    return account.role === 'operator' ? account.role : (byGroup ?? account.role);
  };
}

/** The scopes that a role permits. */
export function scopesOfRole(role: AccountRole | null): readonly string[] {
  if (role === null) return [];
  return role === 'operator' ? [ADMIN_READ, ADMIN_WRITE] : [ADMIN_READ];
}

/**
 * Limits the scopes of the admin resources to the role, at consent and each time that a token is issued.
 * @param others decides as well; `null`: nothing else does
 */
export function createDecideAdminScopes(findRole: FindRole, others: DecideScopes | null): DecideScopes {
  return async (request) => {
    const { scopes, subject, accountId } = request;
    const permitted = scopesOfRole(await findRole({ accountId, clientId: subject.clientId }));
    const own = scopes.filter((scope) => permitted.includes(scope));
    return others === null || own.length === 0 ? own : others({ ...request, scopes: own });
  };
}
