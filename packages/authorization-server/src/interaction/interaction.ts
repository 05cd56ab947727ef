/** The part of the server that people meet, put together: authorization requests, sign-in, consent, their own account. */

import { createConnectionRoutes } from '../account/connections.ts';
import { createLocalAccounts } from '../account/local-accounts.ts';
import { createAccountOverviewRoutes } from '../account/overview.ts';
import { createAccountRemovalRoutes } from '../account/remove-account.ts';
import { createAuthorize } from '../authorize/authorize.ts';
import { createCallbacks } from '../authorize/callback.ts';
import { createConsent } from '../authorize/consent.ts';
import { createLanguage, inTheirLanguage } from '../authorize/language.ts';
import type { Configuration } from '../configuration.ts';
import { createContinue } from '../headless/continue.ts';
import { createElsewhere } from '../headless/elsewhere.ts';
import { createHeadlessEndpoints } from '../headless/endpoints.ts';
import { signsInElsewhere } from '../headless/headless-options.ts';
import { createTickets } from '../headless/tickets.ts';
import { createFrontPageRoute, createNotFoundRoute } from '../http/front-page.ts';
import { createLogoutRoutes } from '../login/logout.ts';
import type { Route } from '../routes.ts';
import { createAssets } from '../ui/assets.ts';
import type { Language } from '../ui/texts/languages.ts';
import { createRoomsIn, type InteractionHands } from './rooms-in.ts';

export interface Interaction {
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
export function createInteraction(configuration: Configuration, hands: InteractionHands): Interaction {
  const { brand, externalUi: headless, localAccounts } = configuration;
  const isElsewhere = signsInElsewhere(configuration);
  const assets = createAssets(brand);
  const tickets = createTickets(configuration);
  const roomsIn = createRoomsIn(configuration, hands, tickets, assets);
  const signingIn = createLocalAccounts(configuration);
  const { firstAccount } = signingIn;

  const routesIn = (language: Language): readonly Route[] => {
    const rooms = roomsIn(language);
    return [
      ...createAuthorize(rooms),
      ...(isElsewhere ? createElsewhere(rooms) : signingIn.routes(rooms)),
      ...createConsent(rooms),
      ...createCallbacks(rooms),
      ...createConnectionRoutes(rooms),
      ...createAccountOverviewRoutes(rooms, isElsewhere ? null : signingIn),
      ...createAccountRemovalRoutes(rooms),
      ...createLogoutRoutes(rooms),
      ...(headless === null ? [] : [createContinue(rooms, tickets)]),
      createLanguage(rooms),
    ];
  };
  const [front, missing] = inTheirLanguage((language) => {
    const rooms = roomsIn(language);
    return [createFrontPageRoute(rooms), createNotFoundRoute(rooms)];
  });
  if (front === undefined || missing === undefined) throw new Error('a page has no language');

  return {
    routes: [
      ...inTheirLanguage(routesIn),
      { method: 'GET', path: '/assets/*', handle: async ({ url }) => assets.respond(new URL(url).pathname) },
      ...(headless === null ? [] : createHeadlessEndpoints(configuration, headless, tickets, roomsIn)),
    ],
    frontPage: front.handle,
    missingPage: missing.handle,
    setupLink: isElsewhere || !localAccounts ? async () => null : firstAccount.createLink,
    bootstrap: firstAccount.bootstrap,
  };
}
