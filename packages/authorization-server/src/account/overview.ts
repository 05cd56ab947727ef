/** The account page: login methods and sessions, and ending other sessions. */
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import { hasLocalLogin, type LocalLogin } from '../login/local-login.ts';
import { accountPaths } from '../ui/account-tabs.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { createAccountRoutes } from './account-routes.ts';
import { accountNoticePath, accountPage, type LoginSettings, readAccountNotice } from './overview-view.ts';

/** The admin MCP server is beside the console: its tokens are issued here. */
function hasConsole({ issuer, resources }: PageContext['options']): boolean {
  return resources.has(new URL(`${accountPaths.console}/mcp`, issuer).href);
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
      const browsers = sessions.map(({ hash, browser, address, createdAt }) => ({
        id: hash,
        name: browser,
        address,
        loggedInAt: createdAt,
        isCurrent: hash === user.sessionHash,
      }));
      browsers.sort((one, other) => Number(other.isCurrent) - Number(one.isCurrent));
      const page = accountPage(context.layout, {
        email: user.account.email,
        administers: user.account.role !== null && hasConsole(context.options),
        sessions: browsers,
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
