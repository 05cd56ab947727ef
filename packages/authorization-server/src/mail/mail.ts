/** Mail put together: links for the program that sends it, and the pages behind them. Loaded only if the option `sendsMail` is on. */
import type { AuthorizationContext, PageRouter } from '../authorization/page-context.ts';
import type { FindClient } from '../clients/find-client.ts';
import type { Route } from '../http/router.ts';
import { createMailedLinks, createNoticeTokens, type MailedLinks } from './mailed-links.ts';
import { createNoticeRoutes } from './notice-pages.ts';
import { createResetRequestRoutes } from './reset-requests.ts';

export interface MailFeature {
  readonly links: MailedLinks;
  routes(pages: PageRouter): readonly Route[];
}

export function createMail(context: AuthorizationContext, findClient: FindClient): MailFeature {
  const tokens = createNoticeTokens(context);
  return {
    links: createMailedLinks(context, findClient, tokens),
    routes: (pages) => [
      ...(context.options.localAccounts ? createResetRequestRoutes(pages) : []),
      ...createNoticeRoutes(pages, tokens),
    ],
  };
}
