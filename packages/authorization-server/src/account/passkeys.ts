/** The passkey pages of an account: add and remove passkeys. */
import type { HttpRequest, HttpResponse } from '@portcullis/http';
import type { Route } from '../http/router.ts';
import type { PageRouter } from '../page-context.ts';
import type { Layout } from '../ui/layout.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { parseBrowserName } from '../users/browser-name.ts';
import { MAX_PASSKEYS, type Passkeys } from '../users/passkeys.ts';
import { type AccountRequest, createAccountRoutes } from './account-routes.ts';
import { accountNoticePath, describeBrowser } from './overview-view.ts';
import { addPasskeyPage } from './passkeys-view.ts';

/** Default name of a passkey: the browser that creates it. */
export function suggestedName(layout: Layout, { headers }: HttpRequest): string {
  const browser = parseBrowserName(headers.get('user-agent'));
  return browser === null ? 'Passkey' : describeBrowser(layout, browser);
}

export function createPasskeyRoutes(pages: PageRouter, passkeys: Passkeys): readonly Route[] {
  const { store, events } = pages;
  const routes = createAccountRoutes(pages, 'account', 'delicate');

  const show = async (
    { context: { layout }, request, user }: Pick<AccountRequest, 'context' | 'request' | 'user'>,
    wrong: string | null,
  ): Promise<HttpResponse> => {
    const known = await store.listPasskeys(user.account.id);
    const page = addPasskeyPage(layout, {
      options: passkeys.creationOptions(user.account, known, [user.sessionHash]),
      token: routes.csrfToken(user),
      suggestion: suggestedName(layout, request),
      error: wrong,
    });
    return respondPage(page, { script: true, status: wrong === null ? 200 : 400 });
  };

  return [
    routes.page('/account/passkeys/add', (visit) => show(visit, null)),

    routes.form('/account/passkeys/add', async (visit) => {
      const { context, user, parameters } = visit;
      const { layout } = context;
      const { account, sessionHash } = user;
      if ((await store.listPasskeys(account.id)).length >= MAX_PASSKEYS) {
        return show(visit, layout.text('passkey.too-many'));
      }
      const credential = parameters.one('credential') ?? '';
      const passkey = await passkeys.verifyRegistration(account, credential, parameters.one('name') ?? '', [
        sessionHash,
      ]);
      if (passkey === null || !(await store.addPasskey(passkey))) {
        return show(visit, layout.text('passkey.not-added'));
      }
      events({ type: 'passkey.added', accountId: account.id });
      return respondRedirect(accountNoticePath('passkey-added'));
    }),

    routes.form('/account/passkeys/remove', async ({ user, parameters }) => {
      const { id: accountId } = user.account;
      const removed = await store.removePasskey(accountId, parameters.required('passkey'));
      if (removed) events({ type: 'passkey.removed', accountId });
      return respondRedirect(accountNoticePath('passkey-removed'));
    }),
  ];
}
