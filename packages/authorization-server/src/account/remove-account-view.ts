/** The page that asks once more before somebody deletes their account. */
import { html } from 'hono/html';
import { accountPaths, accountTabs } from '../ui/account-tabs.ts';
import { hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { type ListedGrant, revocationEffects } from './connections-view.ts';

export interface RemovalPage {
  readonly email: string;
  /** What ends with it. */
  readonly connections: readonly ListedGrant[];
  readonly token: string;
}

export function removalPage(layout: Layout, { email, connections, token }: RemovalPage): Markup {
  return renderPage(
    layout,
    layout.text('account.remove'),
    html`${accountTabs(layout, 'account')}
<form class="stack once" method="post" action="/account/remove">
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
<ul class="plain">${connections.map((one) => html`<li><bdi>${one.appName}</bdi> <span class="fact">${layout.say('connections.on', { server: html`<bdi>${one.server.name}</bdi>` })}</span></li>`)}</ul>
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
