/** Pages of a person's own account: whoever is not signed in signs in first, and forms are bound to the session. */
import {
  type ConnectionInfo,
  type HttpRequest,
  type HttpResponse,
  queryOf,
  readFormBody,
} from '@portcullis/http';
import { type Parameters, readParameters } from '@portcullis/protocol';
import { isForeignForm } from '../authorize/form-tokens.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { signsInElsewhere } from '../headless/headless-options.ts';
import { hasLocalLogin } from '../login/has-local-login.ts';
import { RECENT_LOGIN_SECONDS } from '../login/login-target.ts';
import type { Route } from '../routes.ts';
import { type AccountSection, accountPaths, loginPath } from '../ui/account-tabs.ts';
import { redirectByPage } from '../ui/message-page.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import type { User } from '../users/sessions.ts';

/** Who asks for what. */
interface AccountRequest {
  readonly request: HttpRequest;
  readonly connection: ConnectionInfo;
  readonly user: User;
  /** Of the query of a page, of the body of a form. */
  readonly parameters: Parameters;
}

export interface AccountRoutes {
  page(path: string, handle: (visit: AccountRequest) => Promise<HttpResponse>): Route;
  /** A posted form with a token of this session. Anything else changes nothing. */
  form(path: string, handle: (visit: AccountRequest) => Promise<HttpResponse>): Route;
  /** The token of this person's forms. */
  csrfToken(user: User): string;
}

/**
 * The routes of one page and those below it.
 * @param kind `own`: about how one signs in here, so for accounts of this server only; `recent`: changes what matters without
 * asking for what proves the owner, so the sign-in has to be a recent one; `delicate`: both
 */
export function createAccountRoutes(
  rooms: Rooms,
  home: AccountSection,
  kind: 'plain' | 'own' | 'recent' | 'delicate' = 'plain',
): AccountRoutes {
  const { configuration, edge, formTokens, sessions } = rooms;
  const csrfToken = (user: User) => formTokens.mint('home', user.sessionHash);
  const mustBeRecent = kind === 'recent' || kind === 'delicate';
  const isOwn = kind === 'own' || kind === 'delicate';
  const mustSignIn = (user: User | null): user is null =>
    user === null || (mustBeRecent && configuration.clock() - user.signedInAt >= RECENT_LOGIN_SECONDS);
  const signIn = () => respondRedirect(loginPath(home, mustBeRecent));
  const lacksLocalLogin = async (user: User) => isOwn && !(await hasLocalLogin(rooms, user));
  return {
    csrfToken,
    page: (path, handle) =>
      edge.route('GET', path, async (request, connection) => {
        const user = await sessions.find(request);
        if (mustSignIn(user)) return signIn();
        if (await lacksLocalLogin(user)) return respondRedirect(accountPaths[home]);
        const parameters = readParameters(queryOf(request));
        return handle({ request, connection, user, parameters });
      }),
    form: (path, handle) =>
      edge.route('POST', path, async (request, connection) => {
        const parameters = await readFormBody(request);
        const user = await sessions.find(request);
        if (mustSignIn(user)) {
          return signsInElsewhere(configuration) ? redirectByPage(rooms.layout, signIn()) : signIn();
        }
        const isOurs = formTokens.matches(parameters.one('token'), 'home', user.sessionHash);
        if (!isOurs || isForeignForm(request, configuration.issuer)) {
          const action = { label: rooms.layout.text('home.look-again'), href: accountPaths[home] };
          return edge.refuse(path, 'stale-form', { action });
        }
        if (await lacksLocalLogin(user)) return respondRedirect(accountPaths[home]);
        return handle({ request, connection, user, parameters });
      }),
  };
}
