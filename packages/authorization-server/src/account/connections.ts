/** The connections page: lists the grants of a user, and revokes one or all. */
import type { PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import { hasLocalLogin } from '../login/local-login.ts';
import type { GrantPosition } from '../store/index.ts';
import { accountPaths } from '../ui/account-tabs.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { createAccountRoutes } from './account-routes.ts';
import { connectionsPage, revokePage } from './connections-view.ts';
import { findConnection, listConnections } from './list-connections.ts';

export function createConnectionRoutes(
  pages: PageRouter<{ readonly personalAccessTokens: boolean }>,
): readonly Route[] {
  const { store, clock, events } = pages;
  const routes = createAccountRoutes(pages, 'connections');
  const backTo = (ended: 'one' | 'all') => respondRedirect(`${accountPaths.connections}?ended=${ended}`);
  return [
    routes.page('/connections', async ({ context, user, parameters }) => {
      const search = (parameters.one('q') ?? '').trim().slice(0, MAX_SEARCH);
      const after = readPosition(parameters.one('after'));
      const { connections, next } = await listConnections(context, user.account.id, { after, search });
      const value = parameters.one('ended');
      const page = connectionsPage(context.layout, {
        email: user.account.email,
        connections,
        nextPath: next === null ? null : pathOfPage(next, search),
        isLater: after !== null,
        search,
        ended: value === 'one' || value === 'all' ? value : null,
        now: clock(),
        createsTokens: pages.options.personalAccessTokens && (await hasLocalLogin(pages, user)),
      });
      return respondPage(page, { script: true });
    }),

    routes.page('/connections/end', async ({ context, user, parameters }) => {
      const id = parameters.one('connection');
      const { connections, next } =
        id === undefined
          ? await listConnections(context, user.account.id)
          : await findConnection(context, user.account.id, id);
      // Already revoked, by a double click or in another tab.
      if (connections.length === 0 && next === null) return respondRedirect(accountPaths.connections);
      const token = routes.csrfToken(user);
      const about = { connections, hasMore: next !== null, all: id === undefined, token };
      return respondPage(revokePage(context.layout, about), { script: true });
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

/** Characters of a search that count. */
const MAX_SEARCH = 100;

function pathOfPage({ clientId, createdAt, id }: GrantPosition, search: string): string {
  const after = Buffer.from(JSON.stringify([clientId, createdAt, id])).toString('base64url');
  return `${accountPaths.connections}?${new URLSearchParams({ ...(search !== '' && { q: search }), after })}`;
}

/** The end of the previous page: no secret, since only grants of the same account are listed. Anything else is the first page. */
function readPosition(text: string | undefined): GrantPosition | null {
  if (text === undefined) return null;
  try {
    const found: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    const [clientId, createdAt, id] = Array.isArray(found) ? found : [];
    const isPosition =
      typeof clientId === 'string' && Number.isSafeInteger(createdAt) && typeof id === 'string';
    // PostgreSQL's text cannot hold U+0000.
    return isPosition && !`${clientId}${id}`.includes('\0') ? { clientId, createdAt, id } : null;
  } catch {
    return null;
  }
}
