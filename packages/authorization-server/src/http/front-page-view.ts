/** The front page: what stands here, for whoever typed the address. */
import { html } from 'hono/html';
import { type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';

export interface FrontPage {
  /** What tokens are issued for. */
  readonly servers: readonly { readonly name: string; readonly url: string }[];
}

export function frontPage(layout: Layout, { servers }: FrontPage): Markup {
  const rows = servers.map(
    ({ name, url }) => html`<li class="head">
<p class="name"><bdi>${name}</bdi></p>
<p class="fact"><code>${url}</code></p>
</li>`,
  );
  return renderPage(
    layout,
    layout.text('front.title'),
    html`<div class="head">
<h1>${layout.text('front.heading')}</h1>
<p>${layout.text('front.why')}</p>
</div>
<ul class="rows close">
${rows}
</ul>
<p class="fact">${layout.say('front.connections', { connections: html`<a href="/connections">${layout.text('tabs.connections')}</a>` })}</p>`,
  );
}
