/** The passkey pages of an account: add and remove passkeys. */
import type { HttpRequest, HttpResponse } from '@portcullis/http';
import type { PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import type { Layout } from '../ui/layout.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { parseBrowserName } from '../users/browser-name.ts';
import { MAX_PASSKEYS, type Passkeys } from '../users/passkeys.ts';
import { type AccountRequest, createAccountRoutes } from './account-routes.ts';
import type { Confirmation } from './confirmation.ts';
import type { ConfirmedChange } from './confirmation-view.ts';
import { accountNoticePath, describeBrowser } from './overview-view.ts';
import { addPasskeyPage } from './passkeys-view.ts';

/** Default name of a passkey: the browser that creates it. */
export function suggestedName(layout: Layout, { headers }: HttpRequest): string {
  const browser = parseBrowserName(headers.get('user-agent'));
  return browser === null ? 'Passkey' : describeBrowser(layout, browser);
}

const ADD: ConfirmedChange = {
  action: '/account/passkeys/add',
  heading: 'passkey.add',
  button: 'passkey.continue',
};
const REMOVE: ConfirmedChange = {
  action: '/account/passkeys/remove',
  heading: 'passkey.remove-title',
  button: 'passkey.remove',
  isDangerous: true,
};

export function createPasskeyRoutes(
  pages: PageRouter,
  passkeys: Passkeys,
  confirmation: Confirmation,
): readonly Route[] {
  const { store, events } = pages;
  const routes = createAccountRoutes(pages, 'account', 'delicate');

  const show = async (
    { context: { layout }, request, user }: Pick<AccountRequest, 'context' | 'request' | 'user'>,
    proof: string,
    wrong: string | null = null,
  ): Promise<HttpResponse> => {
    const known = await store.listPasskeys(user.account.id);
    const page = addPasskeyPage(layout, {
      options: passkeys.creationOptions(user.account, known, [user.sessionHash]),
      token: routes.csrfToken(user),
      proof,
      suggestion: suggestedName(layout, request),
      error: wrong,
    });
    return respondPage(page, { script: true, status: wrong === null ? 200 : 400 });
  };

  return [
    routes.page(ADD.action, (visit) => confirmation.ask(visit, ADD)),

    routes.form(ADD.action, async (visit) => {
      const { context, user, parameters } = visit;
      const { layout } = context;
      const { account, sessionHash } = user;
      if (parameters.one('proof') === undefined) {
        const confirmed = await confirmation.check(visit, ADD);
        return 'response' in confirmed ? confirmed.response : show(visit, confirmed.proof);
      }
      if (!(await confirmation.isProven(visit, ADD.action))) return confirmation.ask(visit, ADD);
      const proof = parameters.required('proof');
      if ((await store.listPasskeys(account.id)).length >= MAX_PASSKEYS) {
        return show(visit, proof, layout.text('passkey.too-many'));
      }
      const credential = parameters.one('credential') ?? '';
      const passkey = await passkeys.verifyRegistration(account, credential, parameters.one('name') ?? '', [
        sessionHash,
      ]);
      if (passkey === null) return show(visit, proof, layout.text('passkey.not-added'));
      // One confirmation adds one passkey.
      if (!(await confirmation.consumeProof(visit))) return confirmation.ask(visit, ADD);
      if (!(await store.addPasskey(passkey, sessionHash)))
        return show(visit, proof, layout.text('passkey.not-added'));
      events({ type: 'passkey.added', accountId: account.id, passkeyId: passkey.id });
      return respondRedirect(accountNoticePath('passkey-added'));
    }),

    routes.form(REMOVE.action, async (visit) => {
      const { id: accountId } = visit.user.account;
      const passkey = visit.parameters.required('passkey');
      const known = (await store.listPasskeys(accountId)).find(({ id }) => id === passkey);
      // Already removed, by a double click or in another tab.
      if (known === undefined) return respondRedirect(accountNoticePath('passkey-removed'));
      const confirmed = await confirmation.check(visit, {
        ...REMOVE,
        subject: known.name,
        fields: { passkey },
      });
      if ('response' in confirmed) return confirmed.response;
      const removed = await store.removePasskey(accountId, passkey);
      if (removed) events({ type: 'passkey.removed', accountId, passkeyId: passkey });
      return respondRedirect(accountNoticePath('passkey-removed'));
    }),
  ];
}
