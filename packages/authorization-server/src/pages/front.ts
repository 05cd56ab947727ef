/** The front page: what stands here, for whoever typed the address. */
import { html } from 'hono/html';
import { definePage, type Page } from './define-page.ts';
import { type Frame, layout } from './layout.ts';
import type { Markup } from './markup.ts';

export interface FrontPage {
  /** What tokens are issued for. */
  readonly servers: readonly { readonly name: string; readonly url: string }[];
}

export const frontPage: Page<FrontPage> = definePage('front', renderFront);

function renderFront(frame: Frame, { servers }: FrontPage): Markup {
  const rows = servers.map(
    ({ name, url }) => html`<li class="head">
<p class="name"><bdi>${name}</bdi></p>
<p class="fact"><code>${url}</code></p>
</li>`,
  );
  return layout(
    frame,
    frame.text('front.title'),
    html`<div class="head">
<h1>${frame.text('front.heading')}</h1>
<p>${frame.text('front.why')}</p>
</div>
<ul class="rows close">
${rows}
</ul>
<p class="fact">${frame.say('front.connections', { connections: html`<a href="/connections">${frame.text('tabs.connections')}</a>` })}</p>`,
  );
}
