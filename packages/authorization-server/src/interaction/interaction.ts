/** The part of the server that people meet, put together: authorization requests, sign-in, consent, their own account. */
import { createAuthorize } from '../authorize/authorize.ts';
import { createCallbacks } from '../authorize/callback.ts';
import { createConsent } from '../authorize/consent.ts';
import { createLanguage, inTheirLanguage } from '../authorize/language.ts';
import { createLogout } from '../authorize/logout.ts';
import type { Configuration } from '../configuration.ts';
import { createContinue } from '../headless/continue.ts';
import { createElsewhere } from '../headless/elsewhere.ts';
import { createHeadlessEndpoints } from '../headless/endpoints.ts';
import { signsInElsewhere } from '../headless/headless-options.ts';
import { createTickets } from '../headless/tickets.ts';
import { createAccount } from '../home/account.ts';
import { createConnections } from '../home/connections.ts';
import { createFront, createMissing } from '../home/front.ts';
import { createAccountRemoval } from '../home/remove-account.ts';
import { createAssets } from '../pages/assets.ts';
import type { Language } from '../pages/texts/languages.ts';
import type { Route } from '../routes.ts';
import { createRoomsIn, type InteractionHands } from './rooms-in.ts';
import { createSigningInHere } from './signing-in-here.ts';

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
  const signingIn = createSigningInHere(configuration);
  const { firstAccount } = signingIn;

  const routesIn = (language: Language): readonly Route[] => {
    const rooms = roomsIn(language);
    return [
      ...createAuthorize(rooms),
      ...(isElsewhere ? createElsewhere(rooms) : signingIn.routes(rooms)),
      ...createConsent(rooms),
      ...createCallbacks(rooms),
      ...createConnections(rooms),
      ...createAccount(rooms, isElsewhere ? null : signingIn),
      ...createAccountRemoval(rooms),
      ...createLogout(rooms),
      ...(headless === null ? [] : [createContinue(rooms, tickets)]),
      createLanguage(rooms),
    ];
  };
  const [front, missing] = inTheirLanguage((language) => {
    const rooms = roomsIn(language);
    return [createFront(rooms), createMissing(rooms)];
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
    setupLink: isElsewhere || !localAccounts ? async () => null : firstAccount.link,
    bootstrap: firstAccount.bootstrap,
  };
}
