/** The account page: login methods and sessions, and ending other sessions. */
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import { hasLocalLogin, type LocalLogin } from '../login/local-login.ts';
import { accountPaths } from '../ui/account-tabs.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { findScopeLimit } from '../users/scope-limits.ts';
import type { User } from '../users/sessions.ts';
import { createAccountRoutes } from './account-routes.ts';
import { accountNoticePath, accountPage, type LoginSettings, readAccountNotice } from './overview-view.ts';

/**
 * Whether the user administers this installation, by a role of the account or of a group. The admin MCP server is beside the console:
 * who may be granted its scopes is decided here.
 */
async function administers({ options, store }: PageContext, { account }: User): Promise<boolean> {
  const admin = options.resources.get(new URL(`${accountPaths.console}/mcp`, options.issuer).href);
  if (admin === undefined || !Object.hasOwn(options.decideScopesOf, admin.resource)) return false;
  if (account.role !== null) return true;
  const scopes = Object.keys(admin.scopes);
  try {
    const limit = await findScopeLimit(
      { store, options },
      admin,
      { clientId: '', accountId: account.id },
      scopes,
    );
    return limit.grantable(scopes).length > 0;
  } catch {
    // A decision point that does not respond must not take the account page along.
    return false;
  }
}

export function createAccountOverviewRoutes(
  pages: PageRouter,
  { factors, passkeys }: LocalLogin,
): readonly Route[] {
  const { store, clock, events, csrfTokens } = pages;
  const routes = createAccountRoutes(pages, 'account');
  const describeSignIn = async (accountId: string): Promise<LoginSettings> => ({
    recoveryCodes: (await factors.isEnabled(accountId)) ? await factors.countRecoveryCodes(accountId) : null,
    passkeys: passkeys === null ? null : await store.listPasskeys(accountId),
  });
  return [
    routes.page('/account', async ({ context, user, parameters }) => {
      const sessions = await store.listSessions(user.account.id, clock());
      const { sessionHash: currentSession } = user;
      const isOther = ({ hash }: { readonly hash: string }) => Number(hash !== currentSession);
      const page = accountPage(context.layout, {
        email: user.account.email,
        administers: await administers(context, user),
        currentSession,
        sessions: sessions.toSorted((one, another) => isOther(one) - isOther(another)),
        login: (await hasLocalLogin(context, user)) ? await describeSignIn(user.account.id) : null,
        now: clock(),
        notice: readAccountNotice(parameters.one('news')),
        logoutToken: csrfTokens.issue('logout', user.sessionHash),
        token: routes.csrfToken(user),
      });
      return respondPage(page, { script: true });
    }),

    routes.form('/account/sessions', async ({ user, parameters }) => {
      const { id: accountId } = user.account;
      const chosen = parameters.required('session');
      const own = await store.listSessions(accountId, clock());
      const ended = own.filter(
        ({ hash }) => hash !== user.sessionHash && (chosen === 'others' || hash === chosen),
      );
      await Promise.all(ended.map(({ hash }) => store.endSession(hash)));
      events({ type: 'session.ended', accountId, count: ended.length });
      return respondRedirect(accountNoticePath('signed-out'));
    }),
  ];
}
