/** The rooms of the interaction: what all of them share is made once, and what speaks to people in each language. */

import type { ServerContext } from './context.ts';
import type { Challenges } from './external-ui/challenges.ts';
import { createExternalUi } from './external-ui/redirects.ts';
import { defineCookie } from './http/cookies.ts';
import { createCsrfTokens } from './http/csrf.ts';
import { createPageErrors } from './http/error-pages.ts';
import type { PageContext } from './page-context.ts';
import { createRateLimitCheck } from './rate-limit/limiter.ts';
import type { Assets } from './ui/assets.ts';
import { createLayout } from './ui/layout.ts';
import type { Language } from './ui/texts/languages.ts';
import { createSessions } from './users/sessions.ts';

/** What the interaction gets from the rest of the server. */
export type PageServices = Pick<PageContext, 'findClient' | 'federation'>;

/** The rooms that speak a language. */
export type PageContextOf = (language: Language) => PageContext;

/** Makes the function; the rooms of all languages keep the same sessions, and know the same forms. */
export function createPageContexts(
  context: ServerContext,
  services: PageServices,
  challenges: Challenges,
  { stylesheet, script, logo }: Assets,
): PageContextOf {
  const {
    options: { brand, issuer, name: serverName },
  } = context;
  const mounting = {
    serverName,
    stylesheet,
    script,
    logo,
    links: brand.links,
  };
  const shared = {
    ...services,
    ...context,
    sessions: createSessions(context),
    csrfTokens: createCsrfTokens(context.options),
    transactionCookie: defineCookie(issuer, 'browser'),
    chargeAuthorizationRequest: createRateLimitCheck(context, 'authorizations'),
    externalUi: createExternalUi(context.options, challenges),
  };
  return (language) => {
    const layout = createLayout(mounting, language, brand.texts);
    return { ...shared, layout, errors: createPageErrors(context, layout) };
  };
}
