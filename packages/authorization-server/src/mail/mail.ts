/** Mail put together: links for the program that sends it, and the pages behind them. Loaded only if the option `sendsMail` is on. */
import type { AuthorizationContext, PageRouter } from '../authorization/page-context.ts';
import type { FindClient } from '../clients/find-client.ts';
import type { ServerContext } from '../context.ts';
import { createEncryptedJson } from '../encryption/encrypted-json.ts';
import type { FederationOptions } from '../federation/provider/identity-provider.ts';
import type { Route } from '../http/router.ts';
import type { CompleteLogin } from '../login/complete-login.ts';
import { createLinkRequestRoutes } from './link-requests.ts';
import { createMailedLinks } from './mailed-links.ts';
import { createNoticeRoutes } from './notice-pages.ts';
import type { Notice } from './notices.ts';
import { createSignInLinkRoutes, type SignInLink } from './sign-in-links.ts';

export type MailFeature = ReturnType<typeof createMail>;

export function createMail(
  context: AuthorizationContext & ServerContext<FederationOptions>,
  findClient: FindClient,
) {
  const { encryptor } = context;
  const notices = createEncryptedJson<Notice>(encryptor, 'mail notice', 1024);
  const signInLinks = createEncryptedJson<SignInLink>(encryptor, 'sign-in link', 2048);
  const { localAccounts, signInLinks: hasSignInLinks } = context.options;
  return {
    links: createMailedLinks(context, findClient, { notices, signInLinks }),
    routes: (pages: PageRouter, completeLogin: CompleteLogin): readonly Route[] => [
      ...(localAccounts ? createLinkRequestRoutes(pages, 'forgotten') : []),
      ...(localAccounts && hasSignInLinks
        ? [
            ...createLinkRequestRoutes(pages, 'link'),
            ...createSignInLinkRoutes(pages, signInLinks, completeLogin),
          ]
        : []),
      ...createNoticeRoutes(pages, notices),
    ],
  };
}
