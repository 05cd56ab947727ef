/** Pages for the host of the server: the servers that tokens are issued for, and that nothing stands at a path. */

import { showMissing } from '../authorize/page-edge.ts';
import type { Rooms } from '../authorize/rooms.ts';
import type { Route } from '../routes.ts';
import { respondPage } from '../ui/respond-page.ts';
import { translate } from '../ui/translations.ts';
import { frontPage } from './front-page-view.ts';

/** It is mounted by the host of the server, which may have something better at its root. */
export function createFrontPageRoute({
  configuration,
  edge,
  layout,
}: Pick<Rooms, 'configuration' | 'edge' | 'layout'>): Route {
  const servers = [...configuration.resources.values()].map((resource) => ({
    name: translate(resource, layout.language).name,
    url: resource.resource,
  }));
  return edge.route('GET', '/', async () => respondPage(frontPage(layout, { servers })));
}

export function createNotFoundRoute({ edge, layout }: Pick<Rooms, 'edge' | 'layout'>): Route {
  return edge.route('GET', '/*', () => showMissing(layout, 404));
}
