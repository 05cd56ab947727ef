/** The page of a gateway's link: the signed-in user connects an account at a backend for one app. */
import { type HttpResponse, queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import { createAccountRoutes } from '../account/account-routes.ts';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import { respondProviderError } from '../authorization/start-federated-login.ts';
import { clientDisplayName } from '../display-name.ts';
import { defineCookie } from '../http/cookies.ts';
import type { Route } from '../http/router.ts';
import { loginPath } from '../ui/account-tabs.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import type { User } from '../users/sessions.ts';
import type { AccountServices } from './callback.ts';
import { type ConnectPage, connectPage, signOutAction } from './connect-view.ts';
import { CONNECT_PATH, type ConnectLink } from './links.ts';

/** Seconds for which the browser keeps a link while its user signs in. */
const LINK_COOKIE_LIFETIME = 1800;
const LINK_FORMAT = /^[\w-]{40,3000}$/;

/** Where a backend may send the browser, as sources of the CSP directive `form-action`. */
const ANY_SERVER = ['https:', 'http://localhost:*', 'http://127.0.0.1:*'];

export function createConnectRoutes(pages: PageRouter, services: AccountServices): readonly Route[] {
  const { options, sessions } = pages;
  const routes = createAccountRoutes(pages, 'connect');
  const cookie = defineCookie(options.issuer, 'connect-link', LINK_FORMAT);
  return [
    pages.route('GET', CONNECT_PATH, async (context, request) => {
      const given = readParameters(queryOf(request)).one('link');
      // Kept in a cookie, so that signing in leads back here, and no page has the link in its address.
      if (given !== undefined)
        return respondRedirect(
          CONNECT_PATH,
          LINK_FORMAT.test(given) ? [cookie.write(given, LINK_COOKIE_LIFETIME)] : [cookie.clear()],
        );
      const user = await sessions.find(request);
      const link = cookie.read(request);
      if (link === null) return context.errors.show(CONNECT_PATH, 'used-connect-link');
      if (user === null) return respondRedirect(loginPath('connect'));
      const opened = await openLink(context, services, user, link);
      const fields = { link, token: routes.csrfToken(user) };
      return 'status' in opened ? opened : show(context, user, opened, fields);
    }),

    routes.form(CONNECT_PATH, async ({ context, user, parameters }) => {
      const link = parameters.one('link') ?? '';
      const opened = await openLink(context, services, user, link);
      return 'status' in opened ? opened : start(context, services, user, { ...opened, link });
    }),
  ];
}

/** A link is for the user of its grant: another user would give the app of that user access to an account of their own. */
async function openLink(
  { errors, layout }: PageContext,
  { links }: AccountServices,
  { account }: User,
  link: string,
): Promise<ConnectLink | HttpResponse> {
  const opened = await links.open(link);
  if (opened === null) return errors.show(CONNECT_PATH, 'used-connect-link');
  return opened.grant.accountId === account.id
    ? opened
    : errors.show(CONNECT_PATH, 'other-account', { action: signOutAction(layout) });
}

async function show(
  { layout, findClient }: PageContext,
  user: User,
  { backend, grant, scopes }: ConnectLink,
  fields: ConnectPage['fields'],
): Promise<HttpResponse> {
  const client = await findClient(grant.clientId, 'resume').catch(() => null);
  const page = connectPage(layout, {
    appName: client === null ? layout.text('app.gone') : clientDisplayName(client, layout),
    backend,
    scopes,
    email: user.account.email,
    fields,
  });
  return respondPage(page, { formAction: ANY_SERVER });
}

async function start(
  context: PageContext,
  { requests }: AccountServices,
  { account }: User,
  { backend, grant, scopes, link }: ConnectLink & { readonly link: string },
): Promise<HttpResponse> {
  const started = await requests.start(backend, {
    grantId: grant.id,
    clientId: grant.clientId,
    accountId: account.id,
    scopes,
    transaction: null,
    link,
    until: Number.MAX_SAFE_INTEGER,
  });
  if (!('error' in started)) return started;
  return respondProviderError(context, backend, started.error, {
    endpoint: CONNECT_PATH,
    restartPath: CONNECT_PATH,
  });
}
