/** The page that deletes an account, after a recent login and a credential of the account. */
import { html } from 'hono/html';
import type { PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import { hasLocalLogin } from '../login/local-login.ts';
import { accountPaths, accountTabs } from '../ui/account-tabs.ts';
import { hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage } from '../ui/respond-page.ts';
import { createAccountRoutes } from './account-routes.ts';
import type { Confirmation } from './confirmation.ts';
import type { ConfirmedChange } from './confirmation-view.ts';
import { connectionNames, type RevokePage, revocationEffects } from './connections-view.ts';
import { listConnections } from './list-connections.ts';

const REMOVE: ConfirmedChange = {
  action: '/account/remove',
  heading: 'remove.heading',
  why: 'remove.why',
  button: 'remove.submit',
  isDangerous: true,
};

export function createAccountRemovalRoutes(pages: PageRouter, confirmation: Confirmation): readonly Route[] {
  const { store, clock, events, sessions } = pages;
  const routes = createAccountRoutes(pages, 'account', 'recent');
  return [
    routes.page(REMOVE.action, async ({ context, user }) => {
      const { connections, next } = await listConnections(context, user.account.id);
      const { email } = user.account;
      const about = { email, connections, hasMore: next !== null, token: routes.csrfToken(user) };
      return respondPage(removalPage(context.layout, about));
    }),

    routes.form(REMOVE.action, async (visit) => {
      const { context, request, user } = visit;
      const { layout } = context;
      if (await hasLocalLogin(context, user)) {
        const confirmed = await confirmation.check(visit, { ...REMOVE, subject: user.account.email });
        if ('response' in confirmed) return confirmed.response;
      }
      const { id: accountId } = user.account;
      // Point of no return: the account is deleted and its grants are revoked.
      if (await store.removeAccount(accountId, clock())) events({ type: 'account.removed', accountId });
      const page = messagePage(layout, {
        isDone: true,
        heading: layout.text('removed.heading'),
        sentences: [layout.text('signed-out.close')],
      });
      return respondPage(page, { cookies: [await sessions.end(request)] });
    }),
  ];
}

/** The connections are revoked with the account: the first page of all. */
interface RemovalPage extends Omit<RevokePage, 'all'> {
  readonly email: string;
}

function removalPage(layout: Layout, { email, connections, hasMore, token }: RemovalPage): Markup {
  return renderPage(
    layout,
    layout.text('account.remove'),
    html`${accountTabs(layout, 'account')}
<form class="stack once" method="post" action="${REMOVE.action}">
${hiddenFields({ token })}
<div class="head">
<h1>${layout.text('remove.heading')}</h1>
<p class="fact"><bdi>${email}</bdi></p>
<p>${layout.text('remove.why')}</p>
</div>
${
  connections.length > 0 &&
  html`<section class="head">
<h2>${layout.text('remove.apps')}</h2>
${connectionNames(layout, { connections, hasMore })}
</section>
${revocationEffects(layout, connections)}`
}
<div class="answers">
<a class="button" href="${accountPaths.account}">${layout.text('consent.deny')}</a>
<button class="button danger">${layout.text('remove.submit')}</button>
</div>
</form>`,
  );
}
