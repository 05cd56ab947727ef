/** The part of the server that people meet: authorization requests, sign-in, consent, the first account. */
import { createChangePassword } from '../accounts/change-password.ts';
import { createFirstAccount } from '../accounts/first-account.ts';
import { createPasskeys } from '../accounts/passkeys.ts';
import { createPasswords } from '../accounts/passwords.ts';
import { createSecondFactors } from '../accounts/second-factors.ts';
import { createSessions } from '../accounts/sessions.ts';
import { createSharedAttempts } from '../accounts/shared-attempts.ts';
import { createSignIn } from '../accounts/sign-in.ts';
import type { Configuration } from '../configuration.ts';
import { createContinue } from '../headless/continue.ts';
import { createElsewhere } from '../headless/elsewhere.ts';
import { createHeadlessEndpoints } from '../headless/endpoints.ts';
import { createHandOver } from '../headless/hand-over.ts';
import { createTickets } from '../headless/tickets.ts';
import { createAccount } from '../home/account.ts';
import { createAccountLinks } from '../home/account-links.ts';
import { createCodes } from '../home/codes.ts';
import { createConnections } from '../home/connections.ts';
import { createFront, createMissing } from '../home/front.ts';
import { createPasskeyPages } from '../home/passkeys.ts';
import { createPasswordPage } from '../home/password.ts';
import { createAccountRemoval } from '../home/remove-account.ts';
import { createCheckOpening } from '../limits/openings.ts';
import { createAssets } from '../pages/assets.ts';
import { defineCookie } from '../pages/cookies.ts';
import { createFrame } from '../pages/layout.ts';
import { replacedPages } from '../pages/pages.ts';
import type { Language } from '../pages/texts/languages.ts';
import type { Route } from '../routes.ts';
import { createCallbacks } from '../upstream/callback.ts';
import { createAuthorize } from './authorize.ts';
import { createConsent } from './consent.ts';
import { createFormTokens } from './form-tokens.ts';
import { createLanguage, inTheirLanguage } from './language.ts';
import { createLogin } from './login.ts';
import { createLogout } from './logout.ts';
import { createPageEdge } from './page-edge.ts';
import type { Rooms } from './rooms.ts';
import { createSecondStep } from './second-step.ts';
import { createSetup } from './setup.ts';
import { createWelcome } from './welcome.ts';

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
export function createInteraction(
  configuration: Configuration,
  { findClient, upstream, statuses }: Pick<Rooms, 'findClient' | 'upstream' | 'statuses'>,
): Interaction {
  const passwords = createPasswords();
  const passkeys = createPasskeys(configuration);
  const firstAccount = createFirstAccount(configuration, passwords);
  const assets = createAssets(configuration.brand);
  const mounting = {
    serverName: configuration.name,
    stylesheet: assets.stylesheet,
    script: assets.script,
    logo: assets.logo,
    links: configuration.brand.links,
    replaced: replacedPages(configuration.pages),
  };
  const { headless } = configuration;
  const isElsewhere = headless !== null && headless.loginUrl !== null;
  const tickets = createTickets(configuration);
  const shared = {
    configuration,
    findClient,
    upstream,
    statuses,
    sessions: createSessions(configuration),
    formTokens: createFormTokens(configuration),
    browser: defineCookie(configuration.issuer, 'browser'),
    checkOpening: createCheckOpening(configuration),
    handOver: createHandOver(configuration, tickets),
  };
  const signIn = createSignIn(configuration, passwords);
  const changePassword = createChangePassword(configuration, passwords, signIn);
  const factors = createSecondFactors(configuration);
  const attempts = createSharedAttempts(configuration, 'code');
  const roomsIn = (language: Language): Rooms => {
    const frame = createFrame(mounting, language, configuration.brand.texts);
    return { ...shared, frame, edge: createPageEdge(configuration, frame) };
  };
  /** How people sign in here; where they do so elsewhere, none of it is there. */
  const signingIn = (rooms: Rooms): readonly Route[] => {
    const secondStep = createSecondStep(rooms, { factors, attempts, letIn: createWelcome(rooms) });
    return [
      ...createLogin(rooms, { signIn, passkeys, welcome: secondStep.welcome }),
      secondStep.route,
      ...createCodes(rooms, factors, attempts),
      ...createPasswordPage(rooms, changePassword),
      ...(passkeys === null ? [] : createPasskeyPages(rooms, passkeys)),
      ...createAccountLinks(rooms, passwords, passkeys),
      ...createSetup(rooms, firstAccount, passkeys !== null),
    ];
  };
  const routesIn = (language: Language): readonly Route[] => {
    const rooms = roomsIn(language);
    return [
      ...createAuthorize(rooms),
      ...(isElsewhere ? createElsewhere(rooms) : signingIn(rooms)),
      ...createConsent(rooms),
      ...createCallbacks(rooms),
      ...createConnections(rooms),
      ...createAccount(rooms, isElsewhere ? null : { factors, passkeys }),
      ...createAccountRemoval(rooms),
      createLogout(rooms),
      ...(headless === null ? [] : [createContinue(rooms, tickets)]),
      createLanguage(rooms),
    ];
  };
  const assetRoute: Route = {
    method: 'GET',
    path: '/assets/*',
    handle: async (request) => assets.respond(new URL(request.url).pathname),
  };
  const [front, missing] = inTheirLanguage((language) => {
    const rooms = roomsIn(language);
    return [createFront(rooms), createMissing(rooms)];
  });
  if (front === undefined || missing === undefined) throw new Error('a page has no language');
  return {
    routes: [
      ...inTheirLanguage(routesIn),
      assetRoute,
      ...(headless === null ? [] : createHeadlessEndpoints(configuration, headless, tickets, roomsIn)),
    ],
    frontPage: front.handle,
    missingPage: missing.handle,
    setupLink: isElsewhere || !configuration.localAccounts ? async () => null : firstAccount.link,
    bootstrap: firstAccount.bootstrap,
  };
}
