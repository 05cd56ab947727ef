/** The page that asks whether somebody signs out: an address alone never does it. */
import { html } from 'hono/html';
import { accountPaths } from '../ui/account-tabs.ts';
import { hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';

export interface LogoutPage {
  readonly email: string;
  readonly token: string;
}

export function logoutPage(layout: Layout, { email, token }: LogoutPage): Markup {
  return renderPage(
    layout,
    layout.text('account.sign-out'),
    html`<form class="stack once" method="post" action="/logout">
${hiddenFields({ token })}
<div class="head">
<h1>${layout.text('sign-out.heading')}</h1>
<p class="fact">${layout.say('consent.signed-in', { email: html`<bdi>${email}</bdi>` })}</p>
<p>${layout.text('sign-out.why')}</p>
</div>
<div class="answers">
<a class="button" href="${accountPaths.account}">${layout.text('consent.deny')}</a>
<button class="button main">${layout.text('account.sign-out')}</button>
</div>
</form>`,
  );
}
