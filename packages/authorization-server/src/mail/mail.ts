/** Mail put together: links for the program that sends it, and the pages behind them. Loaded only if the option `sendsMail` is on. */
import type { AuthorizationContext, PageRouter } from '../authorization/page-context.ts';
import type { FindClient } from '../clients/find-client.ts';
import type { ServerContext } from '../context.ts';
import type { FederationOptions } from '../federation/provider/identity-provider.ts';
import type { Route } from '../http/router.ts';
import type { CompleteLogin } from '../login/complete-login.ts';
import { createLinkRequestRoutes } from './link-requests.ts';
import { createMailedLinks, createNoticeTokens } from './mailed-links.ts';
import { createNoticeRoutes } from './notice-pages.ts';
import { createSignInLinkRoutes, createSignInLinks } from './sign-in-links.ts';

export type MailFeature = ReturnType<typeof createMail>;

export function createMail(
  context: AuthorizationContext & ServerContext<FederationOptions>,
  findClient: FindClient,
) {
  const tokens = createNoticeTokens(context);
  const signInLinks = createSignInLinks(context);
  const { localAccounts, signInLinks: hasSignInLinks } = context.options;
  return {
    links: createMailedLinks(context, findClient, { tokens, signInLinks }),
    routes: (pages: PageRouter, completeLogin: CompleteLogin): readonly Route[] => [
      ...(localAccounts ? createLinkRequestRoutes(pages, 'forgotten') : []),
      ...(localAccounts && hasSignInLinks
        ? [
            ...createLinkRequestRoutes(pages, 'link'),
            ...createSignInLinkRoutes(pages, signInLinks, completeLogin),
          ]
        : []),
      ...createNoticeRoutes(pages, tokens),
    ],
  };
}
