/** The page that asks once more before somebody deletes their account. */
import { html } from 'hono/html';
import { type Connection, endings } from './connections.ts';
import { definePage, type Page } from './define-page.ts';
import { type Frame, hidden, layout } from './layout.ts';
import type { Markup } from './markup.ts';
import { homePaths, tabs } from './tabs.ts';

export interface RemovalPage {
  readonly email: string;
  /** What ends with it. */
  readonly connections: readonly Connection[];
  readonly token: string;
}

export const removalPage: Page<RemovalPage> = definePage('remove-account', renderRemoval);

function renderRemoval(frame: Frame, { email, connections, token }: RemovalPage): Markup {
  return layout(
    frame,
    frame.text('account.remove'),
    html`${tabs(frame, 'account')}
<form class="stack once" method="post" action="/account/remove">
${hidden({ token })}
<div class="head">
<h1>${frame.text('remove.heading')}</h1>
<p class="fact"><bdi>${email}</bdi></p>
<p>${frame.text('remove.why')}</p>
</div>
${
  connections.length > 0 &&
  html`<section class="head">
<h2>${frame.text('remove.apps')}</h2>
<ul class="plain">${connections.map((one) => html`<li><bdi>${one.appName}</bdi> <span class="fact">${frame.say('connections.on', { server: html`<bdi>${one.server.name}</bdi>` })}</span></li>`)}</ul>
</section>
${endings(frame, connections)}`
}
<div class="answers">
<a class="button" href="${homePaths.account}">${frame.text('consent.deny')}</a>
<button class="button danger">${frame.text('remove.submit')}</button>
</div>
</form>`,
  );
}
