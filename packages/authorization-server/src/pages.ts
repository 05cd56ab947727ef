/** The part of the server that people meet, put together: authorization requests, sign-in, consent, their own account. */

import { createConnectionRoutes } from './account/connections.ts';
import { createLocalAccounts } from './account/local-accounts.ts';
import { createAccountOverviewRoutes } from './account/overview.ts';
import { createAccountRemovalRoutes } from './account/remove-account.ts';
import { createAuthorize } from './authorization/pipeline.ts';
import { createConsent } from './consent/endpoint.ts';
import type { ServerContext } from './context.ts';
import { createExternalUiApi } from './external-ui/api.ts';
import { createChallenges } from './external-ui/challenges.ts';
import { createContinueEndpoint } from './external-ui/continue.ts';
import { createExternalLogin } from './external-ui/external-login.ts';
import { hasExternalLogin } from './external-ui/external-ui-options.ts';
import { createFrontPageRoute, createNotFoundRoute } from './http/front-page.ts';
import { createLanguageSwitch, inTheirLanguage } from './http/language.ts';
import type { Route } from './http/router.ts';
import { createFederatedCallbacks } from './login/federated-callback.ts';
import { createLogoutRoutes } from './login/logout.ts';
import { createPageContexts, type PageServices } from './page-contexts.ts';
import { createAssets } from './ui/assets.ts';
import type { Language } from './ui/texts/languages.ts';

export interface ServerPages {
  readonly routes: readonly Route[];
  /** Shows what is protected here: for a host that has nothing better at its root. */
  readonly frontPage: Route['handle'];
  /** Says that nothing stands at a path, with 404. */
  readonly missingPage: Route['handle'];
  /** A one-time link that makes the first account; `null` when there is one. */
  setupLink(): Promise<string | null>;
  /**
   * Creates the first account, if there is none.
   * @throws ConfigurationError when the address is none, or the password is empty or too long.
   */
  bootstrap(email: string, password: string): Promise<'created' | 'exists'>;
}

/**
 * ```
 * GET /authorize  admit → check → open ─┐
 * POST /login     find → sign in ───────┼─▶ advance: next page, or code and redirect
 * POST /consent   find → approve ───────┘
 * ```
 */
export function createPages(context: ServerContext, services: PageServices): ServerPages {
  const {
    options: { brand, externalUi: headless, localAccounts },
  } = context;
  const isElsewhere = hasExternalLogin(context.options);
  const assets = createAssets(brand);
  const challenges = createChallenges(context);
  const contextIn = createPageContexts(context, services, challenges, assets);
  const signingIn = createLocalAccounts(context);
  const { firstAccount } = signingIn;

  const routesIn = (language: Language): readonly Route[] => {
    const context = contextIn(language);
    return [
      ...createAuthorize(context),
      ...(isElsewhere ? createExternalLogin(context) : signingIn.routes(context)),
      ...createConsent(context),
      ...createFederatedCallbacks(context),
      ...createConnectionRoutes(context),
      ...createAccountOverviewRoutes(context, isElsewhere ? null : signingIn),
      ...createAccountRemovalRoutes(context),
      ...createLogoutRoutes(context),
      ...(headless === null ? [] : [createContinueEndpoint(context, challenges)]),
      createLanguageSwitch(context),
    ];
  };
  const [front, missing] = inTheirLanguage((language) => {
    const context = contextIn(language);
    return [createFrontPageRoute(context), createNotFoundRoute(context)];
  });
  if (front === undefined || missing === undefined) throw new Error('a page has no language');

  return {
    routes: [
      ...inTheirLanguage(routesIn),
      { method: 'GET', path: '/assets/*', handle: async ({ url }) => assets.respond(new URL(url).pathname) },
      ...(headless === null ? [] : createExternalUiApi(context, headless, challenges, contextIn)),
    ],
    frontPage: front.handle,
    missingPage: missing.handle,
    setupLink: isElsewhere || !localAccounts ? async () => null : firstAccount.createLink,
    bootstrap: firstAccount.bootstrap,
  };
}
