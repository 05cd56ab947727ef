/** Pages that the host of the server mounts: the front page with the protected servers, and the 404 page. */
import { html } from 'hono/html';
import type { PageRouter } from '../page-context.ts';
import { type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { respondPage } from '../ui/respond-page.ts';
import { translate } from '../ui/translations.ts';
import { respondNotFoundPage } from './error-pages.ts';
import type { Route } from './router.ts';

/** Mounted by the host, which may have something else at its root. */
export function createFrontPageRoute(pages: PageRouter): Route {
  const resources = [...pages.options.resources.values()];
  return pages.route('GET', '/', async ({ layout }) => {
    const servers = resources.map((resource) => ({
      name: translate(resource, layout.language).name,
      url: resource.resource,
    }));
    return respondPage(frontPage(layout, { servers }));
  });
}

export function createNotFoundRoute(pages: PageRouter): Route {
  return pages.route('GET', '/*', ({ layout }) => respondNotFoundPage(layout, 404));
}

interface ProtectedServer {
  readonly name: string;
  readonly url: string;
}

interface FrontPage {
  readonly servers: readonly ProtectedServer[];
}

function frontPage(layout: Layout, { servers }: FrontPage): Markup {
  return renderPage(
    layout,
    layout.text('front.title'),
    html`<div class="head">
<h1>${layout.text('front.heading')}</h1>
<p>${layout.text('front.why')}</p>
</div>
<ul class="rows close">
${servers.map(serverRow)}
</ul>
<p class="fact">${layout.say('front.connections', { connections: html`<a href="/connections">${layout.text('tabs.connections')}</a>` })}</p>`,
  );
}

function serverRow({ name, url }: ProtectedServer): Markup {
  return html`<li class="head">
<p class="name"><bdi>${name}</bdi></p>
<p class="fact"><code>${url}</code></p>
</li>`;
}
