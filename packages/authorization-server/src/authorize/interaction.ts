/** The part of the server that people meet: authorization requests, sign-in, consent, the first account. */
import { createAttempts } from '../accounts/attempts.ts';
import { createFirstAccount } from '../accounts/first-account.ts';
import { createPasskeys } from '../accounts/passkeys.ts';
import { createPasswords } from '../accounts/passwords.ts';
import { createSecondFactors } from '../accounts/second-factors.ts';
import { createSessions } from '../accounts/sessions.ts';
import { createSignIn } from '../accounts/sign-in.ts';
import type { FindClient } from '../clients/find-client.ts';
import type { Configuration } from '../configuration.ts';
import { createAccount } from '../home/account.ts';
import { createAccountLinks } from '../home/account-links.ts';
import { createCodes } from '../home/codes.ts';
import { createConnections } from '../home/connections.ts';
import { createPasskeyPages } from '../home/passkeys.ts';
import { createCheckOpening } from '../limits/openings.ts';
import { createAssets } from '../pages/assets.ts';
import { defineCookie } from '../pages/cookies.ts';
import { createFrame } from '../pages/layout.ts';
import { replacedPages } from '../pages/pages.ts';
import type { Language } from '../pages/texts/languages.ts';
import type { Route } from '../routes.ts';
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
  { findClient }: { readonly findClient: FindClient },
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
  const shared = {
    configuration,
    findClient,
    sessions: createSessions(configuration),
    formTokens: createFormTokens(configuration),
    browser: defineCookie(configuration.issuer, 'browser'),
    checkOpening: createCheckOpening(configuration),
  };
  const signIn = createSignIn(configuration, passwords);
  const factors = createSecondFactors(configuration);
  const attempts = createAttempts(configuration.clock);
  const routesIn = (language: Language): readonly Route[] => {
    const frame = createFrame(mounting, language, configuration.brand.texts);
    const rooms: Rooms = { ...shared, frame, edge: createPageEdge(configuration, frame) };
    const secondStep = createSecondStep(rooms, { factors, attempts, letIn: createWelcome(rooms) });
    return [
      ...createAuthorize(rooms),
      ...createLogin(rooms, { signIn, passkeys, welcome: secondStep.welcome }),
      secondStep.route,
      ...createConsent(rooms),
      ...createConnections(rooms),
      ...createCodes(rooms, factors),
      ...createAccount(rooms, factors, passkeys !== null),
      ...(passkeys === null ? [] : createPasskeyPages(rooms, passkeys)),
      ...createAccountLinks(rooms, passwords, passkeys),
      ...createSetup(rooms, firstAccount),
      createLogout(rooms),
      createLanguage(rooms),
    ];
  };
  const assetRoute: Route = {
    method: 'GET',
    path: '/assets/*',
    handle: async (request) => assets.respond(new URL(request.url).pathname),
  };
  return {
    routes: [...inTheirLanguage(routesIn), assetRoute],
    setupLink: firstAccount.link,
    bootstrap: firstAccount.bootstrap,
  };
}
