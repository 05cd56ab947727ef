/** Routes of the account pages: require a session, a recent login where it matters, and a CSRF token for forms. */
import { type HttpResponse, queryOf } from '@portcullis/http';
import { type Parameters, readParameters } from '@portcullis/protocol';
import type { PageRouter, PageServices } from '../authorization/page-context.ts';
import type { PostedForm } from '../http/page-route.ts';
import type { Route } from '../http/router.ts';
import { hasLocalLogin } from '../login/local-login.ts';
import { isRecentLogin } from '../login/login-target.ts';
import { type AccountSection, accountPaths, loginPath } from '../ui/account-tabs.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import type { User } from '../users/sessions.ts';

/** A request with its session. */
export interface AccountRequest extends Omit<PostedForm<PageServices>, 'form'> {
  readonly user: User;
  /** Query of a page, body of a form. */
  readonly parameters: Parameters;
}

/**
 * Creates the routes of one account page.
 * @param kind `own`: changes credentials, so only for users with a local account; `recent`: changes something important without
 * asking for a credential, so requires a recent login; `delicate`: both
 */
export function createAccountRoutes(
  pages: PageRouter,
  section: AccountSection,
  kind: 'plain' | 'own' | 'recent' | 'delicate' = 'plain',
) {
  const { clock, csrfTokens, sessions } = pages;
  /** CSRF token of this user's forms. */
  const csrfToken = (user: User) => csrfTokens.issue('account', user.sessionHash);
  const mustBeRecent = kind === 'recent' || kind === 'delicate';
  const isForLocalUsers = kind === 'own' || kind === 'delicate';
  const needsLogin = (user: User | null): user is null =>
    user === null || (mustBeRecent && !isRecentLogin(user, clock()));
  const redirectToLogin = () => respondRedirect(loginPath(section, mustBeRecent));
  const lacksLocalLogin = async (user: User) => isForLocalUsers && !(await hasLocalLogin(pages, user));
  return {
    csrfToken,
    page: (path: string, handle: (visit: AccountRequest) => Promise<HttpResponse>): Route =>
      pages.route('GET', path, async (context, request, connection) => {
        const user = await sessions.find(request);
        if (needsLogin(user)) return redirectToLogin();
        if (await lacksLocalLogin(user)) return respondRedirect(accountPaths[section]);
        const parameters = readParameters(queryOf(request));
        return handle({ context, request, connection, user, parameters });
      }),
    /** A posted form with the CSRF token of this session; all others are rejected. */
    form: (path: string, handle: (visit: AccountRequest) => Promise<HttpResponse>): Route =>
      pages.form(path, async ({ context, request, connection, form: parameters }) => {
        const user = await sessions.find(request);
        if (needsLogin(user)) return redirectToLogin();
        if (!csrfTokens.matches(parameters.one('token'), 'account', user.sessionHash))
          return context.errors.rejectForm(path, accountPaths[section]);
        if (await lacksLocalLogin(user)) return respondRedirect(accountPaths[section]);
        return handle({ context, request, connection, user, parameters });
      }),
  };
}
