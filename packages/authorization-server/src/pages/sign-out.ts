/** The page that asks whether somebody signs out: an address alone never does it. */
import { html } from 'hono/html';
import { definePage, type Page } from './define-page.ts';
import { type Frame, hidden, layout } from './layout.ts';
import type { Markup } from './markup.ts';
import { homePaths } from './tabs.ts';

export interface SignOutPage {
  readonly email: string;
  readonly token: string;
}

export const signOutPage: Page<SignOutPage> = definePage('sign-out', renderSignOut);

function renderSignOut(frame: Frame, { email, token }: SignOutPage): Markup {
  return layout(
    frame,
    frame.text('account.sign-out'),
    html`<form class="stack once" method="post" action="/logout">
${hidden({ token })}
<div class="head">
<h1>${frame.text('sign-out.heading')}</h1>
<p class="fact">${frame.say('consent.signed-in', { email: html`<bdi>${email}</bdi>` })}</p>
<p>${frame.text('sign-out.why')}</p>
</div>
<div class="answers">
<a class="button" href="${homePaths.account}">${frame.text('consent.deny')}</a>
<button class="button main">${frame.text('account.sign-out')}</button>
</div>
</form>`,
  );
}
