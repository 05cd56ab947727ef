/** Pages that the host of the server mounts: the front page with the protected servers, and the 404 page. */
import { pathOf, respond } from '@portcullis/http';
import { html } from 'hono/html';
import { respondNotFoundPage } from '../http/error-pages.ts';
import type { PageRouterOf } from '../http/page-route.ts';
import type { Route } from '../http/router.ts';
import { addServerSections, type ConnectableServer } from '../ui/add-server.ts';
import { type Layout, pageScript, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { respondPage } from '../ui/respond-page.ts';
import { translate } from '../ui/translations.ts';
import { listedResources, type ResourceContext } from './options.ts';

/** Mounted by the host, which may have something else at its root. */
export function createFrontPageRoute(pages: PageRouterOf<ResourceContext>): Route {
  const resources = listedResources(pages.options);
  return pages.route('GET', '/', async ({ layout }) => {
    const servers = resources.map((resource) => ({
      name: translate(resource, layout.language).name,
      url: resource.resource,
    }));
    return respondPage(frontPage(layout, servers), { script: true });
  });
}

/** Browsers and other programs ask for `/favicon.ico` whatever a page names. */
export function createNotFoundRoute(pages: PageRouterOf<ResourceContext>): Route {
  return pages.route('GET', '/*', async ({ layout }, request) =>
    pathOf(request) === '/favicon.ico'
      ? respond(302, { location: layout.favicon, 'cache-control': 'public, max-age=86400' }, null)
      : respondNotFoundPage(layout, 404),
  );
}

function frontPage(layout: Layout, servers: readonly ConnectableServer[]): Markup {
  return renderPage(
    layout,
    layout.text('front.title'),
    html`<div class="head">
<h1 class="display">${layout.text('front.heading')}</h1>
<p>${layout.text(servers.length === 1 ? 'front.why-one' : 'front.why')}</p>
</div>
${addServerSections(layout, servers)}
<p class="fact">${layout.say('front.connections', { connections: html`<a href="/connections">${layout.text('tabs.connections')}</a>` })}</p>
${pageScript(layout)}`,
    undefined,
    'wide',
  );
}
