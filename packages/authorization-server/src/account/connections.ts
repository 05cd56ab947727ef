/** The connections page: lists the grants of a user, and revokes one or all. */
import type { Route } from '../http/router.ts';
import type { PageRouter } from '../page-context.ts';
import { accountPaths } from '../ui/account-tabs.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { createAccountRoutes } from './account-routes.ts';
import { connectionsPage, revokePage } from './connections-view.ts';
import { listConnections } from './list-connections.ts';

export function createConnectionRoutes(pages: PageRouter): readonly Route[] {
  const { store, clock, events } = pages;
  const routes = createAccountRoutes(pages, 'connections');
  const backTo = (ended: 'one' | 'all') => respondRedirect(`${accountPaths.connections}?ended=${ended}`);
  return [
    routes.page('/connections', async ({ context, user, parameters }) => {
      const connections = await listConnections(context, user.account.id);
      const value = parameters.one('ended');
      const ended = value === 'one' || value === 'all' ? value : null;
      const { email } = user.account;
      return respondPage(connectionsPage(context.layout, { email, connections, ended, now: clock() }));
    }),

    routes.page('/connections/end', async ({ context, user, parameters }) => {
      const connections = await listConnections(context, user.account.id);
      const id = parameters.one('connection');
      const chosen = id === undefined ? connections : connections.filter((one) => one.id === id);
      // Already revoked, by a double click or in another tab.
      if (chosen.length === 0) return respondRedirect(accountPaths.connections);
      const token = routes.csrfToken(user);
      return respondPage(revokePage(context.layout, { connections: chosen, all: id === undefined, token }));
    }),

    routes.form('/connections/end', async ({ user, parameters }) => {
      const { id: accountId } = user.account;
      const grantId = parameters.one('connection') ?? null;
      if (grantId === null && parameters.one('all') !== 'yes')
        return respondRedirect(accountPaths.connections);
      // Point of no return: the grants and their tokens are revoked.
      const count = await store.revokeAccountGrants(accountId, grantId, clock());
      events({ type: 'grant.revoked', accountId, count, ...(grantId !== null && { grantId }) });
      return backTo(grantId === null ? 'all' : 'one');
    }),
  ];
}
