/** What pages of another component at the same origin, such as a console, share with the account pages: sessions, forms and look. */
import type { HttpRequest, HttpResponse } from '@portcullis/http';
import type { PageServices } from './authorization/page-context.ts';
import { defineCookie } from './http/cookies.ts';
import { isCrossSiteForm } from './http/csrf.ts';
import { findPermittedUser } from './login/permitted-user.ts';
import type { ServerOptions } from './options.ts';
import { accountPaths, loginPath } from './ui/account-tabs.ts';
import type { Assets } from './ui/assets.ts';
import { respondRedirect } from './ui/respond-page.ts';
import { THEME } from './ui/style.ts';

/** The browser session of a user who is signed in. */
export interface ComponentSession {
  readonly accountId: string;
  readonly email: string;
  /** How the user signed in, by the names of RFC 8176; `null`: not known. */
  readonly methods: readonly string[] | null;
  /** Base64url SHA-256 of the session's cookie. */
  readonly hash: string;
}

/** Browser sessions, CSRF protection and look of the account pages. */
export interface ComponentPages {
  /** Finds the session of the request; `null`: there is none, its account is disabled, or its identity provider was removed. */
  findSession(request: HttpRequest): Promise<ComponentSession | null>;
  /** The hidden field `token` of a form of this session. */
  csrfToken(session: ComponentSession): string;
  /** Whether a form was sent from a page of this session. */
  isOwnForm(request: HttpRequest, session: ComponentSession, token: string | undefined): boolean;
  /**
   * Redirects to the sign-in page, which returns to `/admin`. @param path of a page below it, which `takeReturnPath` returns then;
   * `null`: none
   */
  redirectToLogin(path: string | null): HttpResponse;
  /** The page that was opened before signing in, with the `Set-Cookie` value that forgets it; `null`: none. */
  takeReturnPath(request: HttpRequest): { readonly path: string; readonly cookie: string } | null;
  readonly look: {
    readonly serverName: string;
    /** CSS with custom properties, in the colours of the operator. */
    readonly theme: string;
    /** Path of the operator's logo; `null`: none. */
    readonly logo: string | null;
    /** Path of the icon that browsers show in tabs. */
    readonly favicon: string;
  };
}

/** Seconds in which a user signs in. */
const RETURN_LIFETIME = 900;
const MAX_PATH = 1500;

export function createComponentPages(
  services: Pick<PageServices<ServerOptions>, 'sessions' | 'federation' | 'csrfTokens' | 'options'>,
  { logo, favicon }: Pick<Assets, 'logo' | 'favicon'>,
): ComponentPages {
  const { csrfTokens, options } = services;
  const { issuer, brand, name } = options;
  const returnCookie = defineCookie(issuer, 'console-path', /^[A-Za-z0-9_-]{1,2000}$/);
  return {
    async findSession(request) {
      const user = await findPermittedUser(services, request);
      if (user === null) return null;
      const { account, methods, sessionHash } = user;
      return { accountId: account.id, email: account.email, methods, hash: sessionHash };
    },
    csrfToken: ({ hash }) => csrfTokens.issue('console', hash),
    isOwnForm: (request, { hash }, token) =>
      csrfTokens.matches(token, 'console', hash) && !isCrossSiteForm(request, issuer),
    redirectToLogin(path) {
      const cookies =
        path !== null && path.length <= MAX_PATH && isConsolePath(path)
          ? [returnCookie.write(Buffer.from(path).toString('base64url'), RETURN_LIFETIME)]
          : [];
      return respondRedirect(loginPath('console'), cookies);
    },
    takeReturnPath(request) {
      const value = returnCookie.read(request);
      if (value === null) return null;
      const path = Buffer.from(value, 'base64url').toString();
      return isConsolePath(path) ? { path, cookie: returnCookie.clear() } : null;
    },
    look: { serverName: name, theme: THEME + brand.style, logo, favicon },
  };
}

/** A path of this origin: nothing that begins so can name another one. */
function isConsolePath(path: string): boolean {
  return path.startsWith(`${accountPaths.console}/`) && /^[\x21-\x7e]*$/.test(path);
}
