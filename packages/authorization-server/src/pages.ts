/** Composes the pages: authorization, login, consent, account and the language switch. */

import { createConnectionRoutes } from './account/connections.ts';
import { createLocalAccounts } from './account/local-accounts.ts';
import { createAccountOverviewRoutes } from './account/overview.ts';
import { createAccountRemovalRoutes } from './account/remove-account.ts';
import type { PageRouter, PageServices } from './authorization/page-context.ts';
import { createAuthorizationRoutes } from './authorization/pipeline.ts';
import { createTransactionQuota } from './authorization/transactions.ts';
import { createComponentPages } from './component-pages.ts';
import { createClientLogoRoute } from './consent/client-logos.ts';
import { createConsentRoutes } from './consent/endpoint.ts';
import type { ServerContext } from './context.ts';
import { createDevicePages } from './device/device-pages.ts';
import { createBrowserCookies } from './http/browser-cookies.ts';
import { createCsrfTokens } from './http/csrf.ts';
import { createLanguageSwitch } from './http/language.ts';
import { createPageRouter } from './http/page-router.ts';
import type { Route } from './http/router.ts';
import type { CompleteLogin } from './login/complete-login.ts';
import { createFederatedCallbacks } from './login/federated-callback.ts';
import { createLogoutRoutes } from './login/logout.ts';
import type { ServerOptions } from './options.ts';
import { createPersonalAccessTokenRoutes } from './personal-access-tokens/routes.ts';
import { createRateLimitCheck } from './rate-limit/limiter.ts';
import { createFrontPageRoute, createNotFoundRoute } from './resources/front-page.ts';
import { createAssets } from './ui/assets.ts';
import { createSessions } from './users/sessions.ts';

export type ServerPages = ReturnType<typeof createPages>;

/**
 * ```
 * GET /authorize  resolveClient → checkRedirectUri → checkRequest → openTransaction ─┐
 * POST /login     findTransaction → authenticate the user ───────────────────────────┼─▶ continueTransaction: nextStep →
 * GET /callback   findTransaction → identity provider authenticates the user ────────┤   next page, or code and redirect
 * POST /consent   findTransaction → check CSRF → decideConsent ──────────────────────┘
 * ```
 */
export function createPages(
  context: ServerContext<ServerOptions>,
  shared: Pick<
    PageServices,
    'findClient' | 'federation' | 'connections' | 'pushedRequests' | 'readRequestObject'
  >,
  /** Of features that are off by default. */
  moreRoutes: (pages: PageRouter, completeLogin: CompleteLogin) => readonly Route[],
) {
  const { brand, issuer, localAccounts, name: serverName } = context.options;
  const assets = createAssets(brand);
  const { stylesheet, script, logo, favicon } = assets;
  const services: PageServices<ServerOptions> = {
    ...context,
    ...shared,
    sessions: createSessions(context),
    csrfTokens: createCsrfTokens(context.options),
    browserCookies: createBrowserCookies(issuer),
    chargeAuthorizationRequest: createRateLimitCheck(context, 'authorizations'),
    transactionQuota: context.options.rateLimits === null ? null : createTransactionQuota(context),
  };
  const pages = createPageRouter(services, brand, {
    serverName,
    stylesheet,
    script,
    logo,
    favicon,
    links: brand.links,
    approvals: context.options.approvals,
  });
  const local = createLocalAccounts(pages);
  const { confirmation, completeLogin } = local;

  const assetRoute: Route = {
    method: 'GET',
    path: '/assets/*',
    handle: async ({ url, headers }) => assets.respond(new URL(url).pathname, headers.get('accept-encoding')),
  };
  const userRoutes = () => [
    ...createAuthorizationRoutes(pages),
    ...local.routes(),
    createClientLogoRoute(pages),
    ...createConsentRoutes(pages),
    ...createFederatedCallbacks(pages),
    ...moreRoutes(pages, completeLogin),
    ...(context.options.deviceAuthorization ? createDevicePages(pages) : []),
    ...createConnectionRoutes(pages),
    ...(context.options.personalAccessTokens ? createPersonalAccessTokenRoutes(pages, confirmation) : []),
    ...createAccountOverviewRoutes(pages, local),
    ...createAccountRemovalRoutes(pages, confirmation),
    ...createLogoutRoutes(pages),
    createLanguageSwitch(pages),
  ];
  return {
    routes: [...(context.options.servesUsers ? userRoutes() : []), assetRoute],
    /** Lists the protected servers, for a host that has nothing else at its root. */
    frontPage: createFrontPageRoute(pages).handle,
    /** The 404 page. */
    missingPage: createNotFoundRoute(pages).handle,
    componentPages: createComponentPages(services, assets),
    /** A one-time link that creates the first account, valid for a day; `null` when there is one, also of an identity provider. */
    setupLink: localAccounts ? local.firstAccount.createLink : async () => null,
    /**
     * Creates the first account, if there is none.
     * @throws ConfigurationError when the address is invalid, or the password is empty or too long
     */
    bootstrap: local.firstAccount.bootstrap,
  };
}
